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
        gpu_model=settings.gpu_model(on_gpu=True),
        slurm_partition=settings.partition(on_gpu=True),
        mem_mb=16000,
        runtime=15,
    params:
        code=settings.module_code("kernels.fast.peak"),
        vertices=[8192, 32768],
        commit=untracked(config["commit"]),
    message:
        "Measure peak on this card"
    shell:
        "python -m workflow.scripts.peak --vertices {params.vertices:q} --commit={params.commit:q} "
        "--out {output:q} --log {log:q}"
