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
        gpu_model=resources.gpu_model(on_gpu=True),
        slurm_partition=resources.partition(on_gpu=True),
        mem_mb=lambda wildcards: resources.memory_mb(config, *swept_cell(wildcards)),
        runtime=lambda wildcards: 10 * resources.runtime_min(config, *swept_cell(wildcards)),
    params:
        sweep=lambda wildcards: wildcards.sweep,
        dataset=lambda wildcards: sweep_options(wildcards)["dataset"],
        revision=lambda wildcards: revisions.of(find(*SWEPT[wildcards.sweep])),
        options=lambda wildcards: plan.settings_text(sweep_options(wildcards)),
        protocol=plan.settings_text(plan.protocol_of(config)),
        cores=untracked(0),
    message:
        "Measure {wildcards.sweep} on {params.dataset}"
    script:
        "../scripts/sweep.py"


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


# Searches from each of many sources: a file for each dataset, so that a stopped run continues where it was.
rule measure_sources:
    input:
        "resources/graphs/{dataset}.npz",
    output:
        update("results/sources/{dataset}.csv"),
    log:
        "logs/sources/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(config["datasets"]),
    conda:
        "../../environment.yml"
    threads: job_threads()
    resources:
        gpu=1,
        gpu_model=resources.gpu_model(on_gpu=True),
        slurm_partition=resources.partition(on_gpu=True),
        mem_mb=lambda wildcards: resources.memory_mb(config, *SEARCH, wildcards.dataset),
        runtime=lambda wildcards: 2 * resources.runtime_min(config, *SEARCH, wildcards.dataset),
    params:
        sweep="sources",
        revision=revisions.of(find(*SEARCH)),
        options=plan.settings_text({key: config["sweeps"]["sources"][key] for key in ("count", "repeats", "seed")}),
        protocol=plan.settings_text(plan.protocol_of(config)),
        cores=untracked(kept_cores()),
    message:
        "Measure sources on {wildcards.dataset}"
    script:
        "../scripts/sweep.py"


rule sources:
    input:
        needs_sources,
    output:
        "results/sources.csv",
    log:
        "logs/sources.log",
    localrule: True
    conda:
        "../../environment.yml"
    message:
        "Join sources"
    script:
        "../scripts/join_sources.py"


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
