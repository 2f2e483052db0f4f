# From nothing to the paper's tables and figures:
#
#     resources/raw/        downloaded files, unchanged
#     resources/graphs/     the graphs as text and as packed CSR arrays
#     results/batches/      the jobs of each batch: <batch>/<problem>/<dataset>/
#     results/cells/        cells measured alone: <algorithm>/<variant>/<dataset>.csv and .json
#     results/timings.csv   all batches, and the paper's cells that are in no batch
#     results/table*.*      Tables 1 to 3
#     figures/figure*.*     Figures 5 and 6
#     results/claims.*      verdicts on the paper's claims, drawn in figures/claims.*
#     results/summary.*     statistics of each cell
#     results/*.html        the pages that `snakemake made --report report.html` joins
#     results/simulated.md  without a GPU: checks in numba's CUDA simulator
#     results/archive/      measurements that are kept, by GPU
#
# The target `extensions` adds:
#
#     results/table6.*, results/table7.*, figures/figure8.*, figures/figure9.*, results/*_sweep.csv, figures/*_sweep.*
#     results/launch_overhead.*, growth.*, peak_table.*, many_sources_table.*, figures/growth.*
#     results/all_pairs/    all pairs of road networks: in <dataset>.parquet a row for each vertex
#     results/all_pairs.*   a table of all pairs, drawn in figures/all_pairs.*
#
# Targets: a dataset (runs its jobs), an algorithm or a variant (measures each of its cells alone), the file of a cell,
# and the rules that `snakemake --list-target-rules` lists. Examples are all, batch (runs all jobs), table1, figure5,
# audit (verdicts), compare (with the archive), extensions, all_pairs, archive, readme, made (existing results, for
# --report), travel_times and new_york (pictures of docs/travel-times.md).
from snakemake.utils import min_version

min_version("9.27")


# The image that `--sdm apptainer` uses; container/apptainer.def makes it. Without this option none is named, since
# Snakemake refuses a path with blanks. A function, since Snakemake would take braces in a path as a wildcard.
CONTAINERS = any(method.name == "APPTAINER" for method in workflow.deployment_settings.deployment_method)
IMAGE = f"{workflow.current_basedir}/container/cuda-shortest-paths.sif" if CONTAINERS else ""


container: lambda wildcards: IMAGE


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/views.smk"
include: "workflow/rules/extensions.smk"
include: "workflow/rules/release.smk"


rule all:
    default_target: True
    input:
        [catalogue.BY_NAME[name].outputs for name in (*experiments.PAPER_TABLES, *catalogue.PAPER_FIGURES)],
        [catalogue.BY_NAME[name].outputs for name in ("audit", "claims_figure", "summary", "batches_table", "appendix")],
        "results/simulated.md" if plan.simulating else "results/timings.csv",
        # Without a GPU, these are drawn from the archive. With a GPU, they would need more measurements.
        [catalogue.BY_NAME[name].outputs for name in ("table6", "figure8", "growth")] if plan.simulating else [],


# Refuses any other word, with a message that names the nearest target.
rule unknown_target:
    input:
        refused()(refuse_target),
    output:
        r"{word,[\w-]+}",


# Names of rules are targets too, so no dataset may have the name of a rule.
if clash := [dataset for dataset in config["datasets"] if workflow.is_rule(dataset)]:
    with refused():
        raise InputError(f"config: dataset {', '.join(clash)} has the name of a rule or target: rename it")

for target, wanted in experiments.targets(config).items():

    rule:
        name:
            target
        input:
            refused()(plan.target_files(target, wanted)),
