localrules:
    collect,
    simulate,
    simulated,
    archive,


# The one card of profiles/default is this machine's; a cluster has its own count. --resources gpu=4 gives jobs four.
resource_scopes:
    gpu="local",


onerror:
    for path in log:
        for line in resources.advice(Path(path).read_text()):
            logger.error(line)


# A cell that is measured alone: one that is in no job, or again. A timed run on a card has it to itself; one on the CPU
# has all cores of this machine. A rebuilt graph does not make a cell due (ancient); another dataset, protocol or kernel
# does (params).
rule measure:
    input:
        packed_graph,
    output:
        csv=update("results/{place}/{algorithm}/{variant}/{dataset}.csv"),
        json=update("results/{place}/{algorithm}/{variant}/{dataset}.json"),
    log:
        "logs/{place}/{algorithm}/{variant}/{dataset}.log",
    benchmark:
        "logs/{place}/{algorithm}/{variant}/{dataset}.tsv"
    wildcard_constraints:
        place="cells|simulated",
        algorithm="[^/]+",
        variant="[^/]+",
        dataset="[^/]+",
    conda:
        "../../environment.yml"
    threads: cell_threads
    resources:
        gpu=lambda wildcards: int(on_gpu(wildcards)),
        gpu_model=lambda wildcards: resources.gpu_model(on_gpu(wildcards)),
        slurm_partition=lambda wildcards: resources.partition(on_gpu(wildcards)),
        mem_mb=lambda wildcards: resources.memory_mb(config, wildcards.algorithm, wildcards.variant, wildcards.dataset),
        runtime=lambda wildcards: resources.runtime_min(
            config, wildcards.algorithm, wildcards.variant, wildcards.dataset
        ),
    params:
        entry=entry,
        revision=lambda wildcards: revisions.of(find(wildcards.algorithm, wildcards.variant)),
        protocol=lambda wildcards: plan.settings_text(
            plan.protocol_of(config, wildcards.algorithm, wildcards.variant, wildcards.place == "simulated")
        ),
        cores=untracked(kept_cores()),
    message:
        "Measure {wildcards.algorithm}/{wildcards.variant} on {wildcards.dataset}"
    script:
        "../scripts/measure.py"


# All that is compared on one graph, in rounds: a job on one card. A rebuilt graph does not make it due.
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
    conda:
        "../../environment.yml"
    threads: job_threads()
    resources:
        gpu=1,
        gpu_model=resources.gpu_model(on_gpu=True),
        slurm_partition=resources.partition(on_gpu=True),
        mem_mb=lambda wildcards: max(resources.memory_mb(config, *cell) for cell in job_cells(wildcards)),
        runtime=lambda wildcards: sum(resources.runtime_min(config, *cell) for cell in job_cells(wildcards)),
    params:
        entry=entry,
        variants=job_variants,
        protocol=plan.settings_text(plan.protocol_of(config)),
        extensions=plan.settings_text(config["extensions"]),
        cores=untracked(kept_cores()),
    message:
        "Measure {wildcards.problem} on {wildcards.dataset}, batch {wildcards.batch}"
    script:
        "../scripts/job.py"


rule batch:
    input:
        batch_files,


rule collect:
    input:
        places.measured(JOBS, BATCHES, plan.table_cells(config, *plan.PAPER_TABLES)),
    output:
        csv="results/timings.csv",
        json="results/provenance.json",
    log:
        "logs/collect.log",
    conda:
        "../../environment.yml"
    message:
        "Collect all batches and cells"
    script:
        "../scripts/collect.py"


# All in one process, which leaves alone the cells that are of this revision, protocol and graph. A missing cell makes it
# due, and is no output, since Snakemake deletes the outputs of a job that fails. In mode cuda, as on a cluster, each
# cell is a job.
rule simulate:
    input:
        lambda wildcards: needs_source(SIMULATED_CELLS),
        [ancient(f"resources/graphs/{dataset}.npz") for dataset in dict.fromkeys(cell[2] for cell in SIMULATED_CELLS)],
        [places.cell_file(*cell, "simulated") for cell in SIMULATED_CELLS] if config["mode"] == "cuda" else [],
    output:
        "results/simulated.csv",
    log:
        "logs/simulate.log",
    priority: 1
    conda:
        "../../environment.yml"
    params:
        variants=[f"{'/'.join(cell)} {revisions.of(find(cell[0], cell[1]))}" for cell in SIMULATED_CELLS],
        protocol=plan.settings_text(plan.protocol_of(config, simulated=True)),
        extensions=plan.settings_text(config["extensions"]),
        entries={cell[2]: plan.identity(config["datasets"][cell[2]]) for cell in SIMULATED_CELLS},
        missing=sum(
            Path("results/simulated.csv").exists() and not Path(places.cell_file(*cell, "simulated")).exists()
            for cell in SIMULATED_CELLS
        ),
        cores=untracked(0),
    message:
        "Check in the simulator"
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


# Graphs of families, five sizes of each: growth and table6 show what was measured of them.
rule families:
    input:
        families_files,


# Relaxations/s that the card can make, and that blocked Floyd-Warshall makes on dense matrices.
rule peak:
    input:
        lambda wildcards: needs_gpu("peak"),
    output:
        update("results/peak.csv"),
    log:
        "logs/peak.log",
    conda:
        "../../environment.yml"
    threads: workflow.resource_settings.cores or 1
    resources:
        gpu=1,
        gpu_model=resources.gpu_model(on_gpu=True),
        slurm_partition=resources.partition(on_gpu=True),
        mem_mb=16000,
        runtime=15,
    params:
        vertices=[8192, 32768],
    message:
        "Measure peak on this card"
    script:
        "../scripts/peak.py"


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
        revision=ALL_PAIRS_REVISION,
        options=plan.settings_text(
            {key: config["sweeps"]["many_sources"][key] for key in ("repeats", "rows_checked", "budget_s")}
        ),
        block=config["protocol"]["block"],
        cores=untracked(kept_cores()),
    message:
        "Measure many_sources on {wildcards.dataset}"
    script:
        "../scripts/many_sources.py"


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
    script:
        "../scripts/join_many_sources.py"


# All pairs without the matrix: a row for each vertex. The sources of a dataset are divided into parts, each a job.
rule all_pairs_shard:
    input:
        graph=all_pairs_graph,
        hierarchy=ancient("resources/graphs/{dataset}.hierarchy.npz"),
    output:
        update("results/all_pairs/{dataset}/{shards}/{shard}.parquet"),
    log:
        "logs/all_pairs/{dataset}/{shards}/{shard}.log",
    wildcard_constraints:
        dataset="|".join(config["datasets"]),
        shards=r"[1-9]\d*",
        shard=r"[1-9]\d*",
    conda:
        "../../environment.yml"
    threads: job_threads()
    resources:
        gpu=1,
        gpu_model=resources.gpu_model(on_gpu=True),
        slurm_partition=resources.partition(on_gpu=True),
        mem_mb=lambda wildcards, threads: resources.all_pairs_mb(config, wildcards.dataset, threads),
        runtime=lambda wildcards: resources.all_pairs_min(config, wildcards.dataset, int(wildcards.shards)),
    params:
        entry=entry,
        revision=ALL_PAIRS_REVISION,
        sample=config["all_pairs"]["sample"],
        block=config["simulator" if SIMULATING else "protocol"]["block"],
        simulated=SIMULATING,
        cores=untracked(kept_cores()),
    message:
        "Search all pairs of {wildcards.dataset}, part {wildcards.shard} of {wildcards.shards}"
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
    wildcard_constraints:
        dataset="|".join(config["datasets"]),
    localrule: True
    conda:
        "../../environment.yml"
    message:
        "Join all pairs of {wildcards.dataset}"
    script:
        "../scripts/all_pairs_merge.py"
