from kernels.variants import shown_in

FIGURE_FORMATS = ("svg", "pdf", "png")
PAPER_FIGURES = {5: 1, 6: 3}  # figure: the table whose datasets it shows


def figure_cells(figure, table):
    """The cells of config that the figure shows."""
    datasets = TABLES[table]["datasets"]
    shown = {
        (variant.key, dataset)
        for variant in shown_in(f"figure{figure}")
        for dataset in datasets.get(variant.problem, [])
    }
    return [cell for cell in settings.cells(config) if ("/".join(cell[:2]), cell[2]) in shown]


for figure, table in PAPER_FIGURES.items():

    rule:
        name:
            f"figure{figure}"
        input:
            measured(figure_cells(figure, table)),
        output:
            in_report(
                figure_files(f"figure{figure}"),
                "figures",
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
