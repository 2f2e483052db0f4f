wildcard_constraints:
    dataset="|".join(config["datasets"]),


# These rules run where Snakemake runs, also on a cluster, since nodes may have no network. Each rule takes a minute at
# most, except for large families.
localrules:
    download,
    convert,
    pack,
    prepare,


# Checks and uses an existing raw file; never overwrites it.
rule download:
    output:
        update("resources/raw/{file}"),
    log:
        "logs/download/{file}.log",
    wildcard_constraints:
        file="|".join(map(re.escape, plan.raw_entries)) or "none",
    params:
        dataset=lambda wildcards: plan.raw_entries[wildcards.file][0],
        entry=lambda wildcards: conditions.identity(plan.raw_entries[wildcards.file][1]),
    message:
        "Download {wildcards.file}"
    script:
        "../scripts/download.py"


rule convert:
    input:
        refused()(plan.raw_file),
    output:
        "resources/graphs/{dataset}.txt",
    log:
        "logs/convert/{dataset}.log",
    params:
        entry=plan.entry,
    message:
        "Convert {wildcards.dataset} to the paper's text format"
    script:
        "../scripts/convert.py"


rule pack:
    input:
        refused()(plan.packed_from),
    output:
        "resources/graphs/{dataset}.npz",
    log:
        "logs/pack/{dataset}.log",
    params:
        entry=plan.entry,
        sha256_of=plan.identified_by,
    message:
        "Pack {wildcards.dataset} as CSR arrays"
    script:
        "../scripts/pack.py"


# Makes the part of a contraction hierarchy that does not depend on weights. Fails if the graph is unfit.
rule prepare:
    input:
        "resources/graphs/{dataset}.npz",
    output:
        "resources/graphs/{dataset}.hierarchy.npz",
    log:
        "logs/prepare/{dataset}.log",
    message:
        "Prepare a hierarchy of {wildcards.dataset}"
    script:
        "../scripts/prepare.py"
