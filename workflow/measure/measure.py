"""Measure variants on a packed graph: a CSV row a run, and beside it a JSON of what it ran on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from kernels import libraries, lock
from kernels.errors import InputError, NotInstalled, WrongResult
from kernels.gpu import card
from kernels.graph import Graph
from kernels.io import atomic, writable
from kernels.registry import Variant
from kernels.settings import RunSettings
from workflow.measure import host, rounds
from workflow.measure.provenance import StepContext, provenance
from workflow.store import records, revisions
from workflow.store.columns import COLUMNS
from workflow.store.measurements import schema


def measure(variant: Variant, graph: Path, protocol: dict, out: Path, setting: StepContext) -> None:
    """Measure a variant on a packed graph; write a row a run to `out` and a record beside it."""
    variant.check_installed()
    with reserved_for([variant], out, setting.cores):
        rows, cell_records = make({variant: protocol}, packed(graph), setting)
        publish(rows, cell_records, out, simulated=variant.on_gpu and card.SIMULATED)


@contextmanager
def reserved(out: Path, step: str, cores: int = 0, *, on_card: bool = True) -> Iterator[None]:
    """Keep other processes from the file and, with `on_card`, from a card and its cores (see host.one_card).

    The file is locked because a measurement may outlive the Snakemake that started it.
    Raises InputError if another process measures the file, if no card can be used, and for a WrongResult.
    """
    writable(out)
    with lock.held(out), host.one_card(cores) if on_card else nullcontext():
        if on_card:
            card.require_gpu(step)
        try:
            yield
        except WrongResult as error:
            raise InputError(f"{out}: wrong result, nothing is written: {error}") from None


def reserved_for(variants: Iterable[Variant], out: Path, cores: int) -> AbstractContextManager[None]:
    """Reserve what variants need; raise InputError if simulated rows would be written among measurements."""
    on_gpu = [variant.key for variant in variants if variant.on_gpu]
    if on_gpu and card.SIMULATED and "simulated" not in out.parts:
        raise InputError(f"{out}: a simulated run is not a measurement: unset NUMBA_ENABLE_CUDASIM")
    return reserved(out, next(iter(on_gpu), ""), cores, on_card=bool(on_gpu) and not card.SIMULATED)


def lacking(variants: Iterable[Variant]) -> dict[Variant, str]:
    """Return the variants that cannot run here for lack of a package, each with the reason."""
    reasons = {}
    for variant in variants:
        try:
            variant.check_installed()
        except NotInstalled as error:
            reasons[variant] = str(error)
    return reasons


def packed(path: Path) -> Graph:
    """Load a graph; raise InputError if the rule pack did not make it."""
    graph = Graph.load(path)
    if "sha256" not in graph.meta:
        raise InputError(f"{path}: has no sha256: make it with the rule pack")
    return graph


def make(
    protocols: Mapping[Variant, dict],
    graph: Graph,
    setting: StepContext,
    batch: str = "",
    seed: int = 0,
    kept: Iterable[tuple[str, dict]] = (),
    keep: Callable[[str, dict], None] | None = None,
) -> tuple[list[dict], list[dict]]:
    """Measure the variants in rounds; return the rows with all columns, and a record of each variant.

    protocols: `protocol` of config.yaml for each. seed: of the orders in a round. kept: keys and rows of finished runs,
    which are not measured again. keep: called with the key and row of each run that ends.
    """
    wanted = {variant: rounds.Protocol.of(protocol) for variant, protocol in protocols.items()}
    on_card = any(variant.on_gpu for variant in wanted) and not card.SIMULATED
    known = {
        on_gpu: provenance((*COLUMNS, *records.FIELDS), setting, graph, on_gpu=on_gpu)
        for on_gpu in {variant.on_gpu for variant in wanted}
    }
    before = card.card_state() if on_card else None
    by_key, runs = {variant.key: variant for variant in wanted}, list(kept)
    done = [(by_key[key], row) for key, row in runs]
    for variant, row in rounds.interleave(wanted, graph, seed, done):
        runs.append((variant.key, row | {"commit": known[variant.on_gpu]["commit"]}))
        if keep:
            keep(*runs[-1])
    states = {"before": before, "after": card.card_state()} if on_card else None
    rows, cell_records = [], []
    for variant, protocol in wanted.items():
        common = known[variant.on_gpu] | cell_columns(variant, graph, protocol) | {"batch": batch}
        of_record = common | {"protocol": protocols[variant], "card": states if variant.on_gpu else None}
        cell_records.append({name: of_record[name] for name in records.FIELDS if name != "batch" or batch})
        common = {name: value for name, value in common.items() if name in COLUMNS}
        mine = [row for key, row in runs if key == variant.key]
        rows += [common | row for row in rounds.finished(mine, protocol)]  # kept rows have the commit of their run
    return rows, cell_records


def publish(rows: list[dict], cell_records: list[dict], out: Path, *, simulated: bool) -> None:
    """Check rows and records, then write the CSV and the JSON beside it."""
    text = schema(simulated=simulated).to_csv(rows, out)
    path = records.beside(out)
    for record in cell_records:
        records.check_record(record, path)
    if path.name == records.OF_JOB:
        record_text = records.text({records.name(record): record for record in cell_records}, text)
    else:
        record_text = records.text_of_cell(cell_records[0], text)
    with atomic(out, "w") as csv_file, atomic(path, "w") as json_file:
        csv_file.write(text)
        json_file.write(record_text)


def cell_columns(variant: Variant, graph: Graph, protocol: RunSettings) -> dict:
    """Return the columns that describe a cell: the same in all its rows, beside those of `provenance`."""
    return {
        "algorithm": variant.algorithm,
        "variant": variant.name,
        "problem": variant.problem,
        "source": protocol.source if variant.problem == "sssp" else "",
        **revisions.columns(variant, protocol),
        "cores": "" if variant.on_gpu else libraries.cores() if variant.parallel else 1,
        **(variant.facts(graph, protocol.source) if variant.facts else {}),
    }
