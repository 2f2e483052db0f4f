# On a cluster too these run where Snakemake runs: its nodes may have no network, and the rest takes a minute at most,
# but for large families.
localrules:
    download,
    convert,
    pack,
    prepare,


# A raw file that is already there, by a download or by hand, is checked and used, never overwritten.
rule download:
    output:
        update("resources/raw/{file}"),
    log:
        "logs/download/{file}.log",
    wildcard_constraints:
        file="|".join(map(re.escape, RAW)) or "none",
    conda:
        "../../environment.yml"
    params:
        dataset=lambda wildcards: RAW[wildcards.file][0],
        entry=lambda wildcards: plan.identity(RAW[wildcards.file][1]),
        archives=untracked(json.dumps(config["archives"])),
        options=untracked(json.dumps(config["download"])),
    message:
        "Download {wildcards.file}"
    shell:
        "python -m workflow.data.download --dataset {params.dataset:q} --entry {params.entry:q} "
        "--archives {params.archives:q} --options {params.options:q} --out {output:q} --log {log:q}"


rule convert:
    input:
        raw_file,
    output:
        "resources/graphs/{dataset}.txt",
    log:
        "logs/convert/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(config["datasets"]),
    conda:
        "../../environment.yml"
    params:
        entry=entry,
        raw=lambda wildcards, input: [f"--raw={path}" for path in input],
    message:
        "Convert {wildcards.dataset} to the paper's text format"
    shell:
        "python -m workflow.data.convert --dataset {wildcards.dataset:q} --entry {params.entry:q} {params.raw:q} "
        "--out {output:q} --log {log:q}"


rule pack:
    input:
        "resources/graphs/{dataset}.txt",
    output:
        "resources/graphs/{dataset}.npz",
    log:
        "logs/pack/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(config["datasets"]),
    conda:
        "../../environment.yml"
    params:
        entry=entry,
    message:
        "Pack {wildcards.dataset} as CSR arrays"
    shell:
        "python -m workflow.data.pack --dataset {wildcards.dataset:q} --entry {params.entry:q} "
        "--text {input:q} --out {output:q} --log {log:q}"


# What a contraction hierarchy needs of the arcs alone. A graph that is not fit ends here.
rule prepare:
    input:
        "resources/graphs/{dataset}.npz",
    output:
        "resources/graphs/{dataset}.hierarchy.npz",
    log:
        "logs/prepare/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(config["datasets"]),
    conda:
        "../../environment.yml"
    message:
        "Prepare a hierarchy of {wildcards.dataset}"
    shell:
        "python -m workflow.data.prepare --graph {input:q} --out {output:q} --log {log:q}"
