# What the report is made of, and the archives that it shows beside that; a new archive does not make it due.
MEASURED = measured([]) if SIMULATING else ["results/timings.csv"]
BESIDE = [
    folder for folder in archives() if Path(folder, "timings.csv").exists() and f"{folder}/timings.csv" not in MEASURED
]


rule appendix:
    input:
        measurements=MEASURED,
        provenance=[str(records.beside(Path(path))) for path in MEASURED],
        claims="workflow/paper/claims.csv",
    output:
        in_report(["results/glance.csv", "results/glance.html"], "claims", "At a glance", "glance"),
        in_report(["results/batches.html"], "batches", "Batches and hosts", "batches"),
        in_report(["results/provenance.html"], "batches", "Provenance", "provenance"),
        in_report(["results/measurements.zip"], "measurements", "measurements.zip", "measurements", ".zip"),
        in_report(["results/configuration.html"], "configuration", "Configuration", "configuration"),
    log:
        "logs/appendix.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        archives=untracked(BESIDE),
        name="here" if source() == MEASURED_HERE else config["archive"],
        tolerance=config["audit"]["tolerance"],
        config=json.dumps(config),
        source=source(),
    message:
        "Appendix of the report"
    shell:
        "python -m workflow.views.appendix --measurements {input.measurements:q} --provenance {input.provenance:q} "
        "--archives {params.archives:q} --name {params.name:q} --tolerance {params.tolerance:q} "
        "--config {params.config:q} --source {params.source:q} --out-dir results --log {log:q}"


# With --report: all that was made so far. It runs nothing then.
rule made:
    input:
        made_files,
