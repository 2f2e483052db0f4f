# Define a rule for each view of workflow/views/catalogue.py: tables, figures and pages.
for view in catalogue.VIEWS:

    rule:
        name:
            view.name
        input:
            **view_input(view),
        output:
            view_output(view),
        log:
            f"logs/{view.name}.log",
        localrule: True
        params:
            **view_tracks(view),
            source=view_source(view),
            archives=untracked(BESIDE),
        message:
            view.message
        script:
            "../scripts/view.py"


for sweep in SWEPT:

    rule:
        name:
            sweep
        input:
            f"results/{sweep}.csv",
            catalogue.BY_NAME[f"draw_{sweep}"].outputs,


rule all_pairs:
    input:
        needs_all_pairs,
        rules.all_pairs_table.output,
        rules.all_pairs_figure.output,


# Collects the existing results for --report. Runs no other rule.
rule made:
    input:
        made_files,


# Draws pictures that are kept in git, by the code on the page.
rule travel_times:
    input:
        "docs/travel-times.md",
    output:
        "docs/isochrone.png",
        "docs/closeness.png",
    log:
        "logs/travel_times.log",
    localrule: True
    message:
        "Draw the pictures of docs/travel-times.md"
    script:
        "../scripts/travel_times.py"
