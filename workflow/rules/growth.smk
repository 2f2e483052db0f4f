PAPERS = {
    dataset: problem
    for table in settings.TABLES.values()
    for problem, names in table["datasets"].items()
    for dataset in names
}
PAPER_CELLS = [cell for cell in settings.cells(config) if settings.find(*cell[:2]).problem == PAPERS.get(cell[2])]
KEYS = {"/".join(cell[:2]) for cell in PAPER_CELLS}
# Those of variants that are measured plain or from CUDA graphs, where config names the CUDA-graph variant.
PAIRED_CELLS = [
    (algorithm, variant, dataset)
    for algorithm, variant, dataset in PAPER_CELLS
    if f"{algorithm}/{variant.removesuffix('_graph')}_graph" in KEYS
]


rule launch_overhead:
    input:
        measured(PAIRED_CELLS),
    output:
        in_report(
            table_files("launch_overhead"),
            "beyond",
            "Launch overhead",
            "launch_overhead",
        ),
    log:
        "logs/launch_overhead.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        source=source(),
    message:
        "Table launch_overhead"
    shell:
        "python -m workflow.scripts.launch_overhead --measurements {input:q} --source {params.source:q} "
        "--out-dir results --log {log:q}"


rule growth:
    input:
        measured(PAPER_CELLS),
    output:
        in_report(table_files("growth"), "beyond", "Growth", "growth"),
        in_report(figure_files("growth"), "beyond", "Growth, drawn", "growth", ".svg"),
    log:
        "logs/growth.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        source=source(),
    message:
        "Table growth and its figure"
    shell:
        "python -m workflow.scripts.growth --measurements {input:q} --source {params.source:q} "
        "--out-dir results --figures-dir figures --log {log:q}"
