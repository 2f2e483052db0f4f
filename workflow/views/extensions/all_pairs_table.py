"""Tabulate diameter, radius and mean distance of each graph, and times: results/all_pairs.csv, .md and .html."""

import pandas as pd

from workflow.store import all_pairs, measurements
from workflow.views import long_table
from workflow.views.context import Context
from workflow.views.render import PREPARING, digits, or_dash

TITLE = "All pairs of road networks"
FACTS = (
    *("dataset", "vertices", "arcs", "diameter", "diameter_from", "diameter_to", "radius", "radius_vertex"),
    *("mean_distance", "connected", "height", "hierarchy_arcs", "triangles", "order_s", "tree_s", "customize_s"),
    *("search_s", "us_a_source", "cards", "hosts", "shards", "rows_checked", "columns_checked", "device", "substitute"),
    "source",
)
NOTES = [
    "Diameter: the largest eccentricity (a vertex's largest distance to a vertex that it reaches), and two vertices at "
    "this distance. Radius: the smallest eccentricity of the vertices that reach the most others, and its vertex. Mean "
    "distance: over all ordered pairs of different vertices with a path.",
    f"{PREPARING} The sources are divided into parts; each part customizes for itself, and the time is the median "
    "over the parts. Search: seconds on the card, without copies, with all results of each source; the sum over the "
    "parts.",
    "Checked before the result is stored: all distances from a sample of sources are compared with SciPy's. If every "
    "arc has a reverse arc of the same weight and all vertices are reached, each vertex's sum of distances to all "
    "others is also compared with the sum of the distances from all others. The search for the latter is not timed.",
]


def facts(wholes: list[dict], source: str) -> pd.DataFrame:
    """Return a row with FACTS for each dataset. Simulated times are NaN."""
    results, parts = pd.DataFrame(wholes)[list(all_pairs.FOUND)], all_pairs.parts(wholes).groupby("dataset")
    rows = parts.first().assign(
        customize_s=parts["customize_s"].median(),
        search_s=parts["search_s"].agg(lambda seconds: seconds.sum(skipna=False)),
        rows_checked=parts["rows_checked"].sum(),
        cards=parts["card_uuid"].agg(lambda uuids: len({*uuids} - {""})),
        hosts=parts["host_id"].nunique(),
        device=parts["device"].agg(lambda names: ", ".join(sorted({*names}))),
        source=source,
    )
    rows["us_a_source"] = rows["search_s"] / rows["vertices"] * 1e6
    return results.astype({"mean_distance": float}).join(rows, on="dataset")[list(FACTS)]


def to_text(rows: pd.DataFrame, substitutes: dict) -> pd.DataFrame:
    def shown(name, form=digits):
        return [or_dash(number, form) for number in rows[name]]

    ends = zip(rows["diameter"], rows["diameter_from"], rows["diameter_to"], strict=True)
    centres = zip(rows["radius"], rows["radius_vertex"], strict=True)
    return pd.DataFrame(
        {
            "Dataset": [measurements.marked(name, substitutes) for name in rows["dataset"]],
            "Vertices": shown("vertices", "{:,}".format),
            "Diameter": [f"{length:,}, {start} to {end}" for length, start, end in ends],
            "Radius": [f"{length:,}, {centre}" for length, centre in centres],
            "Mean distance": shown("mean_distance", lambda value: digits(value) if value < 1000 else f"{value:,.0f}"),
            "Order (s)": shown("order_s"),
            "Tree (s)": shown("tree_s"),
            "Customize (s)": shown("customize_s"),
            "Search (s)": shown("search_s"),
            "µs a source": shown("us_a_source"),
            "Cards": [str(count or "-") for count in rows["cards"]],
            "Parts": shown("shards", str),
        },
        dtype=str,
    )


def notes(parts: pd.DataFrame, source: str) -> list[str]:
    """Return sentences on where the numbers are from, for the table and the figure."""
    return [*measurements.origin(parts, source, {"hierarchy/all_pairs": "all pairs"}), *measurements.run(parts)]


def render_all_pairs_table(rows: pd.DataFrame, context: Context) -> dict[str, str]:
    """Render the table of the records of all pairs."""
    wholes = [all_pairs.read_record(path) for path in context.paths("all_pairs")]
    lines, parts = facts(wholes, context.source), all_pairs.parts(wholes)
    text, said = to_text(lines, measurements.substitutes(parts)), [*NOTES, *notes(parts, context.source)]
    return long_table.files("all_pairs", TITLE, text, lines, said, list(text.columns[1:]))
