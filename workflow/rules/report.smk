MEASURED = measured([]) if SIMULATING else ["results/timings.csv"]
APPENDIX = [f"results/{page}.html" for page in ("provenance", "configuration")]


rule appendix:
    input:
        in_report(MEASURED, "measurements", "timings.csv", "timings", "timings.csv"),
        provenance=in_report(
            [str(records.beside(Path(path))) for path in MEASURED],
            "provenance",
            "provenance.json",
            "provenance",
            "provenance.json",
        ),
    output:
        in_report(APPENDIX[:1], "provenance", "Provenance", "provenance"),
        in_report(APPENDIX[1:], "configuration", "Configuration", "configuration"),
    log:
        "logs/appendix.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        config=json.dumps(config),
        source=source(),
    message:
        "Appendix of the report"
    shell:
        "python -m workflow.scripts.appendix --provenance {input.provenance:q} "
        "--config {params.config:q} --source {params.source:q} --out-dir results --log {log:q}"
