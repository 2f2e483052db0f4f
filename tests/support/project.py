"""A copy of the project with small datasets, run by Snakemake, and the jobs that it plans.

If only the order of jobs matters, a stub measures: it writes a cell or a job at once, as if the card had no memory.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from tests.support import warm

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "config.yaml", "environment.yml", "profiles", "kernels", "workflow", "results/archive")
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"},
    "NO_PROXY": "127.0.0.1",
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
}
SIMULATOR = {**ENVIRONMENT, "NUMBA_ENABLE_CUDASIM": "1"}
COMPLETE = {"format": "random", "vertices": 5, "arcs": 20, "weights": {"min": 1, "max": 9, "seed": 1}}
DATASETS = {
    "nyc": {
        **{"sources": ["workflow/samples/sample3.txt"], "format": "text", "vertices": 13, "arcs": 32},
        **{"gpu": ["bellman_ford/naive", "bellman_ford/stride_flag"], "cpu": ["bellman_ford"]},
        "tables": {"sssp": ["table1", "table6"]},
    },
    "bay": {**COMPLETE, "gpu": ["bellman_ford/naive"], "tables": {"sssp": ["table1", "table6"]}},
    "gnutella04": {
        **{**COMPLETE, "gpu": ["dijkstra/naive", "floyd_warshall/tiled"], "cpu": ["floyd_warshall/cpu"]},
        "tables": {"apsp": ["table2", "table3", "table6"]},
    },
    "sample1": {**COMPLETE, "simulate": True, "gpu": ["bellman_ford/stride_flag"], "cpu": ["bellman_ford"]},
}
STUB = '''
import json, pathlib, numpy
out, batch = pathlib.Path(snakemake.output.csv), snakemake.wildcards.get("batch", "")
cells = [key.split()[0].split("/") for key in snakemake.params.variants] if batch else [out.parts[-3:-1]]
dataset = snakemake.wildcards.dataset
graph = json.loads(str(numpy.load(snakemake.input[0])["meta"]))
columns = """{columns}""".split(",")
lines, records = [",".join(columns)], {}
for algorithm, variant in cells:
    values = dict(
        algorithm=algorithm, variant=variant, dataset=dataset, batch=batch, round=1, status="no_memory",
        launches=0, vertices=1, arcs=0, needed_bytes=1, rows_checked=0,
        numba_cuda="1", numba="1", numpy="1", revision="1", dataset_sha256=graph["sha256"], started="2026-01-01T00:00Z",
    )
    values |= dict(problem="sssp", source=0) if algorithm == "bellman_ford" else dict(problem="apsp")
    values |= dict(device="the CPU") if variant == "cpu" else dict(device="NVIDIA Stub 1", driver="1", cuda="1")
    lines.append(",".join(str(values.get(name, "")) for name in columns))
    record = dict(algorithm=algorithm, variant=variant, dataset=dataset, protocol=dict(tile=32), graph=graph, card=None)
    record |= dict.fromkeys(("commit", "config_digest", "host", "system", "python", "revision", "settings"), "")
    record |= dict(tree_clean=None, slurm={}, packages={}) | (dict(batch=batch) if batch else {})
    records["/".join(filter(None, (algorithm, variant, dataset, batch)))] = record
out.write_text("\\n".join([*lines, ""]))
beside = out.with_name("provenance.json") if batch else out.with_suffix(".json")
beside.write_text(json.dumps(records if batch else record))
'''


def but_a_few_batches(folder, names):
    """Return what shutil.copytree leaves out, so that archives are read fast: all but three batches of an archive."""
    return sorted(names)[3:] if Path(folder).match("results/archive/*/batches") else []


class Project:
    """A copy of the project in a folder."""

    def __init__(self, folder):
        self.folder = folder

    @classmethod
    def make(cls, folder, datasets=DATASETS, stub=True, mode="cuda", whole_archives=False, **changes):
        """whole_archives: with all their batches. changes: of keys of config.yaml; dictionaries are merged.

        Sweeps run on the first dataset, sources on all; the other targets have no dataset. The batch is called one.
        """
        for part in PARTS:
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, folder / part, ignore=None if whole_archives else but_a_few_batches)
            else:
                shutil.copy2(ROOT / part, folder / part)
        project = cls(folder)
        project.configure(mode=mode, datasets=None, protocol={"batch": "one"})
        first = {"dataset": next(iter(datasets))}
        project.configure(
            datasets=datasets,
            sweeps={
                **{"delta": first, "stride": first, "sources": {"datasets": list(datasets)}},
                "many_sources": {"datasets": []},
            },
            all_pairs={"datasets": []},
        )
        project.configure(**changes)
        if stub:
            from workflow.store.measurements import COLUMNS

            for script in ("measure", "job"):
                path = folder / f"workflow/scripts/{script}.py"
                path.write_text(STUB.replace("{columns}", ",".join(COLUMNS)))
        return project

    def configure(self, **changes):
        def merge(below, above):
            for key, value in above.items():
                both = isinstance(value, dict) and isinstance(below.get(key), dict)
                below[key] = merge(below[key], value) if both else value
            return below

        path = self.folder / "config.yaml"
        changes = json.loads(json.dumps(changes))  # a copy, in which nothing is shared
        path.write_text(yaml.safe_dump(merge(yaml.safe_load(path.read_text()), changes), sort_keys=False))

    def raise_revision(self, variant):
        with open(self.folder / "kernels/registry.py", "a") as file:
            file.write(f"VARIANTS[{variant!r}] = replace(VARIANTS[{variant!r}], revision=99)\n")

    def start(self, *words, environment=ENVIRONMENT):
        return subprocess.Popen(  # SIGINT is ignored in a shell's background jobs, and so in what these start
            ["env", "--default-signal=INT", "snakemake", "--cores", "1", *words],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def snakemake(self, *words, code=0, environment=ENVIRONMENT):
        """Run snakemake, check its exit status, and return its output."""
        ran = warm.run("snakemake", "--cores", "1", *words, cwd=self.folder, env=environment, together=True)
        assert ran.returncode == code, ran.stdout
        return ran.stdout

    def plan(self, *words, environment=ENVIRONMENT):
        """Return the jobs that `snakemake -n` announces, without targets that only name others."""
        said = self.snakemake("-n", *words, environment=environment)
        jobs = re.findall(JOB, said, re.MULTILINE)
        assert len(set(jobs)) == len(jobs) == len(re.findall(r"^Job \d+:", said, re.MULTILINE))
        assert jobs or "Nothing to be done" in said
        return set(jobs)

    def files(self, *folders):
        """Return the bytes of all files that the workflow made, by path relative to the project."""
        made = [
            path for top in folders or ("resources", "results", "figures") for path in (self.folder / top).rglob("*")
        ]
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in made
            if path.is_file() and not re.search(KEPT, str(path))
        }


ONE_WORD = "Check|Legend|Collect|Join|Keep|List|Audit|Picture|Summary|Appendix"
KEPT = r"results/archive/(h200|h100|LICENSE|README.md|SHA256SUMS)"  # in git
JOB = rf"^Job \d+: (Measure \S+ on [^\s,]+(?:, batch \S+)?|(?:Download|Convert|Pack|Table|Figure) \S+|{ONE_WORD})"


def data(*datasets):
    return {f"{verb} {dataset}" for dataset in datasets for verb in ("Convert", "Pack")}


def measured(*cells):
    return {"Measure {}/{} on {}".format(*cell.split("/")) for cell in cells}


def in_batch(*jobs, batch="one"):
    return {"Measure {} on {}, batch {}".format(*job.split("/"), batch) for job in jobs}


TABLE1 = ["bellman_ford/cpu/nyc", "bellman_ford/naive/nyc", "bellman_ford/stride_flag/nyc", "bellman_ford/naive/bay"]
TABLE2 = ["dijkstra/naive/gnutella04"]
TABLE3 = ["floyd_warshall/cpu/gnutella04", "floyd_warshall/tiled/gnutella04"]
OTHERS = ["bellman_ford/cpu/sample1", "bellman_ford/stride_flag/sample1"]
CPU = [cell for cell in (*TABLE1, *TABLE3) if "/cpu/" in cell]  # `protocol.once`: in no job
NYC, BAY, GNUTELLA04 = (in_batch(job) for job in ("sssp/nyc", "sssp/bay", "apsp/gnutella04"))
JOBS = NYC | BAY | GNUTELLA04
ALL = (
    data("nyc", "bay", "gnutella04")
    | JOBS
    | measured(*CPU)
    | {"Table 1", "Table 2", "Table 3", "Figure 5", "Figure 6"}
    | {"Collect", "Audit", "Picture", "Summary", "Appendix", "Legend"}
)
NYC_JOB = "results/batches/one/sssp/nyc/timings.csv"
