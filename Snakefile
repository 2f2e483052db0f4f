# From nothing to the paper's tables and figures:
#
#     resources/raw/        the archives' files, as served
#     resources/graphs/     the same as text and as packed CSR arrays
#     results/batches/      measurements: all that is compared on one graph, together: <batch>/<problem>/<dataset>/
#     results/cells/        what is in no batch, or measured again alone: <algorithm>/<variant>/<dataset>.csv, and .json
#     results/timings.csv   all batches, and cells of the paper that are in none
#     results/table*.*      Tables 1 to 3
#     figures/figure*.*     Figures 5 and 6
#     results/claims.*      verdicts on the paper's claims, drawn in figures/claims.*; results/summary.*: each cell
#     results/*.html        pages of the report that `snakemake made --report report.html` makes of all this
#     results/simulated/    where there is no GPU: checks in numba's CUDA simulator; results/simulated.md sums up
#     results/archive/      measurements that are kept, by GPU
#
#     results/table6.*, figures/figure8.*, results/*_sweep.csv, figures/*_sweep.*,    extensions
#     results/launch_overhead.*, growth.*, peak_table.*, many_sources_table.*, figures/growth.*
#     results/all_pairs/    all pairs of road networks, a row a vertex: <dataset>.parquet; all_pairs.*, figures/all_pairs.*
#
# Targets: all, batch (one more batch), table1, figure5, …, any dataset (its jobs), algorithm or variant (each cell
# alone), a cell by its file, audit, compare (with the archive), summary, archive, extensions, table6, figure8, delta_sweep,
# stride_sweep, sources, many_sources, many_sources_table, launch_overhead, growth, families, peak, peak_table,
# all_pairs, made (what was made so far, for --report).
from snakemake.utils import min_version

min_version("9.27")


configfile: "config.yaml"


# Where the jobs run with `--sdm apptainer`, and only then; container/apptainer.def makes it.
container: "container/cuda-shortest-paths.sif"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/inputs/data.smk"
include: "workflow/rules/inputs/measure.smk"
include: "workflow/rules/inputs/views.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/views.smk"
include: "workflow/rules/release.smk"


rule all:
    default_target: True
    input:
        [catalogue.BY_NAME[name].outputs for name in (*plan.PAPER_TABLES, *catalogue.PAPER_FIGURES)],
        [catalogue.BY_NAME[name].outputs for name in ("audit", "claims_figure", "summary", "batches_table", "appendix")],
        "results/simulated.md" if SIMULATING else ["results/timings.csv", "results/provenance.json"],


rule extensions:
    input:
        [catalogue.BY_NAME[name].outputs for name in ("table6", "figure8", "launch_overhead", "growth", "peak_table")],
        [catalogue.BY_NAME[f"draw_{sweep}"].outputs for sweep in SWEPT],
        rules.many_sources_table.output if MANY_SOURCES else [],
        rules.all_pairs_table.output if ALL_PAIRS_KEPT or (ALL_PAIRS and not ALL_PAIRS_LACKING) else [],
        measured(GENERATED_CELLS),


# Any other word: say which targets there are.
rule unknown_target:
    input:
        refuse_target,
    output:
        r"{word,[\w-]+}",


# Every rule's name is a target, or may become one.
if clash := [dataset for dataset in config["datasets"] if workflow.is_rule(dataset)]:
    raise WorkflowError(f"config: dataset {', '.join(clash)} is called like a rule or target: rename it")

for target, wanted in plan.targets(config).items():

    rule:
        name:
            target
        input:
            target_files(target, wanted),
