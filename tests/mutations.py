"""Mutations: wrong versions of the code, each with the test that must fail with it. `make mutate` tries them all.

    make mutate                    all, two at a time
    make mutate ARGS=near_far      those of which a file, a text or a test has "near_far" in it
    make mutate ARGS="-j 4"        four at a time

Each is made in a copy of the tracked files, and its test runs there; the working tree stays as it is. A mutant that
no test notices ends the command with an error: write the test, or say why no test can. A new kernel adds its own.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LIMIT_S = 300  # of a mutant's test, which takes seconds: some mutants never end
HANGS = "hangs"


class Mutation(NamedTuple):
    """In `file` the text `old`, which occurs once, becomes `new`; then `test`, a node id of pytest, must fail.

    equivalent: why no test can fail; then it must pass. card: whether only a real card shows it, so that the test
    is one of tests/test_gpu.py, and nothing is tried where there is no card.
    """

    file: str
    old: str
    new: str
    test: str
    equivalent: str = ""
    card: bool = False

    @property
    def label(self) -> str:
        """The first line that changes: "kernels/edge.py:29 while changed: -> while False:"."""
        text = (ROOT / self.file).read_text()
        old, new = self.old.splitlines(), self.new.splitlines() or [""]
        line = next((i for i, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), len(new) - 1)
        number = text[: max(0, text.find(self.old))].count("\n") + line + 1
        shown = [part[line].strip() if line < len(part) else "" for part in (old, new)]
        return f"{self.file}:{number}  {shown[0][:50]}  ->  {shown[1][:50]}"


# fmt: off
MUTATIONS = [
    Mutation("kernels/gpu/launching.py", "return -(-items // block)", "return items // block",
        "tests/test_kernels.py::test_launches_on_a_hundred_vertices_are_the_papers"),
    Mutation("kernels/gpu/intrinsics.py", "cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)", "cuda.threadIdx.x)",
        "tests/test_kernels.py::test_every_variant_against_scipy[bellman_ford/naive]"),
    Mutation("kernels/run.py", "self.distances.fill(POISON)", "pass",
        "tests/test_kernels.py::test_a_variant_that_writes_nothing_fails"),
    Mutation("kernels/run.py", "self.predecessors.fill(POISON)", "pass",
        "tests/test_kernels.py::test_a_variant_that_writes_no_predecessors_fails"),
    Mutation("kernels/run.py", "self.phases[name] += time.perf_counter() - started",
        "self.phases[name] += 1000 * (time.perf_counter() - started)",
        "tests/test_measure.py::test_rows_and_columns[bellman_ford/cpu]"),
    Mutation("kernels/run.py", "self.launches += times * len(launches)", "self.launches += times",
        "tests/test_kernels.py::test_every_variant_against_scipy[bellman_ford/naive]"),
    Mutation("kernels/run.py", "raise TimeLimit(self.limit_s)", "pass",
        "tests/test_measure.py::test_a_cpu_run_is_stopped_at_its_limit[bellman_ford/cpu]"),
    Mutation("kernels/gpu/launching.py", "if wait and error == 0:", "if error == 0:",
        "tests/test_device.py::test_a_capture_goes_to_its_stream_and_waits_for_nothing"),
    Mutation("kernels/gpu/launching.py", "step[0] = i", "step[0] = 0",
        "tests/test_device.py::test_every_launch_is_made_in_turn_and_waited_for"),
    Mutation("kernels/gpu/launching.py", "if cooperative[j]:", "if False:",
        "tests/test_device.py::test_every_launch_is_made_in_turn_and_waited_for"),
    Mutation("kernels/gpu/launching.py", "return error\n        return 0", "break\n        return 0",
        "tests/test_device.py::test_a_refused_launch_ends_the_loop_with_the_drivers_code"),
    Mutation("kernels/gpu/internals.py", "int(argument) % 2**64", "int(argument)",
        "tests/test_device.py::test_arguments_as_numba_passes_them"),
    Mutation("kernels/gpu/internals.py", "if not np.array_equal(arrived, EXPECTED):", "if arrived[0] != EXPECTED[0]:",
        "tests/test_device.py::test_other_arguments_than_were_sent_name_both_versions"),
    Mutation("kernels/gpu/internals.py", "words[len(words) - 1]", "words[1]",
        "tests/test_device.py::test_echo_writes_down_what_it_is_sent"),
    Mutation("kernels/gpu/internals.py", "*argument.shape, *argument.strides]", "*argument.shape]",
        "tests/test_compile.py::test_the_kernel_that_checks_the_arguments_compiles"),
    Mutation("kernels/gpu/launching.py", "    check_arguments()\n    return Prepared", "    return Prepared",
        "tests/test_device.py::test_arguments_are_checked_once_before_anything_is_launched"),
    Mutation("kernels/gpu/launching.py", "internals.check_echo(arrived.copy_to_host())", "pass",
        "tests/test_device.py::test_nothing_is_launched_where_other_arguments_arrive"),
    Mutation("kernels/gpu/timing.py", "if error is None:", "if True:",
        "tests/test_device.py::test_a_phase_that_fails_asks_the_card_for_nothing_more"),
    Mutation("kernels/run.py", "            check_arguments()  #", "            pass  #",
        "tests/test_device.py::test_a_run_is_timed_until_the_card_is_idle"),
    Mutation("kernels/graph.py", "(tails[1:] != tails[:-1]) | (heads", "(tails[1:] != tails[:-1]) & (heads",
        "tests/test_kernels.py::test_every_variant_against_scipy[floyd_warshall/cpu]"),
    Mutation("kernels/graph.py", "np.lexsort((self.weights, self.indices", "np.lexsort((-self.weights, self.indices",
        "tests/test_errata.py::test_parallel_arcs"),
    Mutation("kernels/graph.py", "np.fill_diagonal(matrix, 0)", "pass",
        "tests/test_kernels.py::test_the_threads_of_a_tile_wait_for_each_other[tiled]"),
    Mutation("kernels/graph.py", '("weight", weights, 0, MAX_WEIGHT)', '("weight", weights, 0, INF)',
        "tests/test_interface.py::test_what_is_refused_is_refused_in_one_message"),
    Mutation("kernels/graph.py", "if not 0 <= source < self.vertices:", "if not 0 <= source <= self.vertices:",
        "tests/test_measure.py::test_a_source_that_is_no_vertex"),
    Mutation("kernels/check.py", "np.flatnonzero(distances != expected)", "np.flatnonzero(distances > expected)",
        "tests/test_check.py::test_a_wrong_distance"),
    Mutation("kernels/check.py", "exact >= INF", "exact > INF",
        "tests/test_check.py::test_a_distance_too_long_for_the_result_is_refused"),
    Mutation("kernels/check.py", "elif n <= full_check:", "elif True:",
        "tests/test_check.py::test_of_a_large_graph_random_rows_are_checked"),
    Mutation("kernels/check.py", "np.random.default_rng(0).choice(n, min(n, checked_rows), replace=False)",
        "np.arange(min(n, checked_rows))", "tests/test_check.py::test_of_a_large_graph_random_rows_are_checked"),
    Mutation("kernels/check.py", "for start in range(0, len(sources), BATCH):", "for start in (0,):",
        "tests/test_check.py::test_one_wrong_entry_of_all_pairs"),
    Mutation("kernels/check.py", "checked += 1", "checked = 1", "tests/test_check.py::test_a_right_result_passes"),
    Mutation("kernels/check.py", "+ weights[arc] < dist[indices[arc]]:", "+ weights[arc] <= dist[indices[arc]]:",
        "tests/test_check.py::test_a_right_result_passes"),
    Mutation("kernels/check.py", "return indices[arc]", "return -1",
        "tests/test_check.py::test_a_longer_way_on_which_the_oracle_agrees"),
    Mutation("kernels/check.py", "for u in range(len(dist)):\n        if dist[u] == INF:",
        "for u in range(len(dist)):\n        if False:",
        "tests/test_check.py::test_a_right_result_passes",
        equivalent="INF plus a weight, in 64 bits, is less than no distance"),
    Mutation("kernels/harness.py", "result.poison()", "pass",
        "tests/test_kernels.py::test_a_variant_that_writes_nothing_fails"),
    Mutation("kernels/harness.py", "checked = check(", "checked = (lambda *_, **__: 1)(",
        "tests/test_kernels.py::test_a_variant_that_writes_nothing_fails"),
    Mutation("kernels/harness.py", '"simulated" if simulated else "ok", run, checked)',
        '"simulated" if simulated else "ok", run, graph.vertices)',
        "tests/test_measure.py::test_the_harness_counts_what_was_checked"),
    Mutation("kernels/harness.py", 'int(protocol.budget_s // row["seconds"])', "int(protocol.budget_s)",
        "tests/test_measure.py::test_a_long_cell_is_repeated_less_often_and_says_so"),
    Mutation("kernels/harness.py", "weight = min(1, graph.weights.min(initial=1))", "weight = 1",
        "tests/test_compile.py::test_whatever_a_run_launches_was_compiled_before"),
    Mutation("kernels/harness.py", "for shared in (None, 0) if variant.on_gpu else (None,):",
        "for shared in (None,):", "tests/test_compile.py::test_whatever_a_run_launches_was_compiled_before"),
    Mutation("kernels/harness.py", "source=protocol.source,\n        block", "source=0,\n        block",
        "tests/test_kernels.py::test_every_variant_against_scipy[bellman_ford/naive]"),
    Mutation("kernels/harness.py", "directed=graph.directed", "directed=True",
        "tests/test_compile.py::test_whatever_a_run_launches_was_compiled_before"),
    Mutation("kernels/variants.py", "MAX_IN_32_BITS = 2**16 - 1", "MAX_IN_32_BITS = 2**16",
        "tests/test_blocked.py::test_what_numbers_pairs_in_32_bits_refuses_more_vertices_than_they_are_enough_for"),
    Mutation("kernels/paper/bellman_ford.py", "cuda.atomic.min(dist, v, np.int32(previous[u] + w))",
        "dist[v] = np.int32(previous[u] + w)", "tests/test_compile.py::test_compiles[bellman_ford/naive-cc75]"),
    Mutation("kernels/paper/bellman_ford.py", "if previous[u] != INF and previous[u] <", "if previous[u] <",
        "tests/test_kernels.py::test_every_variant_against_scipy[bellman_ford/naive]",
        equivalent="INF is less than nothing: asking first only saves a load"),
    Mutation("kernels/paper/bellman_ford.py", "if dist[v] != INF and dist[u] ==", "if dist[u] ==",
        "tests/test_kernels.py::test_what_is_one_too_far_has_no_predecessor[naive]"),
    Mutation("kernels/paper/bellman_ford.py", "v = thread_x()\n    if v < len(dist):",
        "v = thread_x()\n    if v < len(dist) - 1:",
        "tests/test_kernels.py::test_every_variant_against_scipy[bellman_ford/naive]"),
    Mutation("kernels/paper/bellman_ford.py",
        "        relax_arcs(u, indptr, indices, weights, previous, dist)\n        u = np.uint32(u + stride)\n"
        "\n\n@cuda.jit\ndef update_stride(", "        relax_arcs(u, indptr, indices, weights, previous, dist)\n"
        "        u = np.uint32(u + stride + 1)\n\n\n@cuda.jit\ndef update_stride(",
        "tests/test_kernels.py::test_every_variant_against_scipy[bellman_ford/stride]"),
    Mutation("kernels/paper/bellman_ford.py", "if previous[v] > dist[v]:", "if previous[v] > np.int64(dist[v]) + 1:",
        "tests/test_kernels.py::test_a_distance_that_falls_by_one_is_passed_on"),
    Mutation("kernels/paper/bellman_ford.py", "            changed[u] = False\n", "",
        "tests/test_kernels.py::test_a_distance_that_falls_by_one_is_passed_on",
        equivalent="to relax a vertex again that did not change costs time and changes nothing"),
    Mutation("kernels/paper/bellman_ford.py", "times=n - 1,", "times=n - 2,",
        "tests/test_kernels.py::test_a_distance_that_falls_by_one_is_passed_on"),
    Mutation("kernels/paper/bellman_ford.py", "start[run.source] = 0", "start[0] = 0",
        "tests/test_kernels.py::test_every_variant_against_scipy[bellman_ford/naive]"),
    Mutation("kernels/paper/bellman_ford.py", "[start == 0] if flagged", "[start != 0] if flagged",
        "tests/test_kernels.py::test_a_distance_that_falls_by_one_is_passed_on"),
    Mutation("kernels/paper/bellman_ford.py", "max(1, blocks_for(n, run.block) // divide_blocks_by)",
        "blocks_for(n, run.block) // divide_blocks_by", "tests/test_errata.py::test_half_of_one_block_is_none"),
    Mutation("kernels/paper/bellman_ford.py", "cuda.atomic.min(dist, v, np.int32(previous[u] + w))",
        "dist[v] = np.int32(previous[u] + w)", "tests/test_compile.py::test_compiles[bellman_ford/stride_ell-cc75]"),
    Mutation("kernels/paper/bellman_ford.py", "if dist[v] != INF and dist[u] ==", "if dist[u] ==",
        "tests/test_kernels.py::test_what_is_one_too_far_has_no_predecessor[stride_ell]"),
    Mutation("kernels/fast/ell.py", "arc = thread_x()\n    while arc < len(overflow_tails):\n        relax_arc",
        "arc = u32(thread_x() + 1)\n    while arc < len(overflow_tails):\n        relax_arc",
        "tests/test_ell.py::test_rows_and_overflow_are_relaxed_whatever_the_grid[2]"),
    Mutation("kernels/fast/ell.py", "(v, w), arc, slot = ahead, u32(arc + 1), u32(slot + column)",
        "(v, w), arc, slot = ahead, u32(arc + 1), u32(slot + 1)",
        "tests/test_ell.py::test_rows_and_overflow_are_relaxed_whatever_the_grid[2]"),
    Mutation("kernels/fast/ell.py", "slot = u32(slot + column)\n            left",
        "slot = u32(slot + 1)\n            left",
        "tests/test_kernels.py::test_every_variant_against_scipy[bellman_ford/stride_ell]"),
    Mutation("kernels/fast/ell.py", "SLOTS_PER_ARC * filled)", "filled)",
        "tests/test_ell.py::test_columns_are_as_many_as_keep_a_quarter_of_the_slots_filled"),
    Mutation("kernels/fast/ell.py", "return WARP * blocks_for(vertices, WARP)", "return vertices",
        "tests/test_ell.py::test_every_arc_lies_in_the_layout_once_and_rows_have_no_gaps"),
    Mutation("kernels/fast/ell.py", "a[~inside]", "a[inside]",
        "tests/test_ell.py::test_every_arc_lies_in_the_layout_once_and_rows_have_no_gaps"),
    Mutation("kernels/fast/ell.py", " & (pitch(graph.vertices) * count <= MAX_SLOTS)", "",
        "tests/test_ell.py::test_slots_are_numbered_in_31_bits"),
    Mutation("kernels/paper/dijkstra.py", "if not visited[here] and dist[here] < least:", "if dist[here] < least:",
        "tests/test_kernels.py::test_every_variant_against_scipy[dijkstra/naive]"),
    Mutation("kernels/paper/dijkstra.py", "if w != INF and least <", "if least <",
        "tests/test_kernels.py::test_every_variant_against_scipy[dijkstra/naive]",
        equivalent="no distance is less than one less INF: asking first saves a load"),
    Mutation("kernels/paper/dijkstra.py", "range(n - np.uint32(1))", "range(n - np.uint32(2))",
        "tests/test_kernels.py::test_every_variant_against_scipy[dijkstra/naive]"),
    Mutation("kernels/paper/dijkstra.py", "if u == n:\n            break", "if u == n:\n            pass",
        "tests/test_kernels.py::test_every_variant_against_scipy[dijkstra/naive]"),
    Mutation("kernels/sparry/dijkstra.py", "cuda.atomic.min(tentative, v, np.int32(d + w))",
        "tentative[v] = np.int32(d + w)",
        "tests/test_compile.py::test_compiles[dijkstra/block_apsp-cc75]"),
    Mutation("kernels/sparry/dijkstra.py",
        "                    u = np.uint32(u + threads)\n                cuda.syncthreads()\n",
        "                    u = np.uint32(u + threads)\n",
        "tests/test_block_per_source.py::test_right_wherever_the_work_is_kept[dijkstra-global-directed]"),
    Mutation("kernels/sparry/dijkstra.py", "r = np.uint32(r + cuda.gridDim.x)", "r = np.uint32(r + 2 * cuda.gridDim.x)",
        "tests/test_block_per_source.py::test_right_wherever_the_work_is_kept[dijkstra-global-directed]"),
    Mutation("kernels/sparry/dijkstra.py", "offset = np.uint32(4 * n)", "offset = np.uint32(n)",
        "tests/test_block_per_source.py::test_right_wherever_the_work_is_kept[dijkstra-shared-directed]"),
    Mutation("kernels/sparry/edge.py",
        "return d < np.int32(dist[there] - w) and np.int32(d + w) < cuda.atomic.min(dist, there, np.int32(d + w))",
        "if d < np.int32(dist[there] - w):\n        dist[there] = np.int32(d + w)\n        return True\n"
        "    return False", "tests/test_compile.py::test_compiles[edge/sssp-cc75]"),
    Mutation("kernels/sparry/edge.py", "if v == np.uint32(first + r)", "if v == r",
        "tests/test_block_per_source.py::test_right_wherever_the_work_is_kept[edge sssp-global-directed]"),
    Mutation("kernels/sparry/edge.py", "changed = cuda.syncthreads_or(lowered) != 0",
        "changed = cuda.syncthreads_or(lowered) != 0 and False",
        "tests/test_kernels.py::test_every_variant_against_scipy[edge/sssp]"),
    Mutation("kernels/sparry/edge.py", "if both_ways and relax", "if False and relax",
        "tests/test_block_per_source.py::test_right_wherever_the_work_is_kept[edge sssp-global-undirected]"),
    Mutation("kernels/sparry/edge.py", "relax_edges(in_shared, not graph.directed)", "relax_edges(in_shared, True)",
        "tests/test_errata.py::test_both_ways_along_a_directed_arc"),
    Mutation("kernels/sparry/edge.py", "dist[np.uint32(row + v)] = here[v]", "dist[v] = here[v]",
        "tests/test_block_per_source.py::test_right_wherever_the_work_is_kept[edge apsp-shared-directed]"),
    Mutation("kernels/sparry/edge.py", "arcs[:, graph.tails <= graph.indices]", "arcs[:, graph.tails < graph.indices]",
        "tests/test_block_per_source.py::test_right_wherever_the_work_is_kept[edge apsp-shared-undirected]",
        equivalent="a self-loop makes nothing shorter"),
    Mutation("kernels/sparry/delta_stepping.py", "cuda.atomic.min(tentative, v, np.int32(d + w))",
        "tentative[v] = np.int32(d + w)", "tests/test_compile.py::test_compiles[delta_stepping/block_apsp-cc75]"),
    Mutation("kernels/sparry/delta_stepping.py", "cuda.atomic.min(least, 0, nearest)",
        "least[0] = min(least[0], nearest)",
        "tests/test_compile.py::test_compiles[delta_stepping/block_apsp-cc75]"),
    Mutation("kernels/sparry/delta_stepping.py", "(w > delta) == heavy", "(w >= delta) == heavy",
        "tests/test_block_per_source.py::test_any_delta_gives_the_same_distances",
        equivalent="an arc as long as a bucket is wide leads out of it, and may be of either kind"),
    Mutation("kernels/sparry/delta_stepping.py", "start = np.int32(least[0] - least[0] % delta)", "start = least[0]",
        "tests/test_block_per_source.py::test_any_delta_gives_the_same_distances",
        equivalent="a bucket may start anywhere up to the least distance"),
    Mutation("kernels/sparry/delta_stepping.py", "marks[np.uint32(offset + u)] = REMOVED",
        "marks[np.uint32(offset + u)] = 0",
        "tests/test_block_per_source.py::test_any_delta_gives_the_same_distances[1]"),
    Mutation("kernels/sparry/delta_stepping.py", "relax_arcs(u, d, delta, True, indptr",
        "relax_arcs(u, d, delta, False, indptr",
        "tests/test_block_per_source.py::test_any_delta_gives_the_same_distances[1]"),
    Mutation("kernels/sparry/delta_stepping.py", "again = cuda.syncthreads_or(more) != 0",
        "again = cuda.syncthreads_or(more) != 0 and False",
        "tests/test_block_per_source.py::test_any_delta_gives_the_same_distances",
        equivalent="left for the next bucket, which starts where this one did: only later"),
    Mutation("kernels/sparry/delta_stepping.py", "max(1, -(-int(graph.weights.max())",
        "max(1, (int(graph.weights.max())",
        "tests/test_block_per_source.py::test_the_default_delta"),
    Mutation("kernels/sparry/block_per_source.py", "in_shared = bytes_of_block <= run.shared_limit",
        "in_shared = bytes_of_block < run.shared_limit",
        "tests/test_block_per_source.py::test_work_that_just_fits_is_kept_in_shared_memory"),
    Mutation("kernels/sparry/block_per_source.py", "predecessor[np.uint32(row + v)] = -1",
        "predecessor[np.uint32(row + v)] = 0",
        "tests/test_block_per_source.py::test_right_wherever_the_work_is_kept[edge sssp-global-directed]"),
    Mutation("kernels/sparry/block_per_source.py", "blocks = min(rows, run.blocks)", "blocks = rows",
        "tests/test_block_per_source.py::test_nothing_larger_than_a_row_a_block_is_allocated_besides_the_results"),
    Mutation("kernels/sparry/block_per_source.py", "        cuda.syncthreads()\n", "",
        "tests/test_kernels.py::test_every_variant_against_scipy[edge/sssp]"),
    Mutation("kernels/sparry/block_per_source.py", "row, source = np.uint32(r * n), np.uint32(first + r)",
        "row, source = np.uint32(r * n), r",
        "tests/test_block_per_source.py::test_right_wherever_the_work_is_kept[edge sssp-global-directed]"),
    Mutation("kernels/paper/floyd_warshall.py", "        if wait:\n            cuda.syncthreads()\n", "",
        "tests/test_kernels.py::test_the_threads_of_a_tile_wait_for_each_other[tiled]"),
    Mutation("kernels/paper/floyd_warshall.py",
        "dist[ij] = np.int32(dist[ik] + dist[kj])\n        predecessor[ij] = predecessor[kj]",
        "dist[ij] = np.int32(dist[ik] + dist[kj])\n        predecessor[ij] = k",
        "tests/test_kernels.py::test_the_threads_of_a_tile_wait_for_each_other[tiled]"),
    Mutation("kernels/paper/floyd_warshall.py", "if dist[ik] != INF and dist[kj] != INF and dist[ik] <",
        "if dist[ik] <",
        "tests/test_kernels.py::test_every_variant_against_scipy[floyd_warshall/super_naive]",
        equivalent="where either leg is INF the comparison is false: asking first saves loads"),
    Mutation("kernels/paper/floyd_warshall.py", "to_k = dist[ik]  # read again after a write, as a C++ compiler does",
        "pass", "tests/test_kernels.py::test_every_variant_against_scipy[floyd_warshall/naive]",
        equivalent="nothing changes in column k while k is the vertex between"),
    Mutation("kernels/paper/floyd_warshall.py", "k, end = primary, min(n, np.uint32(primary + cuda.blockDim.x))",
        "k, end = primary, np.uint32(primary + cuda.blockDim.x)",
        "tests/test_kernels.py::test_every_variant_against_scipy[floyd_warshall/tiled]"),
    Mutation("kernels/paper/floyd_warshall.py", "last[y, x] = last[k, x]", "last[y, x] = last[y, k]",
        "tests/test_kernels.py::test_the_threads_of_a_tile_wait_for_each_other[tiled_shared]"),
    Mutation("kernels/paper/floyd_warshall.py",
        "            cuda.syncthreads()  # before the next k reads the tile\n"
        "            k = np.uint32(k + 1)\n        if i < n and j < n:\n            dist",
        "            k = np.uint32(k + 1)\n        if i < n and j < n:\n            dist",
        "tests/test_kernels.py::test_the_threads_of_a_tile_wait_for_each_other[tiled_shared]"),
    Mutation("kernels/paper/floyd_warshall.py",
        "        cuda.syncthreads()  # in row tiles, predecessors that threads read above and write below\n",
        "",
        "tests/test_kernels.py::test_every_variant_against_scipy[floyd_warshall/tiled_shared]",
        equivalent="a way that is read did not become shorter, so that its predecessor stays"),
    Mutation("kernels/paper/floyd_warshall.py", "else np.int32(outside)", "else np.int32(0)",
        "tests/test_kernels.py::test_every_variant_against_scipy[floyd_warshall/tiled_shared]"),
    Mutation("kernels/paper/floyd_warshall.py", "if j < n else np.int32(INF)", "if j < n else np.int32(0)",
        "tests/test_kernels.py::test_every_variant_against_scipy[floyd_warshall/super_naive_shared]"),
    Mutation("kernels/paper/floyd_warshall.py", "(row_and_column, (tiles, 2), threads)",
        "(row_and_column, (tiles, 1), threads)",
        "tests/test_kernels.py::test_every_variant_against_scipy[floyd_warshall/tiled]"),
    Mutation("kernels/paper/floyd_warshall.py", "np.fill_diagonal(matrix, -1)", "pass",
        "tests/test_kernels.py::test_every_variant_against_scipy[floyd_warshall/naive]"),
    Mutation("kernels/paper/floyd_warshall.py", "    cuda.syncthreads()\n    to_k = lead[0]", "    to_k = lead[0]",
        "tests/test_kernels.py::test_every_variant_against_scipy[floyd_warshall/super_naive_shared]"),
    Mutation("kernels/fast/blocked_floyd_warshall.py",
        "old = cuda.atomic.cas(matrix, at, seen, relax(u32(0), word, seen))",
        "matrix[at] = relax(u32(0), word, seen)\n            old = seen",
        "tests/test_compile.py::test_compiles[floyd_warshall/blocked-cc75]"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "PACKED_INF = 2**15 - 1", "PACKED_INF = 2**15",
        "tests/test_blocked.py::test_weights_of_zero_in_circles[blocked16]"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "overflow[0] = 1\n", "overflow[0] = 0\n",
        "tests/test_blocked.py::test_distances_that_do_not_fit_in_15_bits_are_found_again_in_32[wider than a half]"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "elif w > 0 and dist[dist_row + u] ==",
        "elif dist[dist_row + u] ==",
        "tests/test_blocked.py::test_weights_of_zero_in_circles[blocked]"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "(u == source or predecessor[predecessor_row + u] != -1)",
        "True",
        "tests/test_blocked.py::test_weights_of_zero_in_circles[blocked]"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "                cuda.syncthreads()\n                r = u32(0)",
        "                r = u32(0)", "tests/test_blocked.py::test_shared_memory_holds_a_part_of_a_tile_at_a_time"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "            cuda.syncthreads()\n            k = u32(0)",
        "            k = u32(0)", "tests/test_blocked.py::test_shared_memory_holds_a_part_of_a_tile_at_a_time"),
    Mutation("kernels/fast/blocked_floyd_warshall.py",
        "            cuda.syncthreads()  # also before `panel` writes the rows that it read\n", "",
        "tests/test_blocked.py::test_shared_memory_holds_a_part_of_a_tile_at_a_time"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "relax_through(u32(k + 3), y", "relax_through(u32(k + 2), y",
        "tests/test_blocked.py::test_shared_memory_holds_a_part_of_a_tile_at_a_time"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "u32((word >> 16) * 0x10001)", "u32((word & 0xFFFF) * 0x10001)",
        "tests/test_blocked.py::test_rows_beyond_32_bits_do_not_fold_onto_each_other[True]"),
    Mutation("kernels/fast/staged_floyd_warshall.py", "STRIPS = 5", "STRIPS = 4",
        "tests/test_blocked.py::test_more_strips_than_there_are_buffers"),
    Mutation("kernels/fast/staged_floyd_warshall.py", "- {next_pivot, next_pivot + 1, strip, coming}",
        "- {next_pivot, strip, coming}", "tests/test_blocked.py::test_more_strips_than_there_are_buffers"),
    Mutation("kernels/fast/staged_floyd_warshall.py", "if going not in (None, strip, pivot + 1):",
        "if going not in (None, strip, pivot + 2):",
        "tests/test_blocked.py::test_more_strips_than_there_are_buffers"),
    Mutation("kernels/fast/staged_floyd_warshall.py", "first_vertex = np.uint32(strip * height * shape.tile)",
        "first_vertex = np.uint32(pivot * height * shape.tile)",
        "tests/test_blocked.py::test_weights_of_zero_in_circles[staged]"),
    Mutation("kernels/fast/staged_floyd_warshall.py",
        "copies.to_host(predecessor[other], predecessors_of[strip - 1], n)",
        "copies.to_host(predecessor[this], predecessors_of[strip - 1], n)",
        "tests/test_blocked.py::test_more_strips_than_there_are_buffers"),
    Mutation("kernels/fast/staged_floyd_warshall.py", "max(1, tiles // (SHARE * STRIPS))", "max(1, tiles // SHARE)",
        "tests/test_blocked.py::test_strips_take_a_quarter_of_the_matrix"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "np.lexsort((graph.weights, graph.indices))",
        "np.lexsort((-graph.weights, graph.indices))",
        "tests/test_blocked.py::test_arcs_by_head_have_the_cheapest_first"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "blocks_for(vertices, self.tile * self.per_word)",
        "blocks_for(vertices, self.tile)", "tests/test_blocked.py::test_a_matrix_is_padded_to_whole_tiles"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "row = u64(top + position(y, r, height)) * pitch + j0",
        "row = u64(u32(top + position(y, r, height)) * pitch) + j0",
        "tests/test_blocked.py::test_rows_beyond_32_bits_do_not_fold_onto_each_other[False]"),
    Mutation("kernels/fast/blocked_floyd_warshall.py", "row, source = u64(cuda.blockIdx.x)",
        "row, source = u32(cuda.blockIdx.x)",
        "tests/test_blocked.py::test_predecessors_are_found_in_rows_beyond_32_bits"),
    Mutation("kernels/fast/multi_source.py", "(limit <= low and", "(limit < low and",
        "tests/test_multi_source.py::test_a_sum_that_is_the_number_of_no_path"),
    Mutation("kernels/fast/multi_source.py", "(limit <= high and", "(limit < high and",
        "tests/test_multi_source.py::test_a_sum_that_is_the_number_of_no_path"),
    Mutation("kernels/fast/multi_source.py", "while v <= size:", "while v < size:",
        "tests/test_multi_source.py::test_right_in_every_width_wherever_the_work_is_kept[16 bits-global]"),
    Mutation("kernels/fast/multi_source.py",
        "        cuda.syncthreads()  # others may still read the previous batch's rows\n", "",
        "tests/test_multi_source.py::test_right_in_every_width_wherever_the_work_is_kept[32 bits-shared]"),
    Mutation("kernels/fast/multi_source.py", "                cuda.syncthreads()\n                if less:",
        "                if less:",
        "tests/test_multi_source.py::test_right_in_every_width_wherever_the_work_is_kept[16 bits-shared]",
        equivalent="only its own thread writes a row, and a row read later is less: as good"),
    Mutation("kernels/fast/multi_source.py", "0xFFFF - int(weights.max())", "0x10000 - int(weights.max())",
        "tests/test_multi_source.py::test_when_16_bits_are_tried"),
    Mutation("kernels/fast/multi_source.py", "weights.min() > 0 and", "weights.min() >= 0 and",
        "tests/test_multi_source.py::test_when_16_bits_are_tried"),
    Mutation("kernels/fast/multi_source.py", "write_narrow_path(n, v, 3, first_source, no_path, core, b3",
        "write_narrow_path(n, v, 3, first_source, no_path, core, b2",
        "tests/test_multi_source.py::test_right_in_every_width_wherever_the_work_is_kept[16 bits-global]"),
    Mutation("kernels/fast/multi_source.py", "0 if v == source else INF", "0",
        "tests/test_multi_source.py::test_without_any_arc_each_vertex_reaches_itself"),
    Mutation("kernels/fast/multi_source.py", "first_source = u32(first_source + u32(4))",
        "first_source = u32(first_source + u32(8))",
        "tests/test_multi_source.py::test_right_in_every_width_wherever_the_work_is_kept[32 bits-shared]"),
    Mutation("kernels/fast/multi_source.py", "<< u64(32)) | u64(1)", "<< u64(32))",
        "tests/test_multi_source.py::test_predecessors_do_not_run_in_a_circle_of_free_arcs"),
    Mutation("kernels/fast/multi_source.py", "np.full(slices[-1], len(core))", "np.full(slices[-1], 0)",
        "tests/test_multi_source.py::test_the_layout_has_every_cheapest_arc_once"),
    Mutation("kernels/fast/multi_source.py", "return (core + 1) * (32 if count_hops else 16)",
        "return core * (32 if count_hops else 16)",
        "tests/test_multi_source.py::test_right_in_every_width_wherever_the_work_is_kept[32 bits-shared]"),
    Mutation("kernels/fast/multi_source.py", "done = all_fit(size, no_path_16, rows)", "done = True",
        "tests/test_multi_source.py::test_sources_whose_distances_pass_16_bits_start_anew"),
    Mutation("kernels/fast/multi_source.py", "arc = u32(arc + u32(SLICE))", "arc = u32(arc + u32(1))",
        "tests/test_multi_source.py::test_right_in_every_width_wherever_the_work_is_kept[16 bits-global]"),
    Mutation("kernels/fast/near_far.py", "if w != 0 and to_v < INF and", "if w != 0 and",
        "tests/test_near_far.py::test_what_is_one_too_far_has_no_predecessor"),
    Mutation("kernels/fast/near_far.py", "if w != 0 and to_v", "if to_v",
        "tests/test_near_far.py::test_predecessors_do_not_run_in_a_circle_of_free_arcs"),
    Mutation("kernels/fast/near_far.py", "old_u = cuda.atomic.min(dist, u, i32(to_u))",
        "old_u, dist[u] = dist[u], min(dist[u], i32(to_u))",
        "tests/test_compile.py::test_compiles[delta_stepping/near_far-cc75]"),
    Mutation("kernels/fast/near_far.py", "old_v = cuda.atomic.min(dist, v, i32(to_v))",
        "old_v, dist[v] = dist[v], min(dist[v], i32(to_v))",
        "tests/test_compile.py::test_compiles[delta_stepping/near_far-cc75]"),
    Mutation("kernels/fast/near_far.py", "old_x = cuda.atomic.min(dist, x, i32(to_x))",
        "old_x, dist[x] = dist[x], min(dist[x], i32(to_x))",
        "tests/test_compile.py::test_compiles[delta_stepping/near_far-cc75]"),
    Mutation("kernels/fast/near_far.py", "cuda.atomic.min(words, LEAST, least)",
        "words[LEAST] = min(words[LEAST], least)",
        "tests/test_compile.py::test_compiles[delta_stepping/near_far-cc75]"),
    Mutation("kernels/fast/near_far.py", "        return u32(cuda.atomic.add(words, counter, u32(1)))",
        "        words[counter] += u32(1)\n        return u32(words[counter] - u32(1))",
        "tests/test_compile.py::test_compiles[delta_stepping/near_far-cc75]"),
    Mutation("kernels/fast/near_far.py",
        "                place = i32(cuda.atomic.add(words, counter, u32(cuda.popc(alike))))",
        "                place = i32(words[counter])\n"
        "                words[counter] += u32(cuda.popc(alike))",
        "tests/test_compile.py::test_compiles[delta_stepping/near_far-cc75]"),
    Mutation("kernels/fast/near_far.py", "is_near = d < target.threshold", "is_near = d <= target.threshold",
        "tests/test_near_far.py::test_any_delta_gives_the_same",
        equivalent="what is at the threshold may be near or far: both come to the same distances"),
    Mutation("kernels/fast/near_far.py", "if is_near and u32(place - target.count_when_empty) < capacity:",
        "if is_near and u32(place - target.count_when_empty) <= capacity:",
        "tests/test_near_far.py::test_queues_with_few_places[1-3]"),
    Mutation("kernels/fast/near_far.py", "if to_u < INF:", "if to_u <= INF:",
        "tests/test_near_far.py::test_distances_up_to_the_largest", equivalent="INF lowers nothing"),
    Mutation("kernels/fast/near_far.py", "if to_u < u32(old_u):", "if to_u <= u32(old_u):",
        "tests/test_near_far.py::test_of_two_equal_ways_one_is_added_to_far"),
    Mutation("kernels/fast/near_far.py", "i32(place >= rows)) != 0", "i32(place >= rows)) != 0 and False",
        "tests/test_near_far.py::test_far_is_split_before_it_overflows"),
    Mutation("kernels/fast/near_far.py", "half, least = u64(u64(len(far) // 2) - target.half), u32(INF)",
        "half, least = target.half, u32(INF)", "tests/test_near_far.py::test_any_delta_gives_the_same[1]"),
    Mutation("kernels/fast/near_far.py", "if u32(state.dist[v]) == d:", "if u32(state.dist[v]) <= d:",
        "tests/test_near_far.py::test_far_is_split_before_it_overflows"),
    Mutation("kernels/fast/near_far.py", "row == source else", "row == 0 else",
        "tests/test_near_far.py::test_an_unreached_first_vertex_is_nobodys"),
    Mutation("kernels/fast/near_far.py", "to[FAR] = words[FAR]", "to[FAR] = 0",
        "tests/test_near_far.py::test_all_blocks_and_one_take_turns[1-4-0-1]"),
    Mutation("kernels/fast/near_far.py", "u32(half != 0), count", "u32(0), count",
        "tests/test_near_far.py::test_all_blocks_and_one_take_turns[1-4-0-1]"),
    Mutation("kernels/fast/near_far.py", "= u32(words[FAR] > len(dist))", "= u32(0)",
        "tests/test_near_far.py::test_far_is_split_where_one_block_and_all_find_it_full_by_turns"),
    Mutation("kernels/fast/near_far.py", "max(1, int(DELTA * graph.weights.mean()))",
        "int(DELTA * graph.weights.mean())",
        "tests/test_near_far.py::test_delta_is_a_multiple_of_the_mean_weight"),
    Mutation("kernels/fast/near_far.py", "-(-lengths // DEGREE)", "lengths // DEGREE",
        "tests/test_near_far.py::test_the_layout_has_every_arc_once_in_its_tails_tree"),
    Mutation("kernels/fast/near_far.py", "exists = exists and u32(state.dist[v]) >= d",
        "exists = exists and u32(state.dist[v]) > d",
        "tests/test_near_far.py::test_all_blocks_and_one_take_turns[1-4-0-1]"),
    Mutation("kernels/fast/near_far.py", "predecessor[v] = owners[row]", "predecessor[v] = row",
        "tests/test_near_far.py::test_right_from_several_sources[positive-True]"),
    Mutation("kernels/paper/serial.py", "for _ in range(graph.vertices - 1):", "for _ in range(graph.vertices - 2):",
        "tests/test_kernels.py::test_a_path_against_the_order_of_the_arcs_takes_every_iteration"),
    Mutation("kernels/paper/serial.py", "heappush(heap, (np.int64(dist[v]), np.int64(v)))", "pass",
        "tests/test_kernels.py::test_every_variant_against_scipy[dijkstra/cpu]"),
    Mutation("kernels/paper/serial.py", "predecessor[i, j] = predecessor[k, j]", "predecessor[i, j] = k",
        "tests/test_kernels.py::test_every_variant_against_scipy[floyd_warshall/cpu]"),
    Mutation("kernels/libraries.py", "predecessors[distances == INF] = -1", "pass",
        "tests/test_kernels.py::test_every_variant_against_scipy[dijkstra/scipy]"),
    Mutation("kernels/libraries.py", "np.maximum(found_predecessors, -1, out=predecessors)",
        "predecessors[:] = found_predecessors",
        "tests/test_kernels.py::test_every_variant_against_scipy[dijkstra/scipy]"),
    Mutation("kernels/libraries.py",
        "        yield sources[rows], distances[rows], predecessors[rows]\n        run.check_limit()",
        "        yield sources[rows], distances[rows], predecessors[rows]",
        "tests/test_libraries.py::test_the_time_limit_is_looked_at_after_each_block[dijkstra/scipy_apsp]"),
    Mutation("kernels/interface.py", "distances[result.distances == INF] = np.inf", "pass",
        "tests/test_interface.py::test_results_are_what_scipys_dijkstra_gives[Graph]"),
    Mutation("kernels/interface.py", "predecessors[predecessors == -1] = NO_PREDECESSOR", "pass",
        "tests/test_interface.py::test_results_are_what_scipys_dijkstra_gives[Graph]"),
    Mutation("kernels/interface.py", "and 8 * n * n <= card.free:", "and 8 * n * n < card.free:",
        "tests/test_interface.py::test_with_a_card_the_graph_decides"),
    Mutation("kernels/interface.py", "arcs.sum_duplicates()", "pass",
        "tests/test_interface.py::test_weights_of_zero_parallel_entries_and_whole_floats"),
    Mutation("kernels/fast/peak.py", "if (dist != through).any():", "if False:",
        "tests/test_blocked.py::test_the_peak_refuses_a_wrong_result"),
    Mutation("kernels/fast/peak.py", "times * (2 if packed else 1)", "times",
        "tests/test_blocked.py::test_the_peak_counts_what_was_made[True]"),
    Mutation("kernels/datasets.py", "heads -= 1", "pass", "tests/test_datasets.py::test_parse"),
    Mutation("kernels/datasets.py", "(1, MAX_WEIGHT)]", "(0, MAX_WEIGHT)]",
        "tests/test_datasets.py::test_dimacs_names_a_wrong_line"),
    Mutation("kernels/datasets.py", "endpoint=True", "endpoint=False",
        "tests/test_datasets.py::test_add_and_replace_draw_from_the_whole_range"),
    Mutation("kernels/datasets.py", "np.random.default_rng((seed, 1))", "np.random.default_rng(seed)",
        "tests/test_datasets.py::test_random_arcs_are_the_same_for_a_seed_and_not_the_weights_numbers"),
    Mutation("kernels/datasets.py", "if not 1 <= low <= high <= MAX_WEIGHT:",
        "if not 0 <= low <= high <= MAX_WEIGHT:", "tests/test_datasets.py::test_tools_refuse_a_range_of_weights"),
    Mutation("kernels/datasets.py", "** (1 / share)", "** share",
        "tests/test_datasets.py::test_skewed_out_degrees_fall_as_a_power_of_the_rank[4.0]"),
    Mutation("kernels/datasets.py",
        "    heads = np.tile(np.arange(vertices - 1), vertices)\n    heads += heads >= tails",
        "    heads = np.tile(np.arange(vertices - 1), vertices)\n    heads += heads > tails",
        "tests/test_datasets.py::test_random_is_complete_without_self_loops"),
    Mutation("workflow/scripts/download.py", "digest != expected.lower()", "False",
        "tests/test_download.py::test_only_the_file_config_names_is_taken"),
    Mutation("workflow/scripts/download.py", 'f"bytes={part.size()}-"', '"bytes=0-"',
        "tests/test_download.py::test_a_broken_download_is_resumed"),
    Mutation("workflow/scripts/download.py", "decode_content=False", "decode_content=True",
        "tests/test_download.py::test_bytes_are_kept_as_served"),
    Mutation("workflow/scripts/download.py", "* 2**retry", "",
        "tests/test_download.py::test_the_wait_before_asking_again_doubles"),
    Mutation("workflow/scripts/download.py", 'etag if etag.startswith(\'"\') else', "etag if etag else",
        "tests/test_download.py::test_a_weak_etag_does_not_resume_but_the_date_does"),
    Mutation("workflow/scripts/download.py", "or status >= 500:", "or status > 500:",
        "tests/test_download.py::test_a_source_is_asked_again"),
    Mutation("workflow/scripts/download.py", "and not continues(response, part):", "and False:",
        "tests/test_download.py::test_a_server_that_cannot_resume_is_asked_for_all"),
    Mutation("workflow/scripts/download.py", 'resumed = notes.get("url") == url', "resumed = bool(notes)",
        "tests/test_download.py::test_a_later_run_resumes_and_mirrors_do_not_mix"),
    Mutation("workflow/scripts/measure.py", 'and card.SIMULATED and "simulated" not in out.parts:', "and False:",
        "tests/test_measure.py::test_a_simulated_run_is_no_measurement"),
    Mutation("workflow/scripts/measure.py", "not said[1])", "bool(said[1]))",
        "tests/test_measure.py::test_the_commit_is_gits_or_the_one_given"),
    Mutation("kernels/harness.py", 'row |= {"round": number,', 'row |= {"round": number - 1,',
        "tests/test_measure.py::test_rows_and_columns[bellman_ford/cpu]"),
    Mutation("workflow/scripts/measure.py", "    except WrongResult as error:",
        "    except ZeroDivisionError as error:",
        "tests/test_measure.py::test_a_wrong_result_publishes_nothing_and_leaves_what_there_was"),
    Mutation("workflow/scripts/measure.py", 'protocol.source if variant.problem == "sssp" else ""', "protocol.source",
        "tests/test_measure.py::test_rows_and_columns[floyd_warshall/cpu]"),
    Mutation("workflow/scripts/measure.py", 'graph.meta.get("substitute") or ""', '""',
        "tests/test_measure.py::test_a_substitute_is_said_in_every_row"),
    Mutation("workflow/lib/measurements.py", 'rows["batch"]], sort=False).median()',
        'rows["batch"]], sort=False).mean()', "tests/test_tables.py::test_cells"),
    Mutation("workflow/lib/measurements.py", '"kernels": rows["kernels_s"],', '"kernels": rows["seconds"],',
        "tests/test_tables.py::test_an_extension_shows_what_the_paper_does_not"),
    Mutation("workflow/lib/measurements.py", 'max=("seconds", "max"),', 'max=("seconds", "median"),',
        "tests/test_tables.py::test_csv_numbers"),
    Mutation("workflow/lib/checked_csv.py", '.transform("nunique") == 1', '.transform("nunique") <= 2',
        "tests/test_tables.py::test_refused_rows"),
    Mutation("workflow/lib/measurements.py", 'rows["status"] == "simulated"', 'rows["status"] == ""',
        "tests/test_measure.py::test_a_simulated_run_is_no_measurement"),
    Mutation("workflow/lib/measurements.py", '~(rows["seconds"] <= 0)', '~(rows["seconds"] < 0)',
        "tests/test_checked.py::test_a_value_that_cannot_be_is_refused"),
    Mutation("workflow/lib/measurements.py", '[["vertices", "arcs", "dataset_sha256"]].drop_duplicates()',
        '[["vertices", "arcs"]].drop_duplicates()', "tests/test_tables.py::test_a_dataset_is_one_graph"),
    Mutation("workflow/scripts/collect.py", 'int(row["launches"]) != expected', 'int(row["launches"]) < expected',
        "tests/test_measure.py::test_collect_refuses_another_count_of_launches[bellman_ford/naive]"),
    Mutation("workflow/scripts/collect.py", "rows += of_file", "rows = of_file",
        "tests/test_measure.py::test_collect_joins_rows_and_provenance"),
    Mutation("workflow/lib/tables.py", "fastest / facts[\"paper seconds\"]", "facts[\"paper seconds\"] / fastest",
        "tests/test_tables.py::test_csv_numbers"),
    Mutation("workflow/lib/tables.py", 'cell["column"], other["column"], dataset)',
        'other["column"], cell["column"], dataset)', "tests/test_tables.py::test_csv_numbers"),
    Mutation("workflow/lib/tables.py", '.sort_values("median", kind="stable").iterrows()',
        '.sort_values("median", kind="stable", ascending=False).iterrows()',
        "tests/test_tables.py::test_the_gpu_beside_the_fastest_cpu_library"),
    Mutation("workflow/lib/measurements.py", 'both.where(rows["round"] == 1)', 'both.where(rows["round"] > 1)',
        "tests/test_extensions.py::test_preparation_is_of_a_processs_first_run_and_its_order_is_said"),
    Mutation("workflow/lib/peers.py", 'ratio.where(found["host"] == CARD)', "ratio",
        "tests/test_extensions.py::test_cited_times_stand_beside_ours_that_ran_with_them"),
    Mutation("workflow/scripts/table6.py", 'line["total estimate"], ", by', 'line["estimate"], ", by',
        "tests/test_extensions.py::test_preparation_is_of_a_processs_first_run_and_its_order_is_said"),
    Mutation("workflow/scripts/table6.py", "measurements.require_one_graph(pd.concat([rows, searches]))",
        "select(table, pd.concat([rows, searches]))",
        "tests/test_extensions.py::test_sources_of_another_graph_are_refused[True]"),
    Mutation("workflow/lib/tables.py", "measured.reindex(said.index).fillna(said)", "said",
        "tests/test_tables.py::test_csv_counts_and_substitute"),
    Mutation("workflow/lib/render.py", "low=1 / found.high, high=1 / found.low",
        "low=1 / found.low, high=1 / found.high", "tests/test_tables.py::test_a_slower_gpu_has_the_inverse_interval"),
    Mutation("workflow/scripts/tables.py", '"min": "min",', '"min": "median",',
        "tests/test_tables.py::test_csv_numbers"),
    Mutation("workflow/lib/verdicts.py", "scaled.std(ddof=1), count)", "scaled.std(), count)",
        "tests/test_verdicts.py::test_the_interval_is_that_of_a_t_test_on_logarithms"),
    Mutation("workflow/lib/verdicts.py", "batches - 1) * deviation", "batches) * deviation",
        "tests/test_verdicts.py::test_the_interval_is_that_of_a_t_test_on_logarithms"),
    Mutation("workflow/lib/verdicts.py", "half * np.sqrt(count + 1)", "half * np.sqrt(count)",
        "tests/test_verdicts.py::test_a_further_batch_lies_in_its_interval_as_often_as_it_says"),
    Mutation("workflow/lib/verdicts.py", "MIN_BATCHES = 3 ", "MIN_BATCHES = 2 ",
        "tests/test_verdicts.py::test_one_or_two_batches_have_no_interval_and_decide_nothing"),
    Mutation("workflow/lib/verdicts.py", "low < found.low and found.high < high", "low < found.value < high",
        "tests/test_verdicts.py::test_how_often_five_batches_are_wrong"),
    Mutation("workflow/lib/verdicts.py", "in reversed(regions.items())", "in regions.items()",
        "tests/test_verdicts.py::test_one_number_is_judged_by_the_tolerance_first"),
    Mutation("workflow/lib/verdicts.py", "normalize().as_tuple().exponent - 1", "as_tuple().exponent - 1",
        "tests/test_verdicts.py::test_a_claimed_value_is_as_wide_as_it_was_rounded"),
    Mutation("workflow/lib/batches.py", 'return both["right"] / both["left"]', 'return both["left"] / both["right"]',
        "tests/test_readme.py::test_findings_say_the_numbers_of_the_rows"),
    Mutation("workflow/lib/batches.py", '.drop(index="", errors="ignore")', "",
        "tests/test_claims.py::test_what_was_measured_alone_is_compared_with_nothing"),
    Mutation("workflow/lib/measurements.py", 'return rows[rows["code"] == last.reindex(rows.index)]', "return rows",
        "tests/test_claims.py::test_only_batches_of_the_same_code_are_pooled"),
    Mutation("workflow/lib/claims.py", "values = differences if claim.by_seconds else ratios", "values = ratios",
        "tests/test_claims.py::test_each_relation"),
    Mutation("workflow/lib/claims.py", "CLAIMED: (-np.inf, 1 + tolerance)}", "CLAIMED: slower}",
        "tests/test_claims.py::test_each_relation"),
    Mutation("workflow/lib/claims.py", "found = min(findings, key", "found = max(findings, key",
        "tests/test_claims.py::test_the_fastest_must_be_faster_than_each"),
    Mutation("workflow/lib/claims.py", "and any(word in (INCONCLUSIVE, FEW) for word in others)",
        "and all(word in (INCONCLUSIVE, FEW) for word in others)",
        "tests/test_claims.py::test_a_verdict_that_rests_on_each_batch_is_marked"),
    Mutation("workflow/lib/claims.py", "if len(cards) == 1 and", "if len(cards) == 9 and",
        "tests/test_claims.py::test_on_one_card_it_is_said"),
    Mutation("workflow/scripts/compare.py", "min(found.next_low, found.value * (1 - tolerance))", "found.low",
        "tests/test_compare.py::test_a_time_is_judged_by_where_one_more_batch_would_lie"),
    Mutation("workflow/scripts/compare.py", "if graphs != archived:", "if not archived:",
        "tests/test_compare.py::test_what_is_not_comparable_says_why"),
    Mutation("workflow/scripts/summary.py", "if len(seconds) < MIN_REPEATS:", "if len(seconds) <= MIN_REPEATS:",
        "tests/test_audit.py::test_statistics_of_a_cell",
        equivalent="the interval of six repeats ends at the least and the greatest, as their range does"),
    Mutation("workflow/scripts/summary.py", '"median": np.median(medians),', '"median": np.mean(medians),',
        "tests/test_audit.py::test_a_cell_has_a_line_for_its_batches_and_one_for_what_was_measured_alone"),
    Mutation("workflow/scripts/summary.py", "np.ptp(seconds) / np.median(seconds)",
        "np.std(seconds) / np.median(seconds)", "tests/test_audit.py::test_statistics_of_a_cell"),
    Mutation("workflow/scripts/launch_overhead.py", "batches.speed_up(kernels, plain, f\"{plain}_graph\", dataset)",
        "batches.speed_up(kernels, f\"{plain}_graph\", plain, dataset)",
        "tests/test_growth.py::test_launch_bound_and_kernel_bound"),
    Mutation("workflow/scripts/claims_figure.py", "_box(axes, x, y, 0.92, side, here)",
        "_box(axes, x, y, 0.92, side, paper)",
        "tests/test_readme.py::test_a_cell_has_the_sign_of_its_verdict_and_of_the_papers"),
    Mutation("workflow/scripts/claims_figure.py", "LOOKS[here].sign, ha", "LOOKS[paper].sign, ha",
        "tests/test_readme.py::test_a_cell_has_the_sign_of_its_verdict_and_of_the_papers"),
    Mutation("workflow/scripts/growth.py", "if problem in fitted] or list(PROBLEMS)", "if problem in fitted]",
        "tests/test_growth.py::test_the_legend_says_where_there_is_no_fit"),
    Mutation("workflow/scripts/claims_figure.py", "LABEL = 4.55 ", "LABEL = 3.8 ",
        "tests/test_readme.py::test_no_text_of_the_picture_touches_another_or_the_edge"),
    Mutation("workflow/scripts/performance.py", "limits.get(key, np.nan) for key in zip(bits",
        "limits.get((32, key[1]), np.nan) for key in zip(bits",
        "tests/test_readme.py::test_rates_are_over_the_peak_of_as_many_bits"),
    Mutation("workflow/scripts/performance.py", 'found["vertices"] ** 3 / found["kernels"]',
        'found["vertices"] ** 3 / found["median"]',
        "tests/test_readme.py::test_rates_are_over_the_peak_of_as_many_bits"),
    Mutation("workflow/scripts/readme.py", "return self._between(self.medians_of_regions,",
        "return self._between(self.medians,", "tests/test_readme.py::test_findings_say_the_numbers_of_the_rows"),
    Mutation("workflow/scripts/readme.py", "if len(set(texts)) == 1:", "if texts:",
        "tests/test_readme.py::test_two_cards_stand_side_by_side"),
    Mutation("workflow/scripts/reviewers.py", "{found.next_low:.3g} to", "{found.low:.3g} to",
        "tests/test_audit.py::test_what_a_reviewer_types_and_should_get"),
    Mutation("workflow/lib/documents.py", "if not pattern.search(text):", "if False:",
        "tests/test_readme.py::test_nothing_is_written_where_a_page_lacks_its_markers"),
    Mutation("workflow/lib/digests.py", "if file not in (*paths, *NO_TIMES)", "if file not in paths",
        "tests/test_configuration.py::test_a_changed_module_makes_exactly_its_cells_due[graph]"),
    Mutation("workflow/lib/digests.py", "paths += [file for", "paths = [file for",
        "tests/test_configuration.py::test_a_changed_module_makes_exactly_its_cells_due[sparry.edge]"),
    Mutation("workflow/lib/plan.py",
        "if not simulating(config) or not found.on_gpu:", "if not simulating(config):",
        "tests/test_configuration.py::test_which_cells_are_refused"),
    Mutation("workflow/lib/plan.py", " if not find(*cell[:2]).cuda_graph]", "]",
        "tests/test_configuration.py::test_what_is_simulated_without_a_target"),
    Mutation("workflow/lib/plan.py",
        "return [*cells, *jobs] if shown else []", "return [*cells, *jobs]",
        "tests/test_configuration.py::test_a_few_cpu_times_do_not_take_the_place_of_the_archive"),
    Mutation("workflow/scripts/simulate.py", 'return (entry, record["protocol"], record.get("code")) == same',
        "return True", "tests/test_workflow.py::test_cells_are_simulated_at_once_and_only_what_is_due_again"),
    Mutation("workflow/scripts/simulate.py", "                continue\n", "                pass\n",
        "tests/test_workflow.py::test_cells_are_simulated_at_once_and_only_what_is_due_again"),
    Mutation("workflow/scripts/announce.py",
        'Counter({row["claim"]: row["claim\'s verdict"] for row in rows}.values())',
        'Counter(row["claim\'s verdict"] for row in rows)',
        "tests/test_announce.py::test_at_the_end_it_counts_verdicts_and_says_where_all_lies"),
    Mutation("workflow/scripts/announce.py", "measurements.CELL).mean().sum()", "measurements.CELL).sum().sum()",
        "tests/test_announce.py::test_how_long_it_takes_is_that_of_one_batch"),
    Mutation("workflow/lib/places.py", "(not new and _last())", "_last()",
        "tests/test_places.py::test_a_run_that_was_cut_off_goes_on_the_next_day_and_a_new_batch_is_new"),
    Mutation("workflow/lib/places.py", "_host(table) == host_id() for", "_host(table) for",
        "tests/test_places.py::test_batches_of_other_machines_are_not_gone_on_with"),
    Mutation("workflow/lib/places.py", "if str(path) not in made", "",
        "tests/test_places.py::test_all_batches_that_are_there_are_shown_and_cells_measured_again_too"),
    Mutation("workflow/lib/records.py", '[*cell, record.get("batch")]', "[*cell]",
        "tests/test_archive.py::test_a_batch_is_added_and_its_cpu_rows_with_it"),
    Mutation("workflow/scripts/archive.py", "if records.name(row) not in replaced", "",
        "tests/test_archive.py::test_the_same_batch_again_replaces_its_rows"),
    Mutation("workflow/scripts/archive.py", "others[-1:]", "others",
        "tests/test_archive.py::test_of_older_code_the_last_batch_stays"),
    Mutation("workflow/scripts/archive.py", "started(row) > started(newest)", "True",
        "tests/test_archive.py::test_a_cell_measured_alone_is_kept_beside_batches_until_they_are_of_newer_code"),
    Mutation("workflow/scripts/archive.py", 'if row["batch"] else everywhere', "if False else everywhere",
        "tests/test_archive.py::test_cpu_rows_go_where_their_batch_went"),
    Mutation("workflow/lib/host.py", "open(_lock_file(_uuid(card, seen))", "open(_lock_file(card)",
        "tests/test_job.py::test_of_two_jobs_of_slurm_each_has_its_card_0"),
    Mutation("workflow/lib/plan.py", "if v.key not in skipped]", "]",
        "tests/test_configuration.py::test_the_papers_cells"),
    Mutation("workflow/lib/plan.py", '"directed", "weights", "generate"', '"directed", "generate"',
        "tests/test_configuration.py::test_what_decides_a_datasets_graph"),
    Mutation("workflow/lib/plan.py", "max(found[key], least) for", "least for",
        "tests/test_configuration.py::test_only_what_goes_past_the_paper_is_repeated_more_often_and_for_longer"),
    Mutation("workflow/lib/plan.py", "cell[2]) in shown]", "cell[2]) not in shown]",
        "tests/test_configuration.py::test_the_papers_cells"),
]
# fmt: on
MUTATIONS += [
    # Arcs of weight 0, what was found by attacks, and what is said of bad input.
    Mutation(
        "kernels/fast/near_far.py",
        "to_queue = cuda.atomic.cas(predecessor, v, -1, i32(u)) == -1",
        "to_queue = cuda.atomic.cas(predecessor, v, -1, np.int32(u)) == -2",
        "tests/test_near_far.py::test_each_row_is_looked_at_no_more_than_twice_for_its_free_arcs",
    ),
    Mutation(
        "kernels/fast/near_far.py",
        "elif v != source and dist[v] == dist[row] and predecessor[v] < 0:",
        "elif dist[v] == dist[row] and predecessor[v] < 0:",
        "tests/test_near_far.py::test_predecessors_do_not_run_in_a_circle_of_free_arcs",
    ),
    Mutation(
        "kernels/fast/near_far.py",
        "elif v != source and dist[v] == dist[row] and predecessor[v] < 0:",
        "elif v != source and predecessor[v] < 0:",
        "tests/test_near_far.py::test_right_from_several_sources",
    ),
    Mutation(
        "kernels/fast/near_far.py",
        "                to_queue = also_tree_rows\n",
        "                to_queue = False\n",
        "tests/test_near_far.py::test_each_row_is_looked_at_no_more_than_twice_for_its_free_arcs",
    ),
    Mutation(
        "kernels/fast/near_far.py",
        ("        if u == source or predecessor[u] >= 0:\n            take_zero_arcs(row, False"),
        "        if predecessor[u] >= 0:\n            take_zero_arcs(row, False",
        "tests/test_near_far.py::test_predecessors_do_not_run_in_a_circle_of_free_arcs",
    ),
    Mutation(
        "kernels/fast/near_far.py",
        "take_zero_arcs(row, False, source",
        "take_zero_arcs(row, True, source",
        "tests/test_near_far.py::test_each_row_is_looked_at_no_more_than_twice_for_its_free_arcs",
        equivalent="rows of a tree are then looked at twice, which costs time only",
    ),
    Mutation(
        "kernels/fast/near_far.py",
        "        start, end = end, words[FAR]",
        "        start, end = np.uint32(0), np.uint32(0)",
        "tests/test_near_far.py::test_each_row_is_looked_at_no_more_than_twice_for_its_free_arcs",
    ),
    Mutation(
        "kernels/check.py",
        "np.int64(dist[u]) + weights[arc] == dist[v]:\n                fits",
        "np.int64(dist[u]) + weights[arc] >= dist[v]:\n                fits",
        "tests/test_check.py::test_a_wrong_predecessor",
    ),
    Mutation(
        "kernels/check.py",
        "if predecessor[v] == u and",
        "if",
        "tests/test_check.py::test_a_wrong_predecessor",
    ),
    Mutation(
        "kernels/check.py",
        "(has_none and predecessor[v] != -1) or",
        "",
        "tests/test_check.py::test_a_wrong_predecessor",
    ),
    Mutation(
        "kernels/libraries.py",
        "some_free |= w == 0",
        "pass",
        "tests/test_libraries.py::test_predecessors_that_follow_from_distances",
    ),
    Mutation(
        "kernels/libraries.py",
        "if w > 0 and v != source and predecessor[v] == -1",
        "if v != source and predecessor[v] == -1",
        "tests/test_libraries.py::test_a_circle_of_free_arcs_that_comes_before_the_source_in_order",
    ),
    Mutation(
        "kernels/libraries.py",
        "                queue[count], count = v, count + 1\n",
        "                count += 0\n",
        "tests/test_libraries.py::test_each_free_arc_is_read_no_more_than_twice",
    ),
    Mutation(
        "kernels/sparry/block_per_source.py",
        "v != source and to_v != INF and d ==",
        "v != source and d ==",
        "tests/test_block_per_source.py::test_a_path_of_exactly_what_stands_for_none_is_none",
    ),
    Mutation(
        "tests/conftest.py",
        '(pytest.fail if os.environ.get("REQUIRE_GPU") == "1" else pytest.skip)("no GPU',
        'pytest.skip("no GPU',
        "tests/test_gpu.py::test_without_a_card_these_are_skipped_or_fail",
    ),
    Mutation(
        "tests/sanitize.py",
        "failed += [tool] * (ran.returncode != 0)",
        "failed += []",
        "tests/test_sanitize.py::test_both_tools_run_and_one_that_fails_is_named",
    ),
    Mutation(
        "tests/sanitize.py",
        "wrong += bool(said)",
        "wrong += 0",
        "tests/test_sanitize.py::test_a_wrong_answer_is_said_and_fails",
    ),
    Mutation(
        "tests/sanitize.py",
        "if v.on_gpu and (not parts",
        "if (not parts",
        "tests/test_sanitize.py::test_every_gpu_variant_is_run_and_all_that_only_some_take",
    ),
    Mutation(
        "workflow/rules/data.smk",
        "{params.raw:q}",
        "{params.raw}",
        "tests/test_workflow.py::test_every_parameter_of_every_command_is_quoted",
    ),
    Mutation(
        "kernels/datasets.py",
        "        return lambda mode: _opened(os.dup(number), mode)\n",
        "        pass\n",
        "tests/test_outputs.py::test_standard_output_is_written_where_it_is",
    ),
    Mutation(
        "kernels/datasets.py",
        "target = Path(os.path.realpath(path)) if path.is_symlink() else path",
        "target = path",
        "tests/test_outputs.py::test_a_link_stays_and_the_file_that_it_leads_to_is_replaced",
    ),
    Mutation(
        "kernels/datasets.py",
        ("        temporary.unlink(missing_ok=True)  # what a killed process left, or a link to another file\n"),
        "",
        "tests/test_outputs.py::test_what_has_the_temporary_name_is_not_written_through",
    ),
    Mutation(
        "kernels/datasets.py",
        "    def seekable(self) -> bool:\n        return False",
        "    def seekable(self) -> bool:\n        return True",
        "tests/test_outputs.py::test_a_packed_graph_goes_where_np_savez_must_not_go_back",
    ),
    Mutation(
        "workflow/scripts/download.py",
        "if file.tell() + len(chunk) > max_mb * 1e6:",
        "if False:",
        "tests/test_download.py::test_too_large_a_file_is_not_taken_and_the_next_source_is_asked",
    ),
    Mutation(
        "workflow/scripts/download.py",
        "[A-Za-z0-9_+][A-Za-z0-9._+-]{0,199}",
        "[A-Za-z0-9._+-]{1,200}",
        "tests/test_download.py::test_a_name_that_no_raw_file_may_have_is_refused",
    ),
    Mutation(
        "workflow/scripts/download.py",
        "{'' if own else ': delete it to download it again'}",
        ": delete it to download it again",
        "tests/test_download.py::test_a_wrong_file_of_the_users_own_is_not_to_be_deleted",
    ),
    Mutation(
        "kernels/errors.py",
        "error.filename in (None, *temporary)",
        "error.filename in temporary",
        "tests/test_step.py::test_an_error_of_the_disk_names_the_file_and_leaves_nothing",
    ),
    Mutation(
        "kernels/errors.py",
        "if not isinstance(value, bool):",
        "if True:",
        "tests/test_interface.py::test_a_source_that_is_no_whole_number",
    ),
    Mutation(
        "kernels/harness.py",
        '"block": (1, 1024)',
        '"block": (1, 2048)',
        "tests/test_cli.py::test_a_block_or_tile_that_no_card_has",
    ),
    Mutation(
        "kernels/interface.py",
        'arcs.dtype.kind not in "biuf"',
        'arcs.dtype.kind not in "biufc"',
        "tests/test_interface.py::test_a_graph_that_is_none",
    ),
    Mutation(
        "kernels/interface.py",
        'if graph.format not in ("csr", "csc"):',
        "if True:",
        "tests/test_interface.py::test_entries_of_one_place_are_parallel_arcs_where_scipy_takes_them_so",
    ),
    Mutation(
        "kernels/interface.py",
        'if graph.format == "bsr":',
        "if False:",
        "tests/test_interface.py::test_zeros_that_fill_a_block_are_no_arcs",
    ),
    Mutation(
        "kernels/graph.py",
        "        return values.astype(np.int64)  # an empty list is an array of floats",
        "        return values",
        "tests/test_interface.py::test_a_graph_without_arcs",
    ),
    Mutation(
        "workflow/lib/step.py",
        "        with reported(_end):",
        "        if True:",
        "tests/test_step.py::test_a_machines_error_ends_a_step_with_a_line",
    ),
    Mutation(
        "kernels/interface.py",
        "predecessors[predecessors == -1] = NO_PREDECESSOR",
        "predecessors[predecessors == -1] = -1",
        "tests/test_scipy_suite.py::test_the_interface_passes",
    ),
    Mutation(
        "tests/test_scipy_suite.py",
        '"min_only": arguments.get("min_only"),',
        '"min_only": False,',
        "tests/test_scipy_suite.py::test_how_many_of_scipys_cases_are_ours",
    ),
    Mutation(
        "workflow/rules/measure.smk",
        "resources.partition(on_gpu(wildcards))",
        'resources.partition(wildcards.variant != "cpu")',
        "tests/test_sbatch.py::test_every_variant_goes_where_its_device_is",
    ),
    Mutation(
        "workflow/rules/extensions.smk",
        "slurm_partition=resources.partition(on_gpu=True)",
        "slurm_partition=resources.partition(on_gpu=False)",
        "tests/test_sbatch.py::test_every_variant_goes_where_its_device_is",
    ),
    Mutation(
        "workflow/lib/lock.py",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        "tests/test_lock.py::test_the_second_process_is_told_who_measures",
    ),
    Mutation(
        "workflow/lib/lock.py",
        "if not _at(path, file):",
        "if False:",
        "tests/test_lock.py::test_a_lock_that_was_deleted_before_it_was_ours_is_none",
    ),
    Mutation(
        "workflow/scripts/measure.py",
        "with lock.held(out), host.one_card(cores) if",
        "with host.one_card(cores) if",
        "tests/test_lock.py::test_no_step_measures_beside_another_process[a_cell]",
    ),
    Mutation(
        "workflow/lib/configuration.py",
        "not math.isfinite(value)",
        "math.isinf(value)",
        "tests/test_configuration.py::test_a_wrong_value_is_refused_where_it_stands[audit.tolerance-nan]",
    ),
    Mutation(
        "kernels/datasets.py",
        "marked = arcs.startswith(form.mark + blank) + arcs.count",
        "marked = 1 + arcs.count",
        "tests/test_datasets.py::test_the_first_arc_is_looked_at_too",
    ),
    Mutation(
        "kernels/datasets.py",
        "if not wrong and self.bytes > most_bytes(self.arcs):",
        "if not wrong and self.bytes > most_bytes(10**9):",
        "tests/test_datasets.py::test_reading_stops_at_a_byte_too_many",
    ),
    Mutation(
        "kernels/datasets.py",
        "elif self.arcs > self.counts.arcs + self.begins_with_counts():",
        "elif self.arcs > self.counts.arcs + 1:",
        "tests/test_datasets.py::test_known_counts_decide_what_a_first_line_is",
    ),
    Mutation(
        "kernels/datasets.py",
        "        if tails[0] == others:",
        "        if tails[0] <= others:",
        "tests/test_datasets.py::test_a_first_arc_is_not_taken_for_counts",
    ),
    Mutation(
        "kernels/graph.py",
        "needed = sum(member.file_size for",
        "needed = sum(member.compress_size for",
        "tests/test_memory.py::test_a_packed_graph_that_inflates_to_more_than_there_is",
    ),
    Mutation(
        "kernels/memory.py",
        "for folder in (own, *own.parents)",
        "for folder in (own,)",
        "tests/test_memory.py::test_memory_is_the_machines_or_the_control_groups",
    ),
    Mutation(
        "workflow/scripts/download.py",
        "Part(target, counts(dataset, entry))",
        "Part(target, None)",
        "tests/test_download.py::test_a_file_that_inflates_to_more_than_its_arcs_take_is_refused",
    ),
    Mutation(
        "kernels/gpu/timing.py",
        "event_elapsed_time(self._start, self._end) / 1000",
        "event_elapsed_time(self._start, self._end)",
        "tests/test_device.py::test_a_phase_is_timed_in_seconds_between_two_events",
    ),
    Mutation(
        "kernels/run.py",
        "        if self.on_gpu:\n            cuda.synchronize()\n        self.seconds",
        "        self.seconds",
        "tests/test_device.py::test_a_run_is_timed_until_the_card_is_idle",
    ),
    Mutation(
        "kernels/gpu/timing.py",
        "            self._end.synchronize()\n",
        "",
        "tests/test_device.py::test_a_phase_is_timed_in_seconds_between_two_events",
    ),
    Mutation(
        "workflow/lib/measurements.py",
        'rows["seconds"] * (1 + PHASES_OVER)',
        'rows["seconds"] * (1000 + PHASES_OVER)',
        "tests/test_measure.py::test_times_that_cannot_be_publish_nothing_and_leave_what_there_was",
    ),
    Mutation(
        "workflow/lib/measurements.py",
        "checked.between(1 - external(rows), most)",
        "checked.between(0, most)",
        "tests/test_checked.py::test_a_value_that_cannot_be_is_refused",
    ),
    Mutation(
        "workflow/lib/external.py",
        "os.killpg(process.pid, signal.SIGKILL)",
        "process.kill()",
        "tests/test_external.py::test_a_program_that_hangs_is_ended_with_all_that_it_started",
    ),
    Mutation(
        "workflow/lib/external.py",
        "if len(found) != 1:",
        "if not found:",
        "tests/test_external.py::test_a_program_that_is_not_as_its_entry_says_ends_the_job",
    ),
    Mutation(
        "workflow/lib/external.py",
        "return digests.digest(json.dumps([command,",
        "return digests.digest(json.dumps([self.entry['command'],",
        "tests/test_external.py::test_another_build_is_another_code",
    ),
    Mutation(
        "workflow/lib/external.py",
        'both["ours"] / both["theirs"]',
        'both["theirs"] / both["ours"]',
        "tests/test_external.py::test_beside_gives_the_ratio_in_each_batch",
    ),
    Mutation(
        "kernels/harness.py",
        "if variant.program and not variant.program.gives_distances:",
        "if variant.program:",
        "tests/test_external.py::test_it_runs_in_the_rounds_of_the_job_and_is_checked",
    ),
    Mutation(
        "workflow/lib/checked_csv.py",
        "        self._checked(said, self.advice)\n        return",
        "        return",
        "tests/test_checked.py::test_a_broken_archive_is_refused_and_stays_as_it_is",
    ),
    Mutation(
        "workflow/lib/former.py",
        "return _RENAMED.get(key, key)",
        "return key",
        "tests/test_tables.py::test_the_former_name_of_a_variant_is_its_present_one",
    ),
    Mutation(
        "workflow/lib/former.py",
        'r"cores: (?P<cores>\\d+)"',
        'r"cores (?P<cores>\\d+)"',
        "tests/test_tables.py::test_the_former_name_of_a_variant_is_its_present_one",
    ),
    Mutation(
        "workflow/lib/tables.py", "or dataset not in theirs", "or dataset in theirs", "tests/test_tables.py::test_cells"
    ),
    Mutation(
        "workflow/lib/tables.py",
        "lambda column: column[0][1] not in bases",
        "lambda column: column[0][1] in bases",
        "tests/test_tables.py::test_columns_rows_and_title",
    ),
    Mutation(
        "kernels/fast/near_far.py",
        "to_queue = cuda.atomic.cas(predecessor, v, -1, i32(u)) == -1",
        "predecessor[v], to_queue = np.int32(u), True",
        "tests/test_compile.py::test_compiles[delta_stepping/near_far-cc75]",
    ),
    Mutation(
        "kernels/libraries.py",
        "predecessor[v] == -1 and dist[v] != INF and",
        "predecessor[v] == -1 and",
        "tests/test_kernels.py::test_every_variant_against_scipy[dijkstra/networkit]",
    ),
    # What only a card shows.
    Mutation(
        "kernels/paper/bellman_ford.py",
        "        cuda.atomic.min(dist, v, np.int32(previous[u] + w))",
        "            dist[v] = np.int32(previous[u] + w)",
        "tests/test_gpu.py::test_again_and_again[bellman_ford/stride_flag-funnel]",
        card=True,
    ),
    Mutation(
        "kernels/sparry/dijkstra.py",
        "                                cuda.atomic.min(tentative, v, np.int32(d + w))",
        "                                tentative[v] = np.int32(d + w)",
        "tests/test_gpu.py::test_again_and_again[dijkstra/block_apsp-funnel]",
        card=True,
    ),
    Mutation(
        "kernels/sparry/delta_stepping.py",
        "                cuda.atomic.min(tentative, v, np.int32(d + w))",
        "                tentative[v] = np.int32(d + w)",
        "tests/test_gpu.py::test_again_and_again[delta_stepping/block_apsp-funnel]",
        card=True,
    ),
    Mutation(
        "kernels/sparry/edge.py",
        "                changed = cuda.syncthreads_or(lowered) != 0",
        "                changed = lowered != 0",
        "tests/test_gpu.py::test_again_and_again[edge/apsp-path]",
        card=True,
    ),
    Mutation(
        "kernels/sparry/edge.py",
        "            cuda.syncthreads()\n            changed = True",
        "            changed = True",
        "tests/test_gpu.py::test_again_and_again[edge/apsp-hubs]",
        card=True,
    ),
    Mutation(
        "kernels/sparry/dijkstra.py",
        ("                    u = np.uint32(u + threads)\n                cuda.syncthreads()\n"),
        "                    u = np.uint32(u + threads)\n",
        "tests/test_gpu.py::test_again_and_again[dijkstra/block_apsp-path]",
        card=True,
    ),
    Mutation(
        "kernels/sparry/delta_stepping.py",
        ("                    u = np.uint32(u + threads)\n                cuda.syncthreads()\n                nearest"),
        "                    u = np.uint32(u + threads)\n                nearest",
        "tests/test_gpu.py::test_any_delta[path-delta_stepping/block_apsp-1]",
        card=True,
    ),
    Mutation(
        "kernels/sparry/block_per_source.py",
        "        cuda.syncthreads()\n        u = np",
        "        u = np",
        "tests/test_gpu.py::test_again_and_again[edge/apsp-hubs]",
        card=True,
    ),
    Mutation(
        "kernels/paper/floyd_warshall.py",
        "        if wait:\n            cuda.syncthreads()\n",
        "",
        "tests/test_gpu.py::test_again_and_again[floyd_warshall/tiled-path]",
        card=True,
    ),
    Mutation(
        "kernels/paper/floyd_warshall.py",
        "                last[y, x] = last[k, x]\n            cuda.syncthreads()  # before the next k reads the tile\n",
        "                last[y, x] = last[k, x]\n",
        "tests/test_gpu.py::test_again_and_again[floyd_warshall/tiled_shared-path]",
        card=True,
    ),
    Mutation(
        "kernels/paper/floyd_warshall.py",
        "        cuda.syncthreads()  # both tiles are loaded\n        if i < n and j < n:\n            shortest",
        "        if i < n and j < n:\n            shortest",
        "tests/test_gpu.py::test_again_and_again[floyd_warshall/tiled_shared-hubs]",
        card=True,
    ),
    Mutation(
        "kernels/paper/floyd_warshall.py",
        "        lead[0] = dist[np.uint32(i * n + k)]\n    cuda.syncthreads()\n",
        "        lead[0] = dist[np.uint32(i * n + k)]\n",
        "tests/test_gpu.py::test_again_and_again[floyd_warshall/super_naive_shared-hubs]",
        card=True,
    ),
    Mutation(
        "kernels/fast/multi_source.py",
        "        cuda.syncthreads()  # others may still read the previous batch's rows\n",
        "",
        "tests/test_gpu.py::test_distances_of_every_width_wherever_the_work_is_kept[32 bits-shared]",
        card=True,
    ),
    Mutation(
        "kernels/fast/near_far.py",
        "                old_u = cuda.atomic.min(dist, u, i32(to_u))",
        ("                old_u = dist[u]\n                dist[u] = i32(to_u)"),
        "tests/test_gpu.py::test_every_variant_on_every_graph[funnel-delta_stepping/near_far]",
        card=True,
    ),
    Mutation(
        "kernels/fast/near_far.py",
        "        return u32(cuda.atomic.add(words, counter, u32(1)))",
        ("        place = words[counter]\n        words[counter] = u32(place + u32(1))\n        return place"),
        "tests/test_gpu.py::test_every_variant_on_every_graph[sparse-delta_stepping/near_far]",
        card=True,
    ),
    Mutation(
        "kernels/fast/near_far.py",
        "                place = i32(cuda.atomic.add(words, counter, u32(cuda.popc(alike))))",
        (
            "                place = i32(words[counter])\n"
            "                words[counter] = u32(place + i32(cuda.popc(alike)))"
        ),
        "tests/test_gpu.py::test_one_block_and_all_take_turns[64-1048576-0-0-hubs-20]",
        card=True,
    ),
    Mutation(
        "kernels/fast/blocked_floyd_warshall.py",
        "            cuda.syncthreads()\n            k = u32(0)\n",
        "            k = u32(0)\n",
        "tests/test_gpu.py::test_every_variant_on_every_graph[one more than a block-floyd_warshall/blocked]",
        card=True,
    ),
    Mutation(
        "kernels/fast/blocked_floyd_warshall.py",
        ("                cuda.syncthreads()\n                r = u32(0)\n                while r < per:"),
        "                r = u32(0)\n                while r < per:",
        "tests/test_gpu.py::test_every_variant_on_every_graph[path-floyd_warshall/blocked]",
        card=True,
    ),
    Mutation(
        "kernels/fast/blocked_floyd_warshall.py",
        "    while cuda.syncthreads_or(waiting) != 0:",
        "    while waiting != 0:",
        "tests/test_gpu.py::test_weights_of_zero[path-floyd_warshall/blocked]",
        card=True,
    ),
    Mutation(
        "kernels/gpu/launching.py",
        (
            "                checked(driver.cuKernelSetAttribute(attribute, shared[0], "
            "int(self.handles[i]), card.current().id))"
        ),
        "                assert attribute",
        "tests/test_gpu.py::test_as_much_shared_memory_as_a_block_may_have[launched]",
        card=True,
    ),
    Mutation(
        "kernels/gpu/launching.py",
        (
            "        chunk = max(1, times) if any(a is STEP for launch in self.kept[0] for a in launch[3]) "
            "else GRAPH_ITERATIONS"
        ),
        "        chunk = GRAPH_ITERATIONS",
        "tests/test_gpu.py::test_launches_are_made_in_turn_with_their_arguments[STEP-2053-replayed]",
        card=True,
    ),
    Mutation(
        "kernels/gpu/launching.py",
        "((chunk, times // chunk), (times % chunk, 1))",
        "((chunk, times // chunk),)",
        "tests/test_gpu.py::test_launches_are_made_in_turn_with_their_arguments[the same each time-2053-replayed]",
        card=True,
    ),
    Mutation(
        "kernels/gpu/timing.py",
        "cuda.event_elapsed_time(self._start, self._end) / 1000",
        "cuda.event_elapsed_time(self._start, self._end)",
        "tests/test_gpu.py::test_phases_are_seconds_and_sum_to_at_most_the_region",
        card=True,
    ),
    Mutation(
        "kernels/run.py",
        "        if self.on_gpu:\n            cuda.synchronize()\n",
        "",
        "tests/test_gpu.py::test_region_and_phase_end_when_the_card_is_idle",
        card=True,
    ),
    Mutation(
        "kernels/gpu/timing.py",
        "            self._end.synchronize()\n",
        "",
        "tests/test_gpu.py::test_region_and_phase_end_when_the_card_is_idle",
        card=True,
    ),
    # All pairs in parts.
    Mutation(
        "workflow/lib/all_pairs.py",
        "arcs.data += 1",
        "arcs.data += 0",
        "tests/test_all_pairs.py::test_where_arcs_go_both_ways",
    ),
    Mutation(
        "workflow/lib/all_pairs.py",
        "if not file.exists() or sha256(file) != digest:",
        "if not file.exists():",
        "tests/test_all_pairs.py::test_a_damaged_file_of_a_part_is_refused",
    ),
    Mutation(
        "workflow/scripts/all_pairs_merge.py",
        'rows["total"].to_numpy() != columns',
        'rows["total"].to_numpy() < columns',
        "tests/test_all_pairs.py::test_sums_of_rows_and_columns_that_differ_are_refused",
    ),
    Mutation(
        "workflow/scripts/all_pairs_shard.py",
        "wrong = np.flatnonzero(distances != expected)",
        "wrong = np.flatnonzero(distances > expected)",
        "tests/test_all_pairs.py::test_what_is_found_of_a_source_is_compared_with_the_oracle",
    ),
]


def copy_project(folder: Path) -> Path:
    """The tracked files as they are in the working tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def run_pytest(folder: Path, *words: str, simulated: bool, limit_s: float | None = None) -> tuple[int | str, str]:
    """pytest's exit code, or HANGS, and what it said; without any compiled code of an earlier run."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {
            **{"PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(folder)},
            **{"NUMBA_ENABLE_CUDASIM": str(int(simulated)), "CI_TESTS": "1"},
        }
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words]
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # so that what a test has started ends with it
        )
        try:
            said, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return HANGS, process.communicate()[0]
        return process.returncode, said


@contextmanager
def applied(mutation: Mutation, folder: Path):
    path = folder / mutation.file
    text = path.read_text()
    path.write_text(text.replace(mutation.old, mutation.new))
    yield
    path.write_text(text)


def try_out(folder: Path, mutation: Mutation, simulated: bool) -> tuple[str, str]:
    """The verdict on a mutation, in capitals where it is none to accept, and what pytest said."""
    if (ROOT / mutation.file).read_text().count(mutation.old) != 1:
        return "BROKEN", f"the old text does not occur once in {mutation.file}"
    with applied(mutation, folder):
        code, said = run_pytest(folder, mutation.test, simulated=simulated, limit_s=LIMIT_S)
    if code not in (0, 1, HANGS):
        return "BROKEN", f"pytest ended with {code}:\n{said}"
    if mutation.equivalent:
        return ("equivalent", "") if code == 0 else ("CAUGHT, but it is marked equivalent", said)
    return {0: ("SURVIVED", said), 1: ("caught", ""), HANGS: ("caught, as it hangs", "")}[code]


def simulated_among(tests: list[str], folder: Path) -> set[str]:
    """Those that are marked `simulator`: they are run in it at once. Exits where a test is not there."""
    code, said = run_pytest(folder, "--collect-only", "-m", "simulator", *tests, simulated=False)
    if code not in (0, 5):
        sys.exit(f"{said}\nmutate: a mutation names a test that is not there")
    marked = said.splitlines()
    return {test for test in tests if any(f"{line}[".startswith((f"{test}[", f"{test}::")) for line in marked)}


def has_card() -> bool:
    from numba import cuda

    return cuda.is_available()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="?", default="", help="try only mutations that have this in them")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="how many at a time (2)")
    args = parser.parse_args()
    chosen = [mutation for mutation in MUTATIONS if any(args.text in part for part in mutation[:4])]
    if any(mutation.card for mutation in chosen) and not has_card():
        print(f"left out for want of a card: {sum(mutation.card for mutation in chosen)}")
        chosen = [mutation for mutation in chosen if not mutation.card]
    if not chosen:
        sys.exit(f"mutate: there is nothing to try with {args.text!r} in it")
    tests, folders, started = list(dict.fromkeys(mutation.test for mutation in chosen)), Queue(), time.monotonic()
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(args.jobs) as pool:
        for job in range(args.jobs):
            folders.put(copy_project(Path(temporary, str(job))))

        def in_a_copy(act, *words, **options):
            folder, since = folders.get(), time.monotonic()
            try:
                return *act(folder, *words, **options), time.monotonic() - since
            finally:
                folders.put(folder)

        try:
            simulated = simulated_among(tests, folders.queue[0])
            groups = [t for t in tests if t in simulated], [t for t in tests if t not in simulated]
            for simulator, group in zip((True, False), groups, strict=True):
                code, said, _ = in_a_copy(run_pytest, *group, simulated=simulator) if group else (0, "", 0)
                if code:
                    sys.exit(f"{said}\nmutate: a test fails without any mutation")
            print(f"{len(tests)} tests pass, {time.monotonic() - started:.0f} s", flush=True)
            jobs = [pool.submit(in_a_copy, try_out, m, m.test in simulated) for m in chosen]
            verdicts = Counter()
            for number, (mutation, job) in enumerate(zip(chosen, jobs, strict=True), start=1):
                verdict, said, seconds = job.result()
                verdicts[verdict] += 1
                print(f"{number:3} of {len(chosen)}  {verdict:10} {seconds:5.1f} s  {mutation.label}", flush=True)
                if verdict[0].isupper():
                    print(f"{mutation.test}\n{said}", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    print(f"{counts}: {time.monotonic() - started:.0f} s")
    sys.exit(any(verdict[0].isupper() for verdict in verdicts))


if __name__ == "__main__":
    main()
