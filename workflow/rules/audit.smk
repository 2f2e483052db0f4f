rule audit:
    input:
        claims="workflow/paper/claims.csv",
        measurements=measured(plan.claimed_cells(config)),
    output:
        in_report(page_files("claims"), "claims", "Each claim", "claims"),
    log:
        "logs/audit.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        tolerance=config["audit"]["tolerance"],
        source=source(),
    message:
        "Audit the paper's claims"
    shell:
        "python -m workflow.views.audit --claims {input.claims:q} --measurements {input.measurements:q} "
        "--tolerance {params.tolerance:q} --source {params.source:q} --out-dir results --log {log:q}"


rule claims_figure:
    input:
        claims="workflow/paper/claims.csv",
        measurements=measured(plan.claimed_cells(config)),
    output:
        in_report(figure_files("claims"), "claims", "At a glance, drawn", "claims_figure", ".svg"),
    log:
        "logs/claims_figure.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        tolerance=config["audit"]["tolerance"],
        source=source(),
    message:
        "Picture of the paper's claims"
    shell:
        "python -m workflow.views.claims_figure --claims {input.claims:q} --measurements {input.measurements:q} "
        "--tolerance {params.tolerance:q} --source {params.source:q} --out-dir figures --log {log:q}"


rule summary:
    input:
        measured(plan.table_cells(config, *plan.PAPER_TABLES)),
    output:
        in_report(page_files("summary"), "measurements", "Summary", "summary"),
    log:
        "logs/summary.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        source=source(),
    message:
        "Summary of the measured cells"
    shell:
        "python -m workflow.views.summary --measurements {input:q} --source {params.source:q} "
        "--out-dir results --log {log:q}"


# What was measured here beside the archive; it measures nothing.
rule compare:
    input:
        measurements=[str(path.resolve()) for path in plan.measured_files()],
        many=[str(path.resolve()) for path in [Path("results/many_sources.csv")] if path.exists()],
        claims="workflow/paper/claims.csv",
    output:
        in_report(page_files("compare"), "compare", "Beside the archive", "compare"),
    log:
        "logs/compare.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        archive=f"results/archive/{config['archive']}",
        tolerance=config["audit"]["tolerance"],
    message:
        "Compare with the archive"
    shell:
        "python -m workflow.judge.compare --measurements {input.measurements:q} --many-sources {input.many:q} "
        "--archive {params.archive:q} --tolerance {params.tolerance:q} --out-dir results --log {log:q}"


# Takes whatever lies in results/cells/ and results/batches/, and measures nothing, so it has neither input nor output.
rule archive:
    log:
        "logs/archive.log",
    conda:
        "../../environment.yml"
    params:
        default=config["archive"],
        tolerance=config["audit"]["tolerance"],
        datasets=SHOWN,
    message:
        "Keep what was measured in results/archive/"
    shell:
        "python -m workflow.store.archive --cells results/cells --archive results/archive "
        "--default {params.default:q} --tolerance {params.tolerance:q} --datasets {params.datasets:q} --log {log:q}"
