# All pairs as a stream: what each vertex is to all others, without the matrix. A dataset is cut into parts, each a job.
rule all_pairs_shard:
    input:
        graph=all_pairs_graph,
        hierarchy=ancient("resources/graphs/{dataset}.hierarchy.npz"),
    output:
        parquet=update("results/all_pairs/{dataset}/{shards}/{shard}.parquet"),
        json=update("results/all_pairs/{dataset}/{shards}/{shard}.json"),
        sums=update("results/all_pairs/{dataset}/{shards}/{shard}.sums.npy"),
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
        config_digest=untracked(digests.digest(json.dumps(config, sort_keys=True).encode())),
        commit=untracked(config["commit"]),
    message:
        "Search all pairs of {wildcards.dataset}, part {wildcards.shard} of {wildcards.shards}"
    shell:
        "python -m workflow.measure.all_pairs_shard --graph {input.graph:q} --shards {wildcards.shards:q} "
        "--shard {wildcards.shard:q} --sample {params.sample:q} --block {params.block:q} --cores {params.cores:q} "
        "--processes {threads:q} "
        "--config-digest {params.config_digest:q} --commit={params.commit:q} --out {output.parquet:q} --log {log:q}"


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
    shell:
        "python -m workflow.measure.all_pairs_merge --parts {input:q} --out {output.parquet:q} --log {log:q}"


rule all_pairs_table:
    input:
        ALL_PAIRS_RECORDS,
    output:
        in_report(page_files("all_pairs"), "all_pairs", "All pairs", "all_pairs"),
    log:
        "logs/all_pairs_table.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        source=ARCHIVED if ALL_PAIRS_KEPT else MEASURED_HERE,
    message:
        "Table all_pairs"
    shell:
        "python -m workflow.views.all_pairs_table --measurements {input:q} --source {params.source:q} "
        "--out-dir results --log {log:q}"


rule all_pairs_figure:
    input:
        [all_pairs_file(dataset, ".parquet") for dataset in MAPS],
        json=ALL_PAIRS_RECORDS,
        coordinates=[coordinates_file(dataset) for dataset in MAPS],
    output:
        in_report(figure_files("all_pairs"), "all_pairs", "All pairs, drawn", "all_pairs_figure", ".svg"),
    log:
        "logs/all_pairs_figure.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        coordinates=json.dumps({name: {**entry, "file": coordinates_file(name)} for name, entry in MAPS.items()}),
        source=ARCHIVED if ALL_PAIRS_KEPT else MEASURED_HERE,
    message:
        "Figure all_pairs"
    shell:
        "python -m workflow.views.all_pairs_figure --measurements {input.json:q} "
        "--coordinates {params.coordinates:q} --source {params.source:q} --out-dir figures --log {log:q}"


rule all_pairs:
    input:
        needs_all_pairs,
        rules.all_pairs_table.output,
        rules.all_pairs_figure.output,
