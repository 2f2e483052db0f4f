FIGURE_FORMATS = ("svg", "pdf", "png")
PAPER_FIGURES = {5: 1, 6: 3}  # figure: the table whose measurements it draws

for figure, number in PAPER_FIGURES.items():

    rule:
        name:
            f"figure{figure}"
        input:
            measurements(number),
        output:
            multiext(f"figures/figure{figure}", *(f".{end}" for end in FIGURE_FORMATS)),
        log:
            f"logs/figure{figure}.log",
        conda:
            "../../environment.yml"
        params:
            number=figure,
            source=source(),
        message:
            "Figure {params.number}"
        shell:
            "python -m workflow.scripts.figures --figure {params.number} --measurements {input:q} "
            "--source {params.source:q} --out-dir figures --log {log:q}"
