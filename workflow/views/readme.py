"""Fill the generated parts of README.md and docs/ from an archive, between their markers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from kernels.io import atomic
from workflow.judge import batches, claims, verdicts
from workflow.judge.batches import ratios
from workflow.judge.claims import Audited, Finding, deciding, outcome
from workflow.judge.verdicts import FEW, INCONCLUSIVE, UNKNOWN
from workflow.store import columns, measurements
from workflow.store import library_times as library_calls
from workflow.store.measurements import card, marked, substitutes
from workflow.views import audit, many_sources_table, pages, performance, reviewers
from workflow.views.documents import facts, fill, narrow, origins, page_text, spread, substitutes_table, time_text
from workflow.views.glance import AuditedByCard as ByCard
from workflow.views.render import CROSS, digits, markdown_text

README = "README.md"
SAME_AS = "the same on"  # before datasets on which a card decides as another does
# The tables of docs/results.md with their headings, in their order.
RESULTS = {
    "table1": "Table 1: Bellman-Ford on road networks",
    "table2": "Table 2: Dijkstra on Gnutella graphs",
    "table3": "Table 3: Floyd-Warshall on Gnutella graphs",
    "table6": "Table 6: our fastest beside all others",
    "launch_overhead": "What launching costs",
    "growth": "How times grow with the graph",
    "peak_table": "Blocked Floyd-Warshall beside the card's peak",
    "many_sources_table": "Searches from many sources in a contraction hierarchy",
    "all_pairs": "All pairs of road networks",
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


def claims_table(audited: ByCard, others: Collection[str], tolerance: float) -> str:
    """Markdown: claim, verdicts on the paper's own tables and on our measurements by card, and the claim's verdict.

    Of each card the datasets that it decides; a card that decides none is not named, unless none does.
    others: the datasets that are substitutes.
    """
    lines, apart = [], {}
    for number, ones in enumerate(zip(*audited.values(), strict=True), start=1):
        of_card = dict(zip(audited, ones, strict=True))
        here = {dataset: where for one in ones for dataset, where in claims.disagreeing(one, tolerance).items()}
        apart |= here
        decide = {name: one for name, one in of_card.items() if one.decided} or of_card
        lines.append(
            {
                "Claim": f"{number}. {ones[0].claim.claim}",
                "The paper's own tables": audit.by_verdict(ones[0].paper),
                f"Ours ({', '.join(audited)})": each(audited, by_card(decide)),
                "Verdict": on_cards(decide) + (" §" if here else ""),
            }
        )
    note = (
        "Only decided datasets are listed. ‡ Without one of the batches it would be undecided or, in the last column, "
        "another verdict. "
        "[Ratios](docs/results.md#the-claims)."
    )
    if apart:
        said = "; ".join(f"on {dataset} {where}" for dataset, where in apart.items())
        note = f"§ The paper's own program lies elsewhere: {said}. {note}"
    named = {name for one in next(iter(audited.values())) for name in one.here}
    if names := [name for name in others if name in named]:
        said = "The road networks" if names == ROADS else ", ".join(names)
        note = f"{said} are [substitutes](docs/data.md) for the paper's. {note}"
    return f"{narrow(pd.DataFrame(lines))}\n\n{note}"


def by_card(of_card: Mapping[str, Audited]) -> dict[str, str]:
    """The verdicts of each card by dataset; of a later card on which datasets they are the first's, where all are."""
    (name, first), *others = of_card.items()
    mine = deciding(first.here)
    said = {name: audit.by_verdict(first.here, decided_only=True)}
    for name, one in others:
        here, found = one.here, deciding(one.here)
        if all(dataset in mine and mine[dataset].verdict == found[dataset].verdict for dataset in found):
            here = here | {dataset: replace(finding, verdict=SAME_AS) for dataset, finding in found.items()}
        said[name] = audit.by_verdict(here, decided_only=True).replace(f"{SAME_AS}:", SAME_AS)
    return said


def on_cards(of_card: Mapping[str, Audited]) -> str:
    """The verdict on a claim; a line of each card where two of them decide a dataset differently."""
    together = claims.agreed(of_card.values())
    return together.counted if together else each(of_card, {name: one.counted for name, one in of_card.items()})


def each(cards: Collection[str], texts: dict[str, str]) -> str:
    """The text of each card, by its name; without names where all of the cards have the same."""
    same: dict[str, list[str]] = {}
    for name, text in texts.items():
        same.setdefault(text, []).append(name)
    if len(next(iter(same.values()))) == len(cards):
        return next(iter(same))
    return "\n".join(f"{', '.join(names)}: {text}" for text, names in same.items())


class Cells:
    """Medians of measured cells, of kernels_s + predecessors_s; a KeyError where one was not measured.

    medians, medians_of_regions: by batch, of these and of the paper's timed region. audited: the claims. many: searches
    from many sources, a row a dataset, as many_sources_table has them.
    """

    def __init__(self, rows: pd.DataFrame, audited: Sequence[Audited], peaks: pd.DataFrame, many: pd.DataFrame):
        ok = measurements.pooled(rows[rows["status"] == "ok"])
        self.found = measurements.summarise(ok.assign(seconds=ok["kernels_s"] + ok["predecessors_s"]))
        self.regions = measurements.summarise(ok)["median"]
        self.medians = batches.medians(ok.assign(seconds=ok["kernels_s"] + ok["predecessors_s"]))
        self.medians_of_regions = batches.medians(ok)
        self.launches = ok.groupby([measurements.variants(ok), "dataset"])["launches"].first()
        self.audited = audited
        self.changed = performance.changed(ok, ok.pipe(measurements.variants).unique())
        self.substitutes = substitutes(rows)
        self.rates = performance.rates(rows, peaks)
        self.many = many_sources_table.facts(many, rows)

    def seconds(self, key: str, dataset: str) -> float:
        return self.found.loc[(key, dataset), "median"]

    def time(self, key: str, dataset: str) -> str:
        return time_text(self.seconds(key, dataset))

    def repeats(self, *cells: tuple[str, str]) -> str:
        """ "3 batches", "3 to 5 batches", or "n = 6" where these cells were measured alone."""
        found = self.found.loc[list(cells)]
        if found["batches"].min() > 0:
            return batches_text(int(found["batches"].min()), int(found["batches"].max()))
        return f"n = {ends(int(found['repeats'].min()), int(found['repeats'].max()))}"

    def together(self, datasets: list[str], *keys: str) -> list[str]:
        """The datasets on which jobs measured all of these variants, in three batches if there are such.

        Raises KeyError where there is none.
        """
        counts = self._jobs(datasets, *keys)
        if not any(counts.values()):
            raise KeyError(f"no job has {', '.join(keys)}")
        enough = [name for name, count in counts.items() if count >= verdicts.MIN_BATCHES]
        return enough or [name for name, count in counts.items() if count]

    def common(self, datasets: list[str], slow: str, fast: str) -> str:
        """ "3 to 5 batches": in how many of these datasets' jobs both were measured."""
        counts = self._jobs(datasets, slow, fast).values()
        return batches_text(min(counts), max(counts))

    def _jobs(self, datasets: list[str], first: str, *others: str) -> dict[str, int]:
        """How many jobs measured all of these variants, by dataset."""
        return {name: min(len(ratios(self.medians, key, first, name)) for key in others) for name in datasets}

    def factors(self, slow: str, fast: str, datasets: list[str]) -> str:
        """ "18.8 to 34.6": how many times longer slow takes, on the datasets where that is least and most."""
        return self._between(self.medians, slow, fast, datasets)

    def factors_of_regions(self, slow: str, fast: str, datasets: list[str]) -> str:
        """The same of the paper's timed region."""
        return self._between(self.medians_of_regions, slow, fast, datasets)

    def _between(self, found: pd.DataFrame, slow: str, fast: str, datasets: list[str]) -> str:
        return between([verdicts.estimate(ratios(found, fast, slow, dataset)).value for dataset in datasets])


def ends(least, most) -> str:
    return " to ".join(dict.fromkeys([str(least), str(most)]))


def batches_text(least: int, most: int) -> str:
    return f"{ends(least, most)} {'batch' if most == 1 else 'batches'}"


def between(factors: list[float]) -> str:
    return f"{digits(min(factors))} to {digits(max(factors))}"


ROADS = ["nyc", "bay", "col", "fla", "ne", "e"]
GNUTELLA = ["gnutella04", "gnutella25", "gnutella30"]


def _claims(cells: Cells) -> str:
    if all(outcome(one.here) == UNKNOWN for one in cells.audited):
        raise KeyError("no claim was measured")
    return f"**{claims.tally(cells.audited)}.**"


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
    roads = cells.together(ROADS, best, library)
    return (
        "**From one source SciPy on a CPU is faster than the paper's best variant.** On one core "
        f"it is {cells.factors_of_regions(best, library, roads)} times faster than Stride with Flag on "
        f"{', '.join(roads)} † ({cells.common(roads, best, library)})."
    )


def _one_source(cells: Cells) -> str:
    ours, library = "delta_stepping/near_far", "dijkstra/scipy"
    roads = cells.together(ROADS, ours, library)
    said = [f"{cells.time(ours, dataset)} on {dataset} †" for dataset in dict.fromkeys([roads[0], roads[-1]])]
    return (
        f"**Our kernel for one source takes milliseconds.** `near_far` takes {' and '.join(said)}, where the graph is "
        "on the card; with the result's copy it is "
        f"{cells.factors_of_regions(library, ours, roads)} times faster than SciPy on {', '.join(roads)} "
        f"({cells.common(roads, library, ours)}). On some, cited programs are as fast or faster on 16 cores of a CPU: "
        "[Table 6](docs/results.md#table-6-our-fastest-beside-all-others)."
        + (" Its launches [were changed](docs/performance/one-source.md) since." if ours in cells.changed else "")
    )


def _all_pairs(cells: Cells) -> str:
    ours, best, dense = "bellman_ford/multi_source_apsp", "floyd_warshall/tiled_shared", "floyd_warshall/blocked"
    rate, _ = cells.rates.loc[(dense, "gnutella30")]
    try:
        graphs = cells.together(GNUTELLA, ours, best)
        faster = (
            f", {cells.factors(best, ours, graphs)} times faster than the paper's best variant, with copies "
            f"{cells.factors_of_regions(best, ours, graphs)} times"
        )
    except KeyError:
        graphs, faster = GNUTELLA, ""
    whole = [time_text(cells.regions[ours, dataset]) for dataset in (graphs[0], graphs[-1])]
    return (
        "**The search of all pairs of a sparse graph takes milliseconds too.** `multi_source_apsp` takes "
        f"{cells.time(ours, graphs[0])} to {cells.time(ours, graphs[-1])} on {', '.join(graphs)} "
        f"({cells.repeats(*((ours, dataset) for dataset in graphs))}){faster}; the whole call takes "
        f"{' to '.join(whole)}, most of it copies of the result. `blocked`, which treats a graph as dense, makes "
        f"{digits(rate / 1e12)} {CROSS} 10¹² relaxations a second on gnutella30 "
        f"({cells.repeats((dense, 'gnutella30'))})."
    )


def _all_pairs_of_roads(cells: Cells) -> str:
    found = cells.many[cells.many["reduced_sources"] == cells.many["vertices"]].set_index("dataset")
    roads = [name for name in ROADS if name in found.index]
    if not roads:
        raise KeyError("all pairs of no road network were measured")
    found = found.loc[list(dict.fromkeys([roads[0], roads[-1]]))]
    took = [
        f"{time_text(seconds)} on {name} † (n = {repeats:.0f})"
        for name, seconds, repeats in zip(found.index, found["all_pairs_s"], found["reduced_repeats"], strict=True)
    ]
    once = " and ".join(map(time_text, found["order_s"] + found["tree_s"]))
    weights = " and ".join(map(time_text, found["customize_s"]))
    return (
        "**All pairs of a road network take seconds, once the network is prepared.** A search from every vertex takes "
        f"{' and '.join(took)}; it finds each vertex's eccentricity and sum of distances, and stores no "
        f"matrix. Preparing the network takes {once} on one core, customizing it for other weights {weights}."
    )


FINDINGS: tuple[Callable[[Cells], str], ...] = (
    *(_claims, _launches, _libraries, _one_source, _all_pairs),
    _all_pairs_of_roads,
)
OF_SEARCHES = _launches, _one_source, _all_pairs, _all_pairs_of_roads  # findings with times of the search alone


def findings(rows: pd.DataFrame, audited: Sequence[Audited], peaks: pd.DataFrame, many: pd.DataFrame) -> str:
    """The findings as a numbered list; one whose cells were not measured is left out.

    peaks, many: as peak.csv and many_sources.csv have them.
    """
    cells = Cells(rows, audited, peaks, many)
    rows = measurements.pooled(rows)
    on_gpu = rows["driver"] != ""
    gpus = ", ".join(dict.fromkeys(rows["device"][on_gpu]))
    cpus = "; ".join(f"{device} ({', '.join(ran)})" for device, ran in origins(rows[~on_gpu]).items())
    said, of_searches = [], []
    for finding in FINDINGS:
        try:
            said.append(finding(cells))
        except KeyError:
            continue
        if finding in OF_SEARCHES:
            of_searches.append(str(len(said)))
    lines = [f"{number}. {text}" for number, text in enumerate(said, start=1)]
    numbers = " and ".join(filter(None, [", ".join(of_searches[:-1]), *of_searches[-1:]]))
    times = (
        f"Times in findings {numbers} leave out copies, unless it says otherwise. They are medians over batches, or "
        "over n runs of a variant measured alone. "
    )
    legend = (
        f"{times if numbers else ''}Factors over SciPy, verdicts and Tables 1 to 3 are of the "
        "[paper's timed region](docs/method.md#how-a-time-is-taken), with its copies"
        f"{f'. GPU: {gpus}' if gpus else ''}{f'. CPU: {cpus}' if cpus else ''}."
    )
    if cells.substitutes:
        legend += " † A [substitute](docs/data.md#the-substitutes): real topology, random lengths"
        legend += "; e is the five others joined." if "e" in cells.substitutes else "."
    legend += " The Gnutella graphs' weights are random too."
    return "\n".join([*lines, "", legend])


def certainty(rows: pd.DataFrame, audited: Sequence[Audited], elsewhere: ByCard) -> str:
    """What the verdicts rest on. rows: as measurements.load gives them; audited: their claims; elsewhere: on others."""
    text = (
        "How sure: every result was checked before its time was kept. In each batch all that a verdict compares ran in "
        "turn on one card. "
    )
    found = [finding for one in audited for finding in one.here.values()]
    decided = decided_of(audited)
    counts = {word: sum(one.verdict == word for one in found) for word in (INCONCLUSIVE, FEW, UNKNOWN)}
    said = [f"{count} {'have' if word == FEW else 'are'} {word}" for word, count in counts.items() if count]
    verdicts_found = f"{len(found)} verdicts (a claim on a dataset)"
    if decided:
        many = f"Of {verdicts_found} {len(decided)}" if said else f"All {verdicts_found}"
        said.insert(0, f"{many} are decided on the {card(rows)}, {rests_on(decided)}")
    else:
        said.insert(0, f"Of {verdicts_found} none is decided")
    for name, others in elsewhere.items():
        both, apart = compared({card(rows): audited, name: others})
        if both:
            alike = f"{both - len(apart)} of them" if apart else "all"
            said.append(f"{both} also on the {name}, {alike} alike, {rests_on(decided_of(others))}")
    return f"{text}{'; '.join(said)}. [The method](docs/method.md)."


def decided_of(audited: Sequence[Audited]) -> list[Finding]:
    return [finding for one in audited for finding in deciding(one.here).values()]


def rests_on(findings: Sequence[Finding]) -> str:
    """ "each by 3 to 5 batches of 2 to 4 hosts": of verdicts."""
    numbers, hosts = zip(*((finding.estimate.batches, len(finding.hosts)) for finding in findings), strict=True)
    of_hosts = f"{ends(min(hosts), max(hosts))} {'host' if max(hosts) == 1 else 'hosts'}"
    return f"each by {batches_text(min(numbers), max(numbers))} of {of_hosts}"


def results(archive: Path, rows: pd.DataFrame) -> str:
    """docs/results.md's tables: the common facts once, then each table of the archive with the notes of its own."""
    parts = [pages.to_markdown([("ul", facts(rows, archive.name))]), substitutes_table(rows)]
    for name, head in RESULTS.items():
        path = archive / f"{name}.md"
        if path.exists():
            parts.append(f"## {head}\n\n{own_part(page_text(path))}\n")
    if (picture := archive / "all_pairs.png").exists():
        parts.append(f"![How far vertices of road networks are from all others](../{picture.as_posix()})\n")
    return "\n".join(parts)


def own_part(text: str) -> str:
    """A table's Markdown without its title and without the notes that hold for all tables."""
    lines = [line for line in text.strip().splitlines() if not line.startswith("**") and not COMMON.match(line)]
    return "\n".join(_unaligned(line) if line.startswith("|") else line for line in lines).strip()


def _unaligned(line: str) -> str:
    """A line of a Markdown table without the spaces and dashes that align it in an editor."""
    return re.sub(" +", " ", re.sub("-{3,}", "--", line))


def documents(archives: Sequence[Path], config: dict) -> dict[str, dict[str, str]]:
    """What is generated from archives: by page, the content of each marker.

    The first is the one that all but the claims are of. Verdicts are shown of the others that decide any.
    """
    listed, tolerance = claims.claims(), config["audit"]["tolerance"]
    measured = {path: measurements.load([path / "timings.csv"]) for path in archives}
    audited = {card(rows): claims.audit(claims.select(rows, listed), listed, tolerance) for rows in measured.values()}
    archive, rows = next(iter(measured.items()))
    mine = audited[card(rows)]
    shown = {name: found for name, found in audited.items() if found is mine or any(one.decided for one in found)}
    undecided = [name for name in audited if name not in shown]
    peaks, many = performance.load_peaks(archive / "peak.csv"), performance.load_many(archive / "many_sources.csv")
    return {
        README: {
            "findings": findings(rows, mine, peaks, many),
            "certainty": certainty(rows, mine, {name: one for name, one in shown.items() if one is not mine}),
            "claims": claims_table(shown, substitutes(rows), tolerance),
        },
        "docs/results.md": {
            "claims": by_claim(shown, substitutes(rows), tolerance, undecided),
            "readings": readings(mine, tolerance),
            "results": results(archive, rows),
        },
        "docs/reviewers.md": {"reviewers": reviewers.table(rows, shown, config)},
        "docs/library.md": {"library_times": library_times(archive / "library_times.csv")},
        **performance.documents(rows, peaks, many, archive.name),
    }


def library_times(path: Path) -> str:
    """Markdown: what calls of the library take, a row a kind of call, a column a dataset."""
    if not path.exists():
        return f"Not measured: the archive `{path.parent.name}` has none of it."
    rows = library_calls.load(path)
    others = substitutes(rows)
    found = rows.groupby(["what", "dataset"], sort=False)["seconds"].agg(["median", "min", "max", "count"])
    found = found.rename(columns={"count": "repeats"}).assign(batches=1)
    cells = found.apply(lambda cell: f"{time_text(cell['median'])}, {spread(cell)}", axis=1)
    table = cells.unstack("dataset", fill_value="-", sort=False).rename(columns=lambda name: marked(name, others))
    devices, drivers, hosts, commits = (
        ", ".join(rows[column].unique()) for column in ("device", "driver", "cpu_model", "commit")
    )
    said = f"Medians, [range] and number of repeats, from the archive `{path.parent.name}`: {devices}, driver {drivers}"
    days = rows["started"].str[:10]
    said += f", in a host with {hosts}, {ends(days.min(), days.max())}, commit {commits[:12]}."
    if others:
        what = "; ".join(f"{name}, {text}" for name, text in others.items())
        said += f" † A [substitute](data.md#the-substitutes): {what}."
    return f"{narrow(table.rename_axis('What').reset_index())}\n\n{said}"


def by_claim(audited: ByCard, others: dict[str, str], tolerance: float, undecided: Collection[str] = ()) -> str:
    """Markdown: a table a claim, with a row a dataset; then which verdicts are the same on all cards.

    undecided: cards with an archive of too few batches for any verdict.
    """
    parts = []
    for number, ones in enumerate(zip(*audited.values(), strict=True), start=1):
        of_card = dict(zip(audited, ones, strict=True))
        first = ones[0]
        lines = []
        for dataset in first.here:
            line = audit.line(first, dataset, others)
            line = {key: line[key] for key in ("Dataset", "Paper's tables", "Paper's program")}
            for name, one in of_card.items():
                said, measured = audit.line(one, dataset, others), one.here[dataset].estimate
                line[f"Ours, {name}"] = f"{said['Ours']}\n**{said['Verdict']}**" if measured else said["Verdict"]
            lines.append(line)
        said = filter(None, (audit.apart(one, tolerance) for one in ones))
        parts += [
            f"### {number}. {first.claim.claim}",
            f"Section {first.claim.section}: {audit.relation_text(first.claim)}. {first.claim.reading}",
            narrow(pd.DataFrame(lines)),
            " ".join([f"Verdict: **{'; '.join(on_cards(of_card).splitlines())}**.", *dict.fromkeys(said)]),
        ]
    if undecided:
        parts.append(f"Too few batches for any verdict so far: {', '.join(undecided)}.")
    return "\n\n".join([*parts, *on_all_cards(audited)])


def readings(audited: Sequence[Audited], tolerance: float) -> str:
    """Markdown: each claim on the paper's own tables, read exactly and as the audit reads them."""
    lines = [
        {
            "Claim": f"{number}. {one.claim.claim}",
            "Ratios of the tables": ", ".join(
                f"{dataset} {audit.value_text(one.claim, finding)}" for dataset, finding in one.paper.items()
            ),
            "Read exactly": audit.by_verdict(
                {dataset: claims.judge_paper(one.claim, dataset, None) for dataset in one.paper}
            ),
            "Read by the audit": audit.by_verdict(one.paper),
        }
        for number, one in enumerate(audited, start=1)
    ]
    said = (
        "Read exactly, a claim of direction holds if the ratio is on the claimed side of 1, and a claimed value if "
        "the ratio equals the number printed or lies in the printed range. "
        f"Read by the audit, a ratio within {100 * tolerance:g} % of 1 is no difference, and a "
        "value may differ by half a unit of its last printed digit (4 to 6 is 3.5 to 6.5). All other tables and "
        "figures have the audit's verdict."
    )
    return f"{said}\n\n{narrow(pd.DataFrame(lines))}"


def on_all_cards(audited: ByCard) -> list[str]:
    """Markdown: the verdicts that several cards share, and those they do not; nothing of one card."""
    if len(audited) < 2:
        return []
    both, apart = compared(audited)
    alike = f"{both - len(apart)} equal, {len(apart)} not:" if apart else "all equal."
    lines = [f"Decided on each card: {both} verdicts, {alike}"]
    if apart:
        lines.append("\n".join(f"- {markdown_text(line)}" for line in apart))
    for name, alone in decided_alone(audited).items():
        said = "; ".join(f"on {dataset} {', '.join(claims)}" for dataset, claims in alone.items())
        number = sum(map(len, alone.values()))
        lines.append(f"Decided on the {name}, but not on each card: {number}. Claims: {said}.")
    return ["### Verdicts on each card", *lines]


def decided_alone(audited: ByCard) -> dict[str, dict[str, list[str]]]:
    """By card and dataset, the numbers of the claims that this card decides there, but not each."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, ones in audited.items():
        for number, (mine, *all_of_them) in enumerate(zip(ones, *audited.values(), strict=True), start=1):
            for dataset in deciding(mine.here):
                if not all(one.here[dataset].decided for one in all_of_them):
                    found.setdefault(name, {}).setdefault(dataset, []).append(str(number))
    return found


def compared(audited: ByCard) -> tuple[int, list[str]]:
    """How many verdicts are decided on all cards; and those of them that differ, a text each."""
    both, apart = 0, []
    for number, ones in enumerate(zip(*audited.values(), strict=True), start=1):
        for dataset in ones[0].here:
            found = {name: one.here[dataset] for name, one in zip(audited, ones, strict=True)}
            if all(finding.decided for finding in found.values()):
                both += 1
                words = {name: finding.verdict for name, finding in found.items()}
                if len(set(words.values())) > 1:
                    shared = " (the intervals overlap)" if overlap(found.values()) else ""
                    apart.append(f"claim {number} on {dataset}{shared}: {each(audited, words)}")
    return both, apart


def overlap(found: Collection[Finding]) -> bool:
    """Whether the intervals of several cards share a value; they do not where the strongest competitors differ."""
    estimates = [finding.estimate for finding in found]
    same = len({finding.over for finding in found}) == 1
    return same and max(one.low for one in estimates) <= min(one.high for one in estimates)


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


def columns_table() -> str:
    """Return Markdown: the columns of timings.csv."""
    return narrow(pd.DataFrame([{"column": f"`{one.name}`", "meaning": one.meaning} for one in columns.DEFINED]))


def generated(archives: Sequence[str], config: dict) -> dict[str, dict[str, str]]:
    """Return the content of each marker, by page."""
    return {
        **documents(list(map(Path, archives)), config),
        "docs/design.md": {"rulegraph": rule_graph(), "columns": columns_table()},
    }
