# What a user of the library waits for.


rule library_times:
    input:
        needs_library_times,
    output:
        update("results/library_times.csv"),
    log:
        "logs/library_times.log",
    conda:
        "../../environment.yml"
    threads: job_threads()
    resources:
        gpu=1,
        gpu_model=resources.gpu_model(on_gpu=True),
        slurm_partition=resources.partition(on_gpu=True),
        mem_mb=resources.library_mb(config),
        runtime=resources.library_min(config),
    params:
        networkx=graph_file(config["library_times"]["networkx"]) if config["library_times"]["networkx"] else "",
        cores=untracked(kept_cores()),
        commit=untracked(config["commit"]),
    message:
        "Measure library_times on this card"
    shell:
        "python -m workflow.scripts.library_times --graphs {input:q} --networkx={params.networkx:q} "
        "--cores {params.cores:q} --commit={params.commit:q} --out {output:q} --log {log:q}"
