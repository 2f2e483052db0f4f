RAW = {raw_name(entry): dataset for dataset, entry in config["datasets"].items() if raw_name(entry)}
ARCHIVES = json.dumps(config["archives"])
DOWNLOAD = json.dumps(config["download"])


def raw_file(wildcards):
    name = raw_name(config["datasets"][wildcards.dataset])
    return f"resources/raw/{name}" if name else []


# A raw file that is already there, by a download or by hand, is checked and used, never overwritten.
rule download:
    output:
        update("resources/raw/{file}"),
    log:
        "logs/download/{file}.log",
    conda:
        "../../environment.yml"
    params:
        dataset=lambda wildcards: RAW[wildcards.file],
        entry=lambda wildcards: settings.identity(config["datasets"][RAW[wildcards.file]]),
    wildcard_constraints:
        file="|".join(map(re.escape, RAW)),
    message:
        "Download {wildcards.file}"
    shell:
        "python -m workflow.scripts.download --dataset {params.dataset} --entry {params.entry:q} "
        "--archives {ARCHIVES:q} --options {DOWNLOAD:q} --out {output:q} --log {log:q}"


rule convert:
    input:
        raw_file,
    output:
        "resources/graphs/{dataset}.txt",
    log:
        "logs/convert/{dataset}.log",
    conda:
        "../../environment.yml"
    params:
        entry=entry,
        raw=lambda wildcards, input: f"--raw {input[0]}" if input else "",
    wildcard_constraints:
        dataset="|".join(config["datasets"]),
    message:
        "Convert {wildcards.dataset} to the paper's text format"
    shell:
        "python -m workflow.scripts.convert --dataset {wildcards.dataset} --entry {params.entry:q} {params.raw} "
        "--out {output:q} --log {log:q}"


rule pack:
    input:
        "resources/graphs/{dataset}.txt",
    output:
        "resources/graphs/{dataset}.npz",
    log:
        "logs/pack/{dataset}.log",
    conda:
        "../../environment.yml"
    params:
        entry=entry,
    wildcard_constraints:
        dataset="|".join(config["datasets"]),
    message:
        "Pack {wildcards.dataset} as CSR arrays"
    shell:
        "python -m workflow.scripts.pack --dataset {wildcards.dataset} --entry {params.entry:q} "
        "--text {input:q} --out {output:q} --log {log:q}"
