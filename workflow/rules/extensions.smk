# What the paper does not have.
COMPARED = plan.compared_cells(config)
GENERATED = [
    dataset for dataset, entry in config["datasets"].items() if "generate" in entry and dataset not in FAMILIES
]
GENERATED_CELLS = plan.cells(config, GENERATED) if GENERATED else []
WITH_GRAPH = {(find(*cell[:2]).plain, cell[2]) for cell in COMPARED if find(*cell[:2]).cuda_graph}
LAUNCH_CELLS = [cell for cell in COMPARED if (find(*cell[:2]).plain, cell[2]) in WITH_GRAPH]
PEAK_CELLS = [cell for cell in COMPARED if "peak_table" in find(*cell[:2]).shown]
MANY_CELLS = [
    cell
    for cell in COMPARED
    if cell[:2] in (SEARCH, ("hierarchy", "sssp")) and cell[2] in config["sweeps"]["many_sources"]["datasets"]
]


rule figure8:
    input:
        cells=measured(plan.table_cells(config, "table6")),
        sources=SOURCES,
        peers=PEERS,
    output:
        in_report(figure_files("figure8"), "extensions", "Figure 8", "figure", ".svg"),
    log:
        "logs/figure8.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        number=8,
        heads=heads("figure8"),
        datasets=SHOWN,
        source=source(),
    message:
        "Figure 8"
    shell:
        "python -m workflow.views.figure8 --measurements {input.cells:q} --sources {input.sources:q} "
        "--datasets {params.datasets:q} --source {params.source:q} --out-dir figures --log {log:q}"


rule launch_overhead:
    input:
        measured(LAUNCH_CELLS),
    output:
        table_output("launch_overhead"),
    log:
        "logs/launch_overhead.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        datasets=SHOWN,
        source=source(),
    message:
        "Table launch_overhead"
    shell:
        "python -m workflow.views.launch_overhead --measurements {input:q} --datasets {params.datasets:q} --source {params.source:q} "
        "--out-dir results --log {log:q}"


rule growth:
    input:
        measured(COMPARED, also=FAMILY_CELLS),
    output:
        table_output("growth"),
        in_report(figure_files("growth"), "extensions", "Growth, drawn", "growth", ".svg"),
    log:
        "logs/growth.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        datasets=SHOWN,
        source=source(),
    message:
        "Table growth and its figure"
    shell:
        "python -m workflow.views.growth --measurements {input:q} --datasets {params.datasets:q} --source {params.source:q} "
        "--out-dir results --figures-dir figures --log {log:q}"


# What part of the card's peak blocked Floyd-Warshall reaches.
rule peak_table:
    input:
        cells=measured(PEAK_CELLS),
        peak=kept("peak.csv") if SIMULATING else ["results/peak.csv"],
    output:
        table_output("peak_table"),
    log:
        "logs/peak_table.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        heads=heads("peak_table"),
        source=source(),
    message:
        "Table peak_table"
    shell:
        "python -m workflow.views.peak_table --measurements {input.cells:q} --peak {input.peak:q} "
        "--source {params.source:q} --out-dir results --log {log:q}"


# What searches from many sources at once take, and from how many on a hierarchy pays.
rule many_sources_table:
    input:
        cells=measured(MANY_CELLS),
        many=MANY_SOURCES,
    output:
        table_output("many_sources_table"),
    log:
        "logs/many_sources_table.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        source=source(),
    message:
        "Table many_sources_table"
    shell:
        "python -m workflow.views.many_sources_table --measurements {input.cells:q} --many-sources {input.many:q} "
        "--source {params.source:q} --out-dir results --log {log:q}"
