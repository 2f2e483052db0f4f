"""Fill the generated parts of README.md and docs/ from an archive, between their markers.

python -m workflow.scripts.readme --archive results/archive/h200
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import yaml

from kernels.datasets import atomic
from kernels.errors import InputError
from kernels.variants import VARIANTS
from workflow.lib import measurements, pages, records, step
from workflow.lib import peers as peer_programs
from workflow.lib.documents import facts, families, fill, narrow, page_text, substitutes_table, time_text
from workflow.lib.measurements import substitutes
from workflow.lib.render import CROSS, digits
from workflow.scripts import audit, performance, reviewers

README = "README.md"
# The tables of docs/results.md with their headings, in their order.
RESULTS = {
    "table1": "Table 1: Bellman-Ford on road networks",
    "table2": "Table 2: Dijkstra on Gnutella graphs",
    "table3": "Table 3: Floyd-Warshall on Gnutella graphs",
    "table5": "Table 5: the GPU beside CPU libraries",
    "table6": "Table 6: our fastest beside all others",
    "launch_overhead": "What launching costs",
    "growth": "How times grow with the graph",
    "layouts": "Bellman-Ford on CSR arrays and on an ELL layout",
    "peak_table": "Blocked Floyd-Warshall beside the card's peak",
}
# How the notes begin that docs/results.md says once, at its top, of all tables.
COMMON = re.compile(r"- (From the archive|On |† |Run: |\S+\.txt is generated: )")


def rule_graph() -> str:
    """The rules of a run with a GPU, as a Mermaid diagram; arrows in order, since Snakemake has them in any."""
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--quiet",
        "--forceall",
        "--config",
        "mode=cuda",
        "--rulegraph",
        "mermaid-js",
    ]
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_ENABLE_CUDASIM"}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    lines = [line for line in said[said.index("flowchart") :].strip().splitlines() if "style" not in line]
    lines.sort(key=lambda line: line if "-->" in line else "")
    return "\n".join(["```mermaid", *lines, "```"])


def claims_table(audited: list[audit.Audited], others: dict[str, str], archive: str, tolerance: float) -> str:
    """Markdown: claim, verdicts on the paper's own tables and on ours, and the claim's verdict.

    others: the datasets that are substitutes. tolerance: the audit's.
    """
    legend = (
        "*No difference*: the two times have overlapping intervals or, where there are none, are within "
        f"{100 * tolerance:g} % of each other."
    )
    table = pd.DataFrame(
        [
            {
                "Claim": f"{number}. {one.claim.claim}",
                "The paper's own tables": by_verdict(one.paper),
                "Ours": by_verdict(one.here),
                "Verdict": audit.outcome(one.here)[0],
            }
            for number, one in enumerate(audited, start=1)
        ]
    )
    note = f"Ratios, intervals and the rule of each verdict: [claims.md](results/archive/{archive}/claims.md)."
    if names := [name for name in others if any(name in one.here for one in audited)]:
        note = f"{', '.join(names)} are substitutes for the paper's graphs ([docs/data.md](docs/data.md)). {note}"
    return f"{legend}\n\n{narrow(table)}\n\n{note}"


def by_verdict(findings: dict[str, audit.Finding]) -> str:
    """ "holds: nyc; no difference: bay, col", or "holds: all 6"."""
    found: dict[str, list[str]] = {}
    for dataset, finding in findings.items():
        found.setdefault(finding.verdict, []).append(dataset)
    if len(found) == 1 and len(findings) > 1:
        return f"{next(iter(found))}: all {len(findings)}"
    return "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in found.items())


class Cells:
    """Medians of measured cells, of kernels_s + predecessors_s; a KeyError where one was not measured.

    regions: medians of the paper's timed region. greater: the claims that are not reproduced because every speed-up
    was greater than claimed.
    """

    def __init__(self, rows: pd.DataFrame, audited: list[audit.Audited], peaks: pd.DataFrame):
        ok = rows[rows["status"] == "ok"]
        self.found = measurements.summarise(ok.assign(seconds=ok["kernels_s"] + ok["predecessors_s"]))
        self.regions = measurements.summarise(ok)["median"]
        self.launches = ok.groupby([measurements.variants(ok), "dataset"])["launches"].first()
        self.outcomes = [audit.outcome(one.here)[0] for one in audited]
        self.greater = sum({found.verdict for found in one.here.values()} == {audit.MORE} for one in audited)
        self.substitutes = substitutes(rows)
        self.rates = performance.rates(rows, peaks)

    def seconds(self, key: str, dataset: str) -> float:
        return self.found.loc[(key, dataset), "median"]

    def time(self, key: str, dataset: str) -> str:
        return time_text(self.seconds(key, dataset))

    def repeats(self, *cells: tuple[str, str]) -> str:
        """ "n = 6" or "n = 1 to 6" of all these cells."""
        return f"n = {self.runs(*cells)}"

    def runs(self, *cells: tuple[str, str]) -> str:
        """ "6" or "1 to 6"."""
        counts = sorted({int(self.found.loc[cell, "repeats"]) for cell in cells})
        return " to ".join(map(str, dict.fromkeys([counts[0], counts[-1]])))

    def factors(self, slow: str, fast: str, datasets: list[str]) -> str:
        """ "18.8 to 34.6": how many times longer slow takes, on the datasets where that is least and most."""
        ratios = [self.seconds(slow, dataset) / self.seconds(fast, dataset) for dataset in datasets]
        return between(ratios)

    def factors_of_regions(self, slow: str, fast: str, datasets: list[str]) -> str:
        """The same of the paper's timed region."""
        return between([self.regions[slow, dataset] / self.regions[fast, dataset] for dataset in datasets])


def between(ratios: list[float]) -> str:
    return f"{digits(min(ratios))} to {digits(max(ratios))}"


ROADS = ["nyc", "bay", "col", "fla", "ne", "e"]
GNUTELLA = ["gnutella04", "gnutella25", "gnutella30"]


def _claims(cells: Cells) -> str:
    judged = [outcome for outcome in cells.outcomes if outcome != audit.UNKNOWN]
    if not judged:
        raise KeyError("no claim was measured")
    counts = [judged.count(outcome) for outcome in ("reproduced", "reproduced in part", "not reproduced")]
    whole = [key for key in cells.found.index if VARIANTS[key[0]].family == "paper" and not VARIANTS[key[0]].cuda_graph]
    greater = f", {cells.greater} of these because the speed-up is greater than claimed" if cells.greater else ""
    return (
        "**Of the paper's {} claims {} are reproduced, {} in part and {} not**".format(len(judged), *counts)
        + f"{greater} ({cells.runs(*whole)} runs of each variant on each graph). "
        "Of the paper's variants Stride with Flag and Tiled with Shared Memory are again the fastest. Stride with Flag "
        "gains less over Naive than claimed, the tiled variants gain more, and Stride and Naive hardly differ."
    )


def _launches(cells: Cells) -> str:
    plain, graph = ("bellman_ford/naive", "nyc"), ("bellman_ford/naive_graph", "nyc")
    return (
        "**On small road networks most of the time goes into launching kernels.** Naive Bellman-Ford on nyc † takes "
        f"{cells.time(*plain)} for {cells.launches[plain]:,.0f} launches; the same kernels replayed from CUDA graphs "
        f"take {cells.time(*graph)} ({cells.repeats(plain, graph)}). With a wait after each launch, as in the paper, "
        "a faster kernel makes little difference there."
    )


def _libraries(cells: Cells) -> str:
    best, library = "bellman_ford/stride_flag", "dijkstra/scipy"
    return (
        "**From one source SciPy on a CPU is faster than the paper's best variant** (both measured here). On one core "
        f"it is {cells.factors(best, library, ROADS)} times faster than Stride with Flag on the six road networks † "
        f"({cells.repeats(*((key, dataset) for key in (best, library) for dataset in ROADS))})."
    )


def _one_source(cells: Cells) -> str:
    ours, library = "delta_stepping/near_far", "dijkstra/scipy"
    cited = peer_programs.times()
    cited = cited[cited["dataset"].isin(ROADS) & (cited["source"] == "0") & (cited["host"] == peer_programs.CARD)]
    least, programs = cited.groupby("dataset")["seconds"].min(), cited["program"].unique()
    peers = between([least[dataset] / cells.seconds(ours, dataset) for dataset in ROADS])
    return (
        f"**Our kernel for one source takes milliseconds.** `near_far` takes {cells.time(ours, 'nyc')} on nyc † and "
        f"{cells.time(ours, 'e')} on e † ({cells.repeats(*((ours, dataset) for dataset in ROADS))}): "
        f"{cells.factors(library, ours, ROADS)} times faster than SciPy, {peers} times faster than the fastest of "
        f"{len(programs)} GPU programs whose times are [cited](workflow/paper/peers.csv), not measured here "
        f"({', '.join(programs)})."
    )


def _all_pairs(cells: Cells) -> str:
    ours, best, dense = "bellman_ford/multi_source_apsp", "floyd_warshall/tiled_shared", "floyd_warshall/blocked"
    rate, peak = cells.rates.loc[(dense, "gnutella30")]
    return (
        "**All pairs of a sparse graph take milliseconds too.** `multi_source_apsp` takes "
        f"{cells.time(ours, GNUTELLA[0])} to {cells.time(ours, GNUTELLA[-1])} on the Gnutella graphs "
        f"({cells.repeats(*((ours, dataset) for dataset in GNUTELLA))}), "
        f"{cells.factors(best, ours, GNUTELLA)} times faster than the paper's best variant (with copies "
        f"{cells.factors_of_regions(best, ours, GNUTELLA)} times); `blocked`, for dense graphs, makes "
        f"{digits(rate / 1e12)} {CROSS} 10¹² relaxations a second on gnutella30 "
        f"({cells.repeats((dense, 'gnutella30'))})"
        + ("." if pd.isna(peak) else f", {100 * rate / peak:.0f} % of the card's measured peak.")
    )


FINDINGS: tuple[Callable[[Cells], str], ...] = (_claims, _launches, _libraries, _one_source, _all_pairs)


def findings(rows: pd.DataFrame, audited: list[audit.Audited], peaks: pd.DataFrame) -> str:
    """The findings as a numbered list; one whose cells were not measured is left out. peaks: as peak.csv has them."""
    cells = Cells(rows, audited, peaks)
    on_gpu = rows["driver"] != ""
    gpus = ", ".join(dict.fromkeys(rows["device"][on_gpu]))
    cpus = "; ".join(f"{device} ({', '.join(ran)})" for device, ran in families(rows[~on_gpu]).items())
    said = []
    for finding in FINDINGS:
        try:
            said.append(finding(cells))
        except KeyError:
            continue
    lines = [f"{number}. {text}" for number, text in enumerate(said, start=1)]
    legend = (
        "Times in findings 2 to 5 are medians of n repeats of the search alone, without copies to or from the GPU; "
        "verdicts and Tables 1 to 3 use the paper's timed region, with copies (but for Bellman-Ford's of the graph)"
        f"{f'. GPU: {gpus}' if gpus else ''}{f'. CPU: {cpus}' if cpus else ''}."
    )
    if cells.substitutes:
        legend += " † A [substitute](docs/data.md#the-substitutes): real topology, random lengths"
        legend += "; e is the five others joined." if "e" in cells.substitutes else "."
    legend += " The Gnutella graphs' weights are random too, since the paper's cannot be made again."
    return "\n".join([*lines, "", legend])


def certainty(audited: list[audit.Audited], provenance: dict[str, dict], config: dict) -> str:
    """What the verdicts rest on, and on how many cards they were measured. provenance: as records.read gives it."""
    protocol, tolerance = config["protocol"], config["audit"]["tolerance"]
    judged = [
        (one.claim.left, dataset, finding)
        for one in audited
        for dataset, finding in one.here.items()
        if finding.verdict != audit.UNKNOWN
    ]
    rests = [finding.rests_on for _, _, finding in judged]
    single = sum(finding.repeats == (1, 1) for _, _, finding in judged)
    ids = {cell: record["card"]["before"]["uuid"] for cell, record in provenance.items() if record.get("card")}
    pairs = [(ids.get(f"{left}/{name}"), ids.get(f"{finding.over}/{name}")) for left, name, finding in judged]
    apart = sum(None not in pair and pair[0] != pair[1] for pair in pairs)
    text = (
        "How sure: every result was compared with SciPy's before its time was kept (of all pairs of more than "
        f"{protocol['full_check']:,} vertices {protocol['checked_rows']} rows). A verdict is one claim on one dataset: "
        f"of {len(judged)}, {rests.count('intervals')} rest on {audit.INTERVAL}s ({audit.MIN_REPEATS} repeats or more "
        f"of both variants), {rests.count('tolerance')} on a tolerance of {100 * tolerance:g} %, {single} of "
        "these on a single run of each variant."
    )
    if cards := len(set(ids.values())):
        text += (
            f" The GPU times are of {cards} cards. In {apart} verdicts the two variants ran on different ones; a time "
            f"that is mostly launching may differ by {100 * reviewers.BETWEEN_HOSTS:g} % between two hosts."
        )
    return f"{text} [The method](docs/method.md)."


def results(archive: Path, rows: pd.DataFrame) -> str:
    """docs/results.md's tables: the common facts once, then each table of the archive with the notes of its own."""
    parts = [pages.to_markdown([("ul", facts(rows, archive.name))]), substitutes_table(rows)]
    for name, head in RESULTS.items():
        path = archive / f"{name}.md"
        if path.exists():
            parts.append(f"## {head}\n\n{own_part(page_text(path))}\n")
    return "\n".join(parts)


def own_part(text: str) -> str:
    """A table's Markdown without its title and without the notes that hold for all tables."""
    lines = [line for line in text.strip().splitlines() if not line.startswith("**") and not COMMON.match(line)]
    return "\n".join(_unaligned(line) if line.startswith("|") else line for line in lines).strip()


def _unaligned(line: str) -> str:
    """A line of a Markdown table without the spaces and dashes that align it in an editor."""
    return re.sub(" +", " ", re.sub("-{3,}", "--", line))


def documents(archive: Path, config: dict) -> dict[str, dict[str, str]]:
    """What is generated from an archive: by page, the content of each marker."""
    rows, claims = measurements.load([archive / "timings.csv"]), audit.claims()
    tolerance = config["audit"]["tolerance"]
    audited = audit.audit(audit.select(rows, claims), claims, tolerance)
    peaks = performance.load_peaks(archive / "peak.csv")
    return {
        README: {
            "findings": findings(rows, audited, peaks),
            "certainty": certainty(audited, records.read(archive / records.ARCHIVED), config),
            "claims": claims_table(audited, substitutes(rows), archive.name, tolerance),
        },
        "docs/results.md": {"results": results(archive, rows)},
        "docs/reviewers.md": {"reviewers": reviewers.table(rows, audited, config)},
        **performance.documents(rows, peaks, archive.name),
    }


def write(generated: dict[str, dict[str, str]], root: Path) -> None:
    """Fill the pages below root, all or none."""
    filled = {}
    for name, parts in generated.items():
        text = page_text(root / name)
        for marker, content in parts.items():
            text = fill(text, marker, content, root / name)
        filled[name] = text
    for name, text in filled.items():
        with atomic(root / name, "w") as file:
            file.write(text)


def load_config(path: Path) -> dict:
    """The project's configuration. Raises InputError where the file is no such YAML."""
    try:
        config = yaml.safe_load(path.read_text())
        config["audit"]["tolerance"]
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, TypeError, KeyError) as error:
        raise InputError(f"{path}: not the project's configuration ({error!r})") from None
    return config


def main(args: argparse.Namespace) -> None:
    config = load_config(args.config)
    write({**documents(args.archive, config), "docs/design.md": {"rulegraph": rule_graph()}}, args.root)


if __name__ == "__main__":
    arguments = step.parser(__doc__)
    arguments.add_argument("--archive", type=Path, required=True)
    arguments.add_argument("--root", type=Path, default=Path("."), help="the folder of README.md and docs/")
    arguments.add_argument("--config", type=Path, default=Path("config.yaml"))
    step.run(main, arguments)
