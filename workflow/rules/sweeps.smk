SWEPT = {"delta_sweep": ("delta_stepping", "block_apsp"), "stride_sweep": ("bellman_ford", "stride")}


rule measure_sweep:
    input:
        sweep_graph,
    output:
        update("results/{sweep}.csv"),
    log:
        "logs/{sweep}.log",
    wildcard_constraints:
        sweep="|".join(SWEPT),
    conda:
        "../../environment.yml"
    threads: workflow.resource_settings.cores or 1
    resources:
        gpu=1,
        mem_mb=lambda wildcards: settings.memory_mb(config, *swept_cell(wildcards)),
        runtime=lambda wildcards: 10 * settings.runtime_min(config, *swept_cell(wildcards)),
    params:
        dataset=lambda wildcards: sweep_options(wildcards)["dataset"],
        code=lambda wildcards: settings.code(*SWEPT[wildcards.sweep]),
        options=lambda wildcards: json.dumps(sweep_options(wildcards), sort_keys=True),
        protocol=settings.protocol(config),
        commit=untracked(config["commit"]),
    message:
        "Measure {wildcards.sweep} on {params.dataset}"
    shell:
        "python -m workflow.scripts.measure_sweep --sweep {wildcards.sweep} --options {params.options:q} "
        "--graph {input:q} --protocol {params.protocol:q} --commit={params.commit:q} --out {output:q} --log {log:q}"


rule draw_sweep:
    input:
        sweep_measurements,
    output:
        in_report(figure_files("{sweep}"), "beyond", "{sweep}", "sweep", ".svg"),
    log:
        "logs/draw_{sweep}.log",
    wildcard_constraints:
        sweep="|".join(SWEPT),
    localrule: True
    conda:
        "../../environment.yml"
    params:
        source=lambda wildcards: source(f"{wildcards.sweep}.csv"),
    message:
        "Figure {wildcards.sweep}"
    shell:
        "python -m workflow.scripts.draw_sweep --sweep {wildcards.sweep} --measurements {input:q} "
        "--source {params.source:q} --out-dir figures --log {log:q}"


for sweep in SWEPT:

    rule:
        name:
            sweep
        input:
            f"results/{sweep}.csv",
            figure_files(sweep),
