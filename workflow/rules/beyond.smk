PEAK_CELLS = [cell for cell in PAPER_CELLS if cell[0] == "floyd_warshall" and settings.find(*cell[:2]).beyond]


rule table6:
    input:
        cells=table6_measurements,
        sources=source_measurements(),
    output:
        in_report(table_files("table6"), "beyond", "Table 6", "table6"),
    log:
        "logs/table6.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        source=source(),
    message:
        "Table 6"
    shell:
        "python -m workflow.scripts.table6 --measurements {input.cells:q} --sources {input.sources:q} "
        "--source {params.source:q} --out-dir results --log {log:q}"


rule figure8:
    input:
        table6_measurements,
    output:
        in_report(figure_files("figure8"), "beyond", "Figure 8", "figure", ".svg"),
    log:
        "logs/figure8.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        number=8,
        source=source(),
    message:
        "Figure 8"
    shell:
        "python -m workflow.scripts.figure8 --measurements {input:q} --source {params.source:q} "
        "--out-dir figures --log {log:q}"


# What part of the card's peak blocked Floyd-Warshall reaches.
rule peak_table:
    input:
        cells=measured(PEAK_CELLS),
        peak=kept("peak.csv") if SIMULATING else ["results/peak.csv"],
    output:
        in_report(table_files("peak_table"), "beyond", "Peak", "peak_table"),
    log:
        "logs/peak_table.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        source=source(),
    message:
        "Table peak_table"
    shell:
        "python -m workflow.scripts.peak_table --measurements {input.cells:q} --peak {input.peak:q} "
        "--source {params.source:q} --out-dir results --log {log:q}"
