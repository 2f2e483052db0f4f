MEASURED = measured_before() if SIMULATING else ["results/timings.csv"]
APPENDIX = [f"results/{page}.html" for page in ("times", "provenance", "configuration")]


rule appendix:
    input:
        measurements=in_report(MEASURED, "measurements", "timings.csv", "timings", "timings.csv"),
        provenance=in_report(
            map(provenance_file, MEASURED), "provenance", "provenance.json", "provenance", "provenance.json"
        ),
    output:
        in_report(["results/times.html"], "measurements", "Times", "times"),
        in_report(["results/provenance.html"], "provenance", "Provenance", "provenance"),
        in_report(["results/configuration.html"], "configuration", "Configuration", "configuration"),
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
        "python -m workflow.scripts.appendix --measurements {input.measurements:q} --provenance {input.provenance:q} "
        "--config {params.config:q} --source {params.source:q} --out-dir results --log {log:q}"
