FIGURE_FORMATS = ("svg", "pdf", "png")
PAPER_FIGURES = {5: 1, 6: 3}  # figure: the table whose first group of columns it draws
FIGURES = PAPER_FIGURES | {7: 4}

for figure, number in FIGURES.items():

    rule:
        name:
            f"figure{figure}"
        input:
            measurements(TABLES[number] | {"groups": TABLES[number]["groups"][:1]}),
        output:
            in_report(
                figure_files(f"figure{figure}"),
                "figures" if figure in PAPER_FIGURES else "beyond",
                f"Figure {figure}",
                "figure",
                ".svg",
            ),
        log:
            f"logs/figure{figure}.log",
        localrule: True
        conda:
            "../../environment.yml"
        params:
            number=figure,
            source=source(),
        message:
            "Figure {params.number}"
        shell:
            "python -m workflow.scripts.figures --figure {params.number:q} --measurements {input:q} "
            "--source {params.source:q} --out-dir figures --log {log:q}"
