for figure, table in PAPER_FIGURES.items():

    rule:
        name:
            figure
        input:
            measured(plan.figure_cells(config, figure, table)),
        output:
            in_report(figure_files(figure), "figures", f"Figure {figure.removeprefix('figure')}", "figure", ".svg"),
        log:
            f"logs/{figure}.log",
        localrule: True
        conda:
            "../../environment.yml"
        params:
            figure=figure,
            number=figure.removeprefix("figure"),
            heads=heads(figure),
            datasets=SHOWN,
            source=source(),
        message:
            "Figure {params.number}"
        shell:
            "python -m workflow.views.figures --figure {params.figure:q} --measurements {input:q} "
            "--datasets {params.datasets:q} --source {params.source:q} --out-dir figures --log {log:q}"
