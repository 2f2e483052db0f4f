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
            "python -m workflow.scripts.tables --table {params.number} --measurements {input:q} "
            "--source {params.source:q} --out-dir results --log {log:q}"


# The README's tables and rule graph; no output, since README.md is written by hand but for those.
rule readme:
    log:
        "logs/readme.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        archive=f"results/archive/{config['archive']}",
    message:
        "Refresh README.md"
    shell:
        "python -m workflow.scripts.readme --archive {params.archive:q} --log {log:q}"
