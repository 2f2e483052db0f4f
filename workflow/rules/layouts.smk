GENERATED = [dataset for dataset, entry in config["datasets"].items() if "generate" in entry]
GENERATED_CELLS = settings.cells(config, GENERATED) if GENERATED else []
LAYOUT_CELLS = [
    cell
    for cell in settings.cells(config)
    if cell[:2] in [("bellman_ford", "stride"), ("bellman_ford", "stride_ell")] and cell[2] in [*PAPERS, *GENERATED]
]


rule layouts:
    input:
        measured(LAYOUT_CELLS),
    output:
        in_report(table_files("layouts"), "beyond", "Layouts", "layouts"),
    log:
        "logs/layouts.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        source=source(),
    message:
        "Table layouts"
    shell:
        "python -m workflow.scripts.layouts --measurements {input:q} --source {params.source:q} "
        "--out-dir results --log {log:q}"
