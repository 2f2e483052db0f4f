# From nothing to the paper's tables and figures:
#
#     resources/raw/        downloaded files, unchanged
#     resources/graphs/     the graphs as text and as packed CSR arrays
#     results/batches/      measurements of all that is compared on one graph: <batch>/<problem>/<dataset>/
#     results/cells/        cells measured alone: <algorithm>/<variant>/<dataset>.csv, and .json
#     results/timings.csv   all batches, and cells of the paper that are in none
#     results/table*.*      Tables 1 to 3
#     figures/figure*.*     Figures 5 and 6
#     results/claims.*      verdicts on the paper's claims, drawn in figures/claims.*; results/summary.*: each cell
#     results/*.html        pages of the report that `snakemake made --report report.html` makes of all this
#     results/simulated/    without a GPU: checks in numba's CUDA simulator, summed up in results/simulated.md
#     results/archive/      measurements that are kept, by GPU
#
#     results/table6.*, figures/figure8.*, results/*_sweep.csv, figures/*_sweep.*,    extensions
#     results/launch_overhead.*, growth.*, peak_table.*, many_sources_table.*, figures/growth.*
#     results/all_pairs/    all pairs of road networks, a row a vertex: <dataset>.parquet; all_pairs.*, figures/all_pairs.*
#
# Targets: all, batch (one more batch), table1, figure5, …, any dataset (its jobs), algorithm or variant (each cell
# alone), a cell by its file, audit, compare (with the archive), summary, archive, extensions, table6, figure8, delta_sweep,
# stride_sweep, sources, many_sources, many_sources_table, launch_overhead, growth, families, peak, peak_table,
# all_pairs, made (what was made so far, for --report), travel_times (the pictures of docs/travel-times.md).
from snakemake.utils import min_version

min_version("9.27")


configfile: "config.yaml"


# Used with `--sdm apptainer` only; container/apptainer.def makes it.
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
        # Without a GPU these are drawn from the archive; with one they need more measurements.
        [catalogue.BY_NAME[name].outputs for name in ("table6", "figure8", "growth")] if SIMULATING else [],


rule extensions:
    input:
        [catalogue.BY_NAME[name].outputs for name in ("table6", "figure8", "launch_overhead", "growth", "peak_table")],
        [catalogue.BY_NAME[f"draw_{sweep}"].outputs for sweep in SWEPT],
        rules.many_sources_table.output if MANY_SOURCES else [],
        rules.all_pairs_table.output if ALL_PAIRS_RECORDS else [],
        measured(GENERATED_CELLS),


# Any other word is refused, with the nearest target.
rule unknown_target:
    input:
        refuse_target,
    output:
        r"{word,[\w-]+}",


# Names of rules are targets too.
if clash := [dataset for dataset in config["datasets"] if workflow.is_rule(dataset)]:
    with refused():
        raise InputError(f"config: dataset {', '.join(clash)} has the name of a rule or target: rename it")

for target, wanted in plan.targets(config).items():

    rule:
        name:
            target
        input:
            target_files(target, wanted),
