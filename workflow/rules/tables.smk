TABLE_FORMATS = ("csv", "md", "tex", "html")
TABLES = settings.TABLES | settings.BEYOND

for number, table in TABLES.items():

    rule:
        name:
            f"table{number}"
        input:
            measurements(table),
        output:
            in_report(
                table_files(f"table{number}"),
                "beyond" if number in settings.BEYOND else "tables",
                f"Table {number}",
                "table",
            ),
        log:
            f"logs/table{number}.log",
        localrule: True
        conda:
            "../../environment.yml"
        params:
            number=number,
            source=source(),
        message:
            "Table {params.number}"
        shell:
            "python -m workflow.scripts.tables --table {params.number:q} --measurements {input:q} "
            "--source {params.source:q} --out-dir results --log {log:q}"


# The generated parts of README.md and docs/; no output, since the rest is written by hand.
rule readme:
    log:
        "logs/readme.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        archive=f"results/archive/{config['archive']}",
    message:
        "Fill the generated parts of README.md and docs/"
    shell:
        "python -m workflow.scripts.readme --archive {params.archive:q} --log {log:q}"
