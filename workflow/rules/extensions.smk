# Sweeps, searches from many sources, the card's peak rate and all pairs: what the paper does not have.
from kernels.registry import ALL_PAIRS_REVISION, find
from workflow.store import revisions


rule measure_sweep:
    input:
        refused()(plan.sweep_graph),
    output:
        update("results/{sweep}.csv"),
    log:
        "logs/{sweep}.log",
    wildcard_constraints:
        sweep="|".join(SWEPT),
    threads: plan.cores
    resources:
        **ON_CARD,
        mem_mb=plan.sweep_memory,
        runtime=refused()(plan.sweep_minutes),
    params:
        sweep=lambda wildcards: wildcards.sweep,
        dataset=lambda wildcards: plan.swept(wildcards.sweep).dataset,
        revision=lambda wildcards: plan.swept(wildcards.sweep).revision,
        options=lambda wildcards: plan.sweep_options(wildcards.sweep),
        protocol=PROTOCOL,
        cores=untracked(0),
        request=plan.request,
    message:
        "Measure {wildcards.sweep} on {params.dataset}{params.request}"
    script:
        "../scripts/sweep.py"


# Measures searches from many sources, one after the other. Each dataset has its own file, so an interrupted run can
# continue.
rule measure_sources:
    input:
        refused()(lambda wildcards: plan.graph_on_card("sources", wildcards.dataset)),
    output:
        update("results/sources/{dataset}.csv"),
    log:
        "logs/sources/{dataset}.log",
    threads: plan.job_threads
    resources:
        **ON_CARD,
        mem_mb=plan.sources_memory,
        runtime=refused()(plan.sources_minutes),
    params:
        sweep="sources",
        revision=revisions.revision_of(find(*SEARCH)),
        options=plan.sweep_options("sources", "count", "repeats", "seed"),
        protocol=PROTOCOL,
        cores=untracked(plan.kept_cores),
        request=plan.request,
    message:
        "Measure sources on {wildcards.dataset}{params.request}"
    script:
        "../scripts/sweep.py"


# Measures searches from many sources at once in a hierarchy.
rule measure_many_sources:
    input:
        graph=refused()(lambda wildcards: plan.graph_on_card("many_sources", wildcards.dataset)),
        hierarchy=ancient("resources/graphs/{dataset}.hierarchy.npz"),
    output:
        update("results/many_sources/{dataset}.csv"),
    log:
        "logs/many_sources/{dataset}.log",
    threads: plan.job_threads
    resources:
        **ON_CARD,
        mem_mb=plan.all_pairs_memory,
        runtime=refused()(plan.many_sources_minutes),
    params:
        revision=ALL_PAIRS_REVISION,
        options=plan.sweep_options("many_sources", "repeats", "rows_checked", "budget_s"),
        block=config["protocol"]["block"],
        cores=untracked(plan.kept_cores),
        request=plan.request,
    message:
        "Measure many_sources on {wildcards.dataset}{params.request}"
    script:
        "../scripts/many_sources.py"


rule sources:
    input:
        refused()(plan.needs_sources),


rule many_sources:
    input:
        refused()(plan.needs_many_sources),


# Measures the card's peak rate of relaxations, and the rate of blocked Floyd-Warshall on dense matrices.
rule peak:
    input:
        refused()(plan.needs_peak),
    output:
        update("results/peak.csv"),
    log:
        "logs/peak.log",
    threads: plan.cores
    resources:
        **ON_CARD,
        mem_mb=16000,
        runtime=15,
    params:
        vertices=[8192, 32768],
        request=plan.request,
    message:
        "Measure peak on this card{params.request}"
    script:
        "../scripts/peak.py"


# Searches all pairs from one part of the sources, without storing the matrix. The result has a row for each vertex.
rule all_pairs_shard:
    input:
        graph=refused()(plan.all_pairs_graph),
        hierarchy=ancient("resources/graphs/{dataset}.hierarchy.npz"),
    output:
        update("results/all_pairs/{dataset}/{shards}/{shard}.parquet"),
    log:
        "logs/all_pairs/{dataset}/{shards}/{shard}.log",
    threads: plan.job_threads
    resources:
        **ON_CARD,
        mem_mb=plan.all_pairs_memory,
        runtime=refused()(plan.all_pairs_minutes),
    params:
        revision=ALL_PAIRS_REVISION,
        sample=config["all_pairs"]["sample"],
        block=config["simulator" if plan.simulating else "protocol"]["block"],
        simulated=plan.simulating,
        cores=untracked(plan.kept_cores),
        request=plan.request,
    message:
        "Search all pairs of {wildcards.dataset}, part {wildcards.shard} of {wildcards.shards}{params.request}"
    script:
        "../scripts/all_pairs_shard.py"


rule all_pairs_merge:
    input:
        plan.all_pairs_parts,
    output:
        parquet="results/all_pairs/{dataset}.parquet",
        json="results/all_pairs/{dataset}.json",
    log:
        "logs/all_pairs/{dataset}.log",
    localrule: True
    message:
        "Join all pairs of {wildcards.dataset}"
    script:
        "../scripts/all_pairs_merge.py"


for sweep in SWEPT:

    rule:
        name:
            sweep
        input:
            f"results/{sweep}.csv",
            catalogue.BY_NAME[f"draw_{sweep}"].outputs,


rule all_pairs:
    input:
        refused()(view_inputs.needs_all_pairs),
        rules.all_pairs_table.output,
        rules.all_pairs_figure.output,


rule extensions:
    input:
        [catalogue.BY_NAME[name].outputs for name in ("table6", "table7", "figure8", "launch_overhead")],
        [catalogue.BY_NAME[name].outputs for name in ("growth", "peak_table")],
        [catalogue.BY_NAME[f"draw_{sweep}"].outputs for sweep in SWEPT],
        rules.many_sources_table.output if view_inputs.many_sources else [],
        rules.all_pairs_table.output if view_inputs.all_pairs else [],
        view_inputs.measured(view_inputs.generated_cells()),
