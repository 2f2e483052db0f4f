localrules:
    collect,
    simulate,


# profiles/default allows one card on this machine. A cluster counts its own cards. With --resources gpu=4, four jobs
# run at once, each on its own card.
resource_scopes:
    gpu="local",


onerror:
    for path in log:
        for line in allocation.advice(Path(path).read_text(encoding="utf-8", errors="replace")):
            logger.error(line)


# Measures one cell alone. A GPU variant has a card to itself, a CPU variant has all cores. A graph made again does not
# make a cell due (ancient), unless it has another digest or is made of a newer local file. A changed dataset entry,
# protocol or revision makes the cell due (params).
rule measure:
    input:
        refused()(plan.cell_graph),
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
    threads: plan.cell_threads
    resources:
        **OF_CELL,
        mem_mb=plan.cell_memory,
        runtime=refused()(plan.cell_minutes),
    params:
        entry=plan.entry,
        revision=plan.cell_revision,
        protocol=plan.cell_protocol,
        cores=untracked(plan.kept_cores),
        request=plan.request_or_limit,
    message:
        "Measure {wildcards.algorithm}/{wildcards.variant} on {wildcards.dataset}{params.request}"
    script:
        "../scripts/measure.py"


# Measures all cells that are compared on one graph, in rounds on one card. The graph is as in `measure`.
rule job:
    input:
        refused()(plan.job_graph),
    output:
        csv=update("results/batches/{batch}/{problem}/{dataset}/timings.csv"),
        json=update("results/batches/{batch}/{problem}/{dataset}/provenance.json"),
    log:
        "logs/batches/{batch}/{problem}/{dataset}.log",
    wildcard_constraints:
        batch="[^/]+",
        problem="sssp|apsp",
        dataset="[^/]+",
    priority: plan.job_priority
    threads: plan.job_threads
    resources:
        **ON_CARD,
        mem_mb=plan.job_memory,
        runtime=refused()(plan.job_minutes),
    params:
        entry=plan.entry,
        variants=plan.job_variants,
        protocol=PROTOCOL,
        extensions=EXTENSIONS,
        cores=untracked(plan.kept_cores),
        request=plan.request_or_limit,
    message:
        "Measure {wildcards.problem} on {wildcards.dataset}, batch {wildcards.batch}{params.request}"
    script:
        "../scripts/job.py"


rule batch:
    input:
        refused()(plan.batch_files),


# Measures all sizes of the families, which growth and table6 show.
rule families:
    input:
        refused()(plan.families_files),


rule collect:
    input:
        plan.collected(),
    output:
        "results/timings.csv",
    log:
        "logs/collect.log",
    message:
        "Collect all batches and cells"
    script:
        "../scripts/collect.py"


# Checks all cells in one process. If NUMBA_ENABLE_CUDASIM=1 requests the simulator although the mode is cuda, the rule
# `measure` checks each cell in a job of its own, and this rule joins the cells.
rule simulate:
    input:
        graphs=refused()(plan.simulated_graphs),
        cells=plan.simulated_alone,
    output:
        "results/simulated.csv",
    log:
        "logs/simulate.log",
    priority: 1
    params:
        variants=[f"{'/'.join(cell)} {cell.revision}" for cell in plan.simulated_cells],
        protocol=conditions.settings_text(conditions.protocol_of(config, simulated=True)),
        extensions=EXTENSIONS,
        entries={cell.dataset: plan.entry(cell) for cell in plan.simulated_cells},
        cores=untracked(0),
    message:
        "Check all variants on small graphs in the simulator"
    script:
        "../scripts/simulate.py"
