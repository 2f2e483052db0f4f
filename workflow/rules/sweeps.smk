rule draw_sweep:
    input:
        sweep_measurements,
    output:
        in_report(figure_files("{sweep}"), "extensions", "{sweep}", "sweep", ".svg"),
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
        "python -m workflow.views.draw_sweep --sweep {wildcards.sweep:q} --measurements {input:q} "
        "--source {params.source:q} --out-dir figures --log {log:q}"


for sweep in SWEPT:

    rule:
        name:
            sweep
        input:
            f"results/{sweep}.csv",
            figure_files(sweep),


# Searches from many sources at once in a hierarchy: a file for each dataset, as of the sources.
rule measure_many_sources:
    input:
        graph="resources/graphs/{dataset}.npz",
        hierarchy=ancient("resources/graphs/{dataset}.hierarchy.npz"),
    output:
        update("results/many_sources/{dataset}.csv"),
    log:
        "logs/many_sources/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(config["datasets"]),
    conda:
        "../../environment.yml"
    threads: job_threads()
    resources:
        gpu=1,
        gpu_model=resources.gpu_model(on_gpu=True),
        slurm_partition=resources.partition(on_gpu=True),
        mem_mb=lambda wildcards, threads: resources.all_pairs_mb(config, wildcards.dataset, threads),
        runtime=lambda wildcards: resources.many_sources_min(config, wildcards.dataset),
    params:
        revision=lambda wildcards: revisions.due_by(f"results/many_sources/{wildcards.dataset}.csv")[0],
        options=json.dumps(
            {key: config["sweeps"]["many_sources"][key] for key in ("repeats", "rows_checked", "budget_s")}
        ),
        block=config["protocol"]["block"],
        cores=untracked(kept_cores()),
        commit=untracked(config["commit"]),
    message:
        "Measure many_sources on {wildcards.dataset}"
    shell:
        "python -m workflow.measure.many_sources --graph {input.graph:q} --options {params.options:q} "
        "--block {params.block:q} --cores {params.cores:q} --processes {threads:q} --commit={params.commit:q} "
        "--out {output:q} --log {log:q}"


rule many_sources:
    input:
        needs_many_sources,
    output:
        "results/many_sources.csv",
    log:
        "logs/many_sources.log",
    localrule: True
    conda:
        "../../environment.yml"
    message:
        "Join many_sources"
    shell:
        "python -m workflow.measure.many_sources_merge --measurements {input:q} --out {output:q} --log {log:q}"
