"""Fill the generated parts of README.md and docs/ from the archives; the sentences are in templates/."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd

from kernels.io import atomic
from kernels.registry import ALL_PAIRS_REVISION, VARIANTS
from workflow.judge import batches, claims, verdicts
from workflow.judge.claims import Finding, deciding, outcome
from workflow.publish import reviewers
from workflow.publish.archive import OTHERS
from workflow.publish.documents import fill, from_template, narrow, page_text
from workflow.store import benchmarks, columns, measurements, revisions, tables
from workflow.store.measurements import card, marked, substitutes
from workflow.views import long_table
from workflow.views.extensions import launch_overhead, many_sources_table, peak_table, table6
from workflow.views.paper import audit
from workflow.views.paper.glance import AuditedByCard, claim_by_claim
from workflow.views.render import time_text

README = "README.md"
ROADS = ["nyc", "bay", "col", "fla", "ne", "e"]
GNUTELLA = ["gnutella04", "gnutella25", "gnutella30"]
NEAR_FAR, HIERARCHY, BLOCKED = "delta_stepping/near_far", "hierarchy/sssp", "floyd_warshall/blocked"
# Of Table 6 the findings compare ours, the paper's best, the CPU library and one block per source: a variant of each.
COMPARED = NEAR_FAR, "bellman_ford/stride_flag", "dijkstra/scipy", "edge/sssp"
# Table 6's columns of whole calls, each with the words that precede the names of graphs.
CALLS = {"call median": "from vertex 0 on", "call any source median": "in the median over several sources on"}
ORIGINS = {
    "paper": "the paper's variants",
    "sparry": "SParry's kernels",
    "ours": "our own kernels",
    "library": "the libraries",
}
NEW_ARRAY, SCIPY = benchmarks.BESIDE_SCIPY
PREPARING = "preparing a hierarchy"
CALLS_SHOWN = (  # in docs/library.md; the archive has more kinds of calls
    "first answer of a process, nothing kept",
    "first answer of a process, compiled kernels kept",
    "a solver's shortest_paths",
    "a solver's shortest_paths, left on the card",
    "csgraph.dijkstra, the same array again",
    NEW_ARRAY,
    SCIPY,
    "csgraph.dijkstra, the same array again, weights not whole",
    f"{NEW_ARRAY}, weights not whole",
    f"{SCIPY}, weights not whole",
    PREPARING,
    "a row of distances in a hierarchy, of 128",
    "NetworkX's single_source_dijkstra_path_length",
    "single_source_dijkstra_path_length by the backend, a new graph",
    "single_source_dijkstra_path_length by the backend, the same graph again",
)


def claims_table(audited: AuditedByCard, tolerance: float) -> str:
    """Return the README's table, a row per claim."""
    lines, apart = [], {}
    for of_card in claim_by_claim(audited):
        first = next(iter(of_card.values()))
        line = {
            "Claim": f"{first.claim.number}. {first.claim.claim}",
            "By the paper's tables": whole(first.from_tables),
        }
        for name, one in of_card.items():
            here = claims.disagreeing(one, tolerance)
            apart |= here
            line[name] = whole(one.from_batches) + (" §" if here else "")
        lines.append(line)
    return from_template("claims", table=pd.DataFrame(lines), apart=apart)


def whole(findings: Mapping[str, Finding]) -> str:
    """Return the verdict on a claim, and on how many graphs it is as claimed or undecided if these are not all."""
    words = [finding.verdict for finding in deciding(findings).values()]
    text, undecided = outcome(findings), len(findings) - len(words)
    if text == verdicts.MIXED:
        text = f"as claimed on {words.count(verdicts.CLAIMED)} of {len(findings)} graphs"
    return f"{text} ({undecided} undecided)" if words and undecided else text


def measured_before(rows: pd.DataFrame, key: str) -> list[str]:
    """Return the road networks on which a variant's measurements are of an older revision than today's."""
    today = [revisions.UNKNOWN, revisions.revision_of(VARIANTS[key])]
    older = rows[(measurements.variants(rows) == key) & ~rows["revision"].isin(today)]
    return [name for name in ROADS if name in set(older["dataset"])]


def findings(archive: Path, rows: pd.DataFrame, config: dict) -> str:
    """Return the findings, from the rows of an archive and its other files.

    What was not measured is left out.
    """
    datasets, tolerance = tables.of_config(config), config["audit"]["tolerance"]
    files = {name: measurements.files_of_datasets(archive, kind, datasets) for name, (kind, _) in OTHERS.items()}
    rows, many = measurements.pooled(rows), benchmarks.MANY_SOURCES.read(files["many_sources"])
    table = tables.define(table6.NAME, table6.shown(datasets, rows))
    lines = table6.compare(table, table.select(rows), measurements.load_sweep("sources", files["sources"]))
    beside = _beside_ours(_where(lines, "status == 'ok'"), rows, tolerance)
    roads = _where(many_sources_table.facts(many, rows), f"reduced_sources == vertices and dataset in {ROADS}")
    roads = roads[:: max(len(roads) - 1, 1)]  # the first and the last
    last = roads[-1]["dataset"] if roads else ""
    launches = launch_overhead.compare(long_table.cells_with_times(rows, datasets), rows)
    peak = peak_table.compare(benchmarks.load_peak(files["peak"]), rows)
    one_source = [line for line in beside if line["dataset"] in ROADS]
    calls = library_calls(archive / "library_times.csv")
    others, of_calls = substitutes(rows), substitutes(_library_rows(archive / "library_times.csv"))
    new_array = calls["median"].unstack("what").reindex(columns=[NEW_ARRAY, SCIPY]).dropna()
    preparing = calls[calls.index.get_level_values("what") == PREPARING].droplevel("what")
    lost = {
        where: [line["dataset"] for line in one_source if time in line["cited wins"]] for time, where in CALLS.items()
    }
    on_gpu = rows["driver"] != ""
    return from_template(
        "findings",
        archive=archive.name,
        variants=VARIANTS,
        launches=_where(launches, "dataset == 'nyc' and bound == 'launch-bound'"),
        one_source=one_source,
        lost={where: names for where, names in lost.items() if names},
        all_pairs=[line for line in beside if line["dataset"] in GNUTELLA],
        blocked=_where(peak, f"what == '{long_table.label(BLOCKED)}' and dataset == 'gnutella30'"),
        new_array=list(new_array.itertuples(name=None)),
        roads=roads,
        preparing=preparing.to_dict("index"),
        prepared=_where(lines, f"column == '{HIERARCHY}' and dataset == '{last}' and prepare > 0"),
        changed=measured_before(rows, NEAR_FAR),
        tolerance=tolerance,
        roads_changed=set(many["dataset"][many["revision"].astype(int) < ALL_PAIRS_REVISION]),
        gpus=list(rows["device"][on_gpu].unique()),
        cpus=origins(rows[~on_gpu]),
        libraries=_versions(rows, [COMPARED[2], "dijkstra/networkit_apsp"]),
        substitutes=others,
        calls_on_substitutes=[name for name in of_calls if name not in others],
    )


def _versions(rows: pd.DataFrame, keys: Sequence[str]) -> list[str]:
    """Return the names and versions of the libraries behind these variants."""
    return list(rows["revision"][measurements.variants(rows).isin(keys)].unique())


def _where(table: pd.DataFrame, condition: str) -> list[dict]:
    return table.query(condition).to_dict("records")


def _beside_ours(table: Sequence[dict], rows: pd.DataFrame, tolerance: float) -> list[dict]:
    """Return, by dataset, the rows of Table 6 that the findings compare, with what that table leaves out."""
    regions = {name: batches.medians(part) for name, part in table6.regions(rows).items()}
    directions, heads, lines = verdicts.directions(tolerance), table6.heads(), []
    for dataset in dict.fromkeys(row["dataset"] for row in table):
        programs = {row["who"]: row for row in table if row["dataset"] == dataset}
        ours, best, library, block = (programs.get(heads[key]) for key in COMPARED)
        if not (ours and best and library):
            continue

        def gain(left: dict, right: dict, region: str = "call", dataset=dataset) -> verdicts.Estimate | None:
            return batches.speed_up(regions[region], left["column"], right["column"], dataset)

        together = batches.pairs(regions["call"], library["column"], ours["column"], dataset)["left"].median()
        gains = {region: gain(block, ours, region) for region in ("call", "total") if block}
        words = {region: verdicts.decide(one, directions) for region, one in gains.items() if one}
        by_others = [one for one in programs.values() if pd.isna(one["column"])]
        cited = [one for one in by_others if not one["on card"]]
        on_card = [one for one in by_others if one["on card"]]
        lines.append(
            {"dataset": dataset, "ours": ours, "best": best, "library": library, "block": block}
            | {"library gain": gain(library, best), "gain": gain(ours, best), "library together": together}
            | {"block wins": words.get("total") == "faster", "block told": words.get("call") in ("faster", "slower")}
            | {"cited": min(cited, key=lambda one: one["call median"], default=None)}
            | {"cited on card": min(on_card, key=lambda one: one["kernels median"], default=None)}
            | {"cited wins": [time for time in CALLS if any(one[time] < ours[time] * (1 + tolerance) for one in cited)]}
        )
    return lines


def origins(rows: pd.DataFrame) -> dict[str, list[str]]:
    """Return, by device, the families of variants that ran on it."""
    words = {
        key: ORIGINS[variant.origin] if variant.on_gpu or variant.origin != "paper" else "the paper's CPU variants"
        for key, variant in VARIANTS.items()
    }
    families = measurements.variants(rows).map(words)
    return {device: list(dict.fromkeys(names)) for device, names in families.groupby(rows["device"], sort=False)}


def by_claim(audited: AuditedByCard, undecided: Collection[str] = ()) -> str:
    """Return a table with a row per claim, graphs grouped by verdict; then on which verdicts the cards differ.

    undecided: cards whose archive decides nothing.
    """
    lines = []
    for of_card in claim_by_claim(audited):
        first, *_ = of_card.values()
        line = {"Claim": f"{first.claim.number}. {first.claim.claim}"}
        line["Paper's tables"] = audit.by_verdict(first.from_tables)
        lines.append(line | {name: audit.by_verdict(one.from_batches) for name, one in of_card.items()})
    both, apart = compared(audited)
    return from_template(
        "by_claim", table=pd.DataFrame(lines), cards=list(audited), both=both, apart=apart, undecided=list(undecided)
    )


def compared(audited: AuditedByCard) -> tuple[int, list[str]]:
    """Return how many verdicts all cards decide, and a text for each on which they differ."""
    both, apart = 0, []
    for of_card in claim_by_claim(audited):
        first = next(iter(of_card.values()))
        for dataset in first.from_batches:
            by_card = {name: one.from_batches[dataset] for name, one in of_card.items()}
            if not all(finding.decided for finding in by_card.values()):
                continue
            both += 1
            if len({finding.verdict for finding in by_card.values()}) > 1:
                shared = " (the intervals overlap)" if overlap(by_card.values()) else ""
                words = ", ".join(f"{name} {finding.verdict}" for name, finding in by_card.items())
                apart.append(f"claim {first.claim.number} on {dataset}{shared}: {words}")
    return both, apart


def overlap(of_cards: Collection[Finding]) -> bool:
    """Whether the cards' intervals share a value; false if the strongest competitors differ."""
    estimates = [finding.estimate for finding in of_cards]
    same = len({finding.over for finding in of_cards}) == 1
    return same and max(one.low for one in estimates) <= min(one.high for one in estimates)


def sizes(rows: pd.DataFrame) -> str:
    """Return the sizes of the substitutes, beside those of the paper's graphs."""
    measured_sizes = rows.groupby("dataset")[["vertices", "arcs"]].first()
    graphs = measured_sizes.join(measurements.paper_datasets().add_suffix("_paper"), how="inner")
    names = [name for name in substitutes(rows) if name in graphs.index]
    return from_template("substitutes", substitutes=graphs.loc[names].iterrows())


def _library_rows(path: Path) -> pd.DataFrame:
    return benchmarks.LIBRARY_TIMES.read([path] if path.exists() else [])


def library_calls(path: Path) -> pd.DataFrame:
    """Return what calls of the library take, by (what, dataset): median, min, max, repeats; batches is 1."""
    calls = (
        _library_rows(path).groupby(["what", "dataset"], sort=False)["seconds"].agg(["median", "min", "max", "count"])
    )
    return calls.rename(columns={"count": "repeats"}).assign(batches=1)


def library_times(path: Path) -> str:
    """Return what calls of the library take: a row per kind of call, a column per dataset."""
    if not path.exists():
        return f"Not measured: the archive `{path.parent.name}` has none of it."
    rows = _library_rows(path)
    rows = rows[rows["what"].isin(CALLS_SHOWN)]
    others, calls = substitutes(rows), library_calls(path)
    calls = calls[calls.index.get_level_values("what").isin(CALLS_SHOWN)]
    table = calls["median"].map(time_text).unstack("dataset", fill_value="-", sort=False)
    return from_template(
        "library_times",
        table=table.rename(columns=lambda name: marked(name, others)).rename_axis("What").reset_index(),
        repeats=list(calls["repeats"]),
        archive=path.parent.name,
        days=list(rows["started"].str[:10]),
        substitutes=others,
        commits=[commit[:12] for commit in rows["commit"].unique() if commit],
        **{name: ", ".join(rows[name].unique()) for name in ("device", "driver", "cpu_model")},
    )


def documents(archives: Sequence[Path], config: dict) -> dict[str, dict[str, str]]:
    """Return the content of each marker that depends on archives, by page.

    Tables are of the first archive. Verdicts are of all that decide any claim.
    """
    listed, tolerance = claims.claims(), config["audit"]["tolerance"]
    measured = {path: measurements.load_folder(path, tables.of_config(config)) for path in archives}
    audited = {card(rows): claims.audit(claims.select(rows, listed), listed, tolerance) for rows in measured.values()}
    archive, rows = next(iter(measured.items()))
    mine = audited[card(rows)]
    shown = {
        name: of_card for name, of_card in audited.items() if of_card is mine or any(one.decided for one in of_card)
    }
    of_cards = {name: rows for rows in measured.values() if (name := card(rows)) in shown}
    undecided = [name for name in audited if name not in shown]
    return {
        README: {"claims": claims_table(shown, tolerance)},
        "docs/results.md": {
            "claims": by_claim(shown, undecided),
            "findings": findings(archive, rows, config),
        },
        "docs/data.md": {"substitutes": sizes(rows)},
        "docs/reviewers.md": {"reviewers": reviewers.table(of_cards, mine, config)},
        "docs/library.md": {"library_times": library_times(archive / "library_times.csv")},
    }


def generated(archives: Sequence[str], config: dict) -> dict[str, dict[str, str]]:
    """Return the content of each marker, by page."""
    described = pd.DataFrame([{"column": f"`{one.name}`", "meaning": one.meaning} for one in columns.DEFINED])
    described = described.groupby(described["meaning"].ne("").cumsum()).agg({"column": ", ".join, "meaning": "first"})
    return {
        **documents(list(map(Path, archives)), config),
        "results/archive/README.md": {"columns": narrow(described)},
    }


def filled(generated: dict[str, dict[str, str]], root: Path) -> dict[str, str]:
    """Return the pages below root with their markers filled."""
    pages = {}
    for name, parts in generated.items():
        pages[name] = page_text(root / name)
        for marker, content in parts.items():
            pages[name] = fill(pages[name], marker, content, root / name)
    return pages


def write(generated: dict[str, dict[str, str]], root: Path) -> None:
    """Fill the pages below root, all or none."""
    for name, text in filled(generated, root).items():
        with atomic(root / name, "w") as file:
            file.write(text)
