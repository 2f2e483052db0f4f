# A rule a table: workflow/paper/tables.yaml names them, kernels/variants.py and config.yaml say what they show.
for name in plan.PAPER_TABLES:

    rule:
        name:
            name
        input:
            measured(plan.table_cells(config, name)),
        output:
            table_output(name),
        log:
            f"logs/{name}.log",
        localrule: True
        conda:
            "../../environment.yml"
        params:
            table=name,
            number=name.removeprefix("table"),
            heads=heads(name),
            datasets=SHOWN,
            source=source(),
        message:
            "Table {params.number}"
        shell:
            "python -m workflow.views.paper_tables --table {params.table:q} --measurements {input:q} "
            "--datasets {params.datasets:q} --source {params.source:q} "
            "--out-dir results --log {log:q}"


rule table6:
    input:
        cells=measured(plan.table_cells(config, "table6"), also=FAMILY_CELLS),
        sources=SOURCES,
        peers=PEERS,
    output:
        table_output("table6"),
    log:
        "logs/table6.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        heads=heads("table6"),
        datasets=SHOWN,
        tolerance=config["audit"]["tolerance"],
        source=source(),
    message:
        "Table 6"
    shell:
        "python -m workflow.views.table6 --measurements {input.cells:q} --sources {input.sources:q} "
        "--datasets {params.datasets:q} --tolerance {params.tolerance:q} --source {params.source:q} --out-dir results "
        "--log {log:q}"


# The generated parts of README.md and docs/; no output, since the rest is written by hand.
rule readme:
    log:
        "logs/readme.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        archives=archives(),
    message:
        "Fill the generated parts of README.md and docs/"
    shell:
        "python -m workflow.views.readme --archives {params.archives:q} --log {log:q}"


rule simulated:
    input:
        "results/simulated.csv",
    output:
        md="results/simulated.md",
        html=in_report(["results/simulated.html"], "batches", "Simulator", "simulated"),
    log:
        "logs/simulated.log",
    conda:
        "../../environment.yml"
    message:
        "List what the simulator checked"
    shell:
        "python -m workflow.views.simulated --cells {input:q} --out {output.md:q} --page {output.html:q} --log {log:q}"
