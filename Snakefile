# From nothing to the paper's tables and figures:
#
#     resources/raw/        the archives' files, as served
#     resources/graphs/     the same as text and as packed CSR arrays
#     results/cells/        measurements: <algorithm>/<variant>/<dataset>.csv, and .json with what they ran on
#     results/timings.csv   all cells of the paper
#     results/table*.*      Tables 1 to 3
#     figures/figure*.*     Figures 5 and 6
#     results/simulated/    where there is no GPU: checks in numba's CUDA simulator; results/simulated.md sums up
#     results/archive/      measurements that are kept, by GPU
#
# Targets: all, table1, figure5, …, any dataset, algorithm or variant, a cell by its file, archive.
from snakemake.utils import min_version

min_version("9.0")


configfile: "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"


rule all:
    default_target: True
    input:
        [f"results/table{number}.{end}" for number in settings.TABLES for end in TABLE_FORMATS],
        [f"figures/figure{number}.{end}" for number in PAPER_FIGURES for end in FIGURE_FORMATS],
        "results/simulated.md" if SIMULATING else ["results/timings.csv", "results/provenance.json"],


rule beyond:
    input:
        [],


for target, wanted in settings.targets(config).items():

    rule:
        name:
            target
        input:
            [cell_file(*cell) for cell in wanted],


# Any other word: say which targets there are.
rule unknown_target:
    input:
        refuse_target,
    output:
        r"{word,\w+}",
