localrules:
    collect,
    simulate,


# profiles/default allows one card on this machine. A cluster counts its own cards. With --resources gpu=4, four jobs
# run at once, each on its own card.
resource_scopes:
    gpu="local",


onerror:
    for path in log:
        for line in resources.advice(Path(path).read_text(encoding="utf-8", errors="replace")):
            logger.error(line)


# Measures one cell alone. A GPU variant has a card to itself, a CPU variant has all cores. A rebuilt graph does not
# make a cell due (ancient). A changed dataset entry, protocol or revision makes the cell due (params).
rule measure:
    input:
        cell_graph,
    output:
        csv=update("results/{folder}/{algorithm}/{variant}/{dataset}.csv"),
        json=update("results/{folder}/{algorithm}/{variant}/{dataset}.json"),
    log:
        "logs/{folder}/{algorithm}/{variant}/{dataset}.log",
    benchmark:
        "logs/{folder}/{algorithm}/{variant}/{dataset}.tsv"
    wildcard_constraints:
        folder="cells|simulated",
        algorithm="[^/]+",
        variant="[^/]+",
        dataset="[^/]+",
    threads: cell_threads
    resources:
        gpu=of_device("gpu"),
        gpu_model=of_device("gpu_model"),
        gres=of_device("gres"),
        slurm_extra=of_device("slurm_extra"),
        slurm_partition=of_device("slurm_partition"),
        mem_mb=lambda wildcards: resources.memory_mb(config, *cell_of(wildcards)),
        runtime=lambda wildcards: resources.runtime_min(config, *cell_of(wildcards)),
    params:
        entry=entry,
        revision=lambda wildcards: cell_of(wildcards).revision,
        protocol=lambda wildcards: plan.settings_text(
            plan.protocol_of(config, wildcards.algorithm, wildcards.variant, wildcards.folder == "simulated")
        ),
        cores=untracked(kept_cores()),
        request=request_or_limit,
    message:
        "Measure {wildcards.algorithm}/{wildcards.variant} on {wildcards.dataset}{params.request}"
    script:
        "../scripts/measure.py"


# Measures all cells that are compared on one graph, in rounds on one card. A rebuilt graph does not make a job due.
rule job:
    input:
        job_graph,
    output:
        csv=update("results/batches/{batch}/{problem}/{dataset}/timings.csv"),
        json=update("results/batches/{batch}/{problem}/{dataset}/provenance.json"),
    log:
        "logs/batches/{batch}/{problem}/{dataset}.log",
    wildcard_constraints:
        batch="[^/]+",
        problem="sssp|apsp",
        dataset="[^/]+",
    priority: job_priority
    threads: job_threads()
    resources:
        **ON_GPU,
        mem_mb=lambda wildcards: max(resources.memory_mb(config, *cell) for cell in job_cells(wildcards)),
        runtime=lambda wildcards: sum(resources.runtime_min(config, *cell) for cell in job_cells(wildcards)),
    params:
        entry=entry,
        variants=lambda wildcards: [revisions.planned(cell.registered) for cell in job_cells(wildcards)],
        protocol=plan.settings_text(plan.protocol_of(config)),
        extensions=plan.settings_text(config["extensions"]),
        cores=untracked(kept_cores()),
        request=request_or_limit,
    message:
        "Measure {wildcards.problem} on {wildcards.dataset}, batch {wildcards.batch}{params.request}"
    script:
        "../scripts/job.py"


rule batch:
    input:
        batch_files,


# Measures all sizes of the families, which growth and table6 show.
rule families:
    input:
        families_files,


rule collect:
    input:
        paths.measured(JOBS, BATCHES, plan.table_cells(config, *plan.PAPER_TABLES)),
    output:
        "results/timings.csv",
    log:
        "logs/collect.log",
    message:
        "Collect all batches and cells"
    script:
        "../scripts/collect.py"


# Checks all cells in one process, except cells that were already checked with this revision, protocol and graph. The
# cells' files are not declared as outputs, since Snakemake deletes the outputs of a job that fails. If
# NUMBA_ENABLE_CUDASIM=1 requests the simulator although the mode is cuda, the rule `measure` checks each cell in a job
# of its own.
rule simulate:
    input:
        simulated_graphs,
        [paths.cell_file(*cell, "simulated") for cell in SIMULATED_CELLS] if config["mode"] == "cuda" else [],
    output:
        "results/simulated.csv",
    log:
        "logs/simulate.log",
    priority: 1
    params:
        variants=[f"{'/'.join(cell)} {cell.revision}" for cell in SIMULATED_CELLS],
        protocol=plan.settings_text(plan.protocol_of(config, simulated=True)),
        extensions=plan.settings_text(config["extensions"]),
        entries={cell.dataset: plan.identity(config["datasets"][cell.dataset]) for cell in SIMULATED_CELLS},
        cores=untracked(0),
    message:
        "Check all variants on small graphs in the simulator"
    script:
        "../scripts/simulate.py"


rule measure_sweep:
    input:
        sweep_graph,
    output:
        update("results/{sweep}.csv"),
    log:
        "logs/{sweep}.log",
    wildcard_constraints:
        sweep="|".join(SWEPT),
    threads: all_cores()
    resources:
        **ON_GPU,
        mem_mb=lambda wildcards: resources.memory_mb(config, *SWEPT[wildcards.sweep]),
        runtime=lambda wildcards: 10 * resources.runtime_min(config, *SWEPT[wildcards.sweep]),
    params:
        sweep=lambda wildcards: wildcards.sweep,
        dataset=lambda wildcards: SWEPT[wildcards.sweep].dataset,
        revision=lambda wildcards: SWEPT[wildcards.sweep].revision,
        options=lambda wildcards: options_text(wildcards.sweep),
        protocol=plan.settings_text(plan.protocol_of(config)),
        cores=untracked(0),
        request=request,
    message:
        "Measure {wildcards.sweep} on {params.dataset}{params.request}"
    script:
        "../scripts/sweep.py"


# Measures searches from many sources, one after the other. Each dataset has its own file, so an interrupted run can
# continue.
rule measure_sources:
    input:
        graph_file("{dataset}"),
    output:
        update("results/sources/{dataset}.csv"),
    log:
        "logs/sources/{dataset}.log",
    threads: job_threads()
    resources:
        **ON_GPU,
        mem_mb=lambda wildcards: resources.memory_mb(config, *SEARCH, wildcards.dataset),
        runtime=lambda wildcards: 2 * resources.runtime_min(config, *SEARCH, wildcards.dataset),
    params:
        sweep="sources",
        revision=revisions.of(find(*SEARCH)),
        options=options_text("sources", "count", "repeats", "seed"),
        protocol=plan.settings_text(plan.protocol_of(config)),
        cores=untracked(kept_cores()),
        request=request,
    message:
        "Measure sources on {wildcards.dataset}{params.request}"
    script:
        "../scripts/sweep.py"


# Measures searches from many sources at once in a hierarchy.
rule measure_many_sources:
    input:
        graph=graph_file("{dataset}"),
        hierarchy=ancient("resources/graphs/{dataset}.hierarchy.npz"),
    output:
        update("results/many_sources/{dataset}.csv"),
    log:
        "logs/many_sources/{dataset}.log",
    threads: job_threads()
    resources:
        **ON_GPU,
        mem_mb=lambda wildcards: resources.all_pairs_mb(config, wildcards.dataset),
        runtime=lambda wildcards: resources.many_sources_min(config, wildcards.dataset),
    params:
        revision=ALL_PAIRS_REVISION,
        options=options_text("many_sources", "repeats", "rows_checked", "budget_s"),
        block=config["protocol"]["block"],
        cores=untracked(kept_cores()),
        request=request,
    message:
        "Measure many_sources on {wildcards.dataset}{params.request}"
    script:
        "../scripts/many_sources.py"


rule sources:
    input:
        needs_sources,


rule many_sources:
    input:
        needs_many_sources,


# Measures the card's peak rate of relaxations, and the rate of blocked Floyd-Warshall on dense matrices.
rule peak:
    input:
        lambda wildcards: needs_gpu("peak"),
    output:
        update("results/peak.csv"),
    log:
        "logs/peak.log",
    threads: all_cores()
    resources:
        **ON_GPU,
        mem_mb=16000,
        runtime=15,
    params:
        vertices=[8192, 32768],
        request=request,
    message:
        "Measure peak on this card{params.request}"
    script:
        "../scripts/peak.py"


# Searches all pairs from one part of the sources, without storing the matrix. The result has a row for each vertex.
rule all_pairs_shard:
    input:
        graph=all_pairs_graph,
        hierarchy=ancient("resources/graphs/{dataset}.hierarchy.npz"),
    output:
        update("results/all_pairs/{dataset}/{shards}/{shard}.parquet"),
    log:
        "logs/all_pairs/{dataset}/{shards}/{shard}.log",
    threads: job_threads()
    resources:
        **ON_GPU,
        mem_mb=lambda wildcards: resources.all_pairs_mb(config, wildcards.dataset),
        runtime=lambda wildcards: resources.all_pairs_min(config, wildcards.dataset, int(wildcards.shards)),
    params:
        revision=ALL_PAIRS_REVISION,
        sample=config["all_pairs"]["sample"],
        block=config["simulator" if SIMULATING else "protocol"]["block"],
        simulated=SIMULATING,
        cores=untracked(kept_cores()),
        request=request,
    message:
        "Search all pairs of {wildcards.dataset}, part {wildcards.shard} of {wildcards.shards}{params.request}"
    script:
        "../scripts/all_pairs_shard.py"


rule all_pairs_merge:
    input:
        all_pairs_parts,
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
