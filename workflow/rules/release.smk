# Rules that write files kept in git. Most have no input or output: they use the files that exist when they run.
from workflow.plan import result_paths
from workflow.plan.view_inputs import NEW_YORK


localrules:
    archive,


rule archive:
    log:
        "logs/archive.log",
    message:
        "Keep the measurements in results/archive/"
    script:
        "../scripts/archive.py"


# Draws New York from the archive. If all pairs of nyc_time are in results/, archives first what the pictures show.
rule new_york:
    input:
        unpack(refused()(view_inputs.new_york)),
    log:
        "logs/new_york.log",
    localrule: True
    params:
        kept=f"{plan.archive}/all_pairs/{NEW_YORK}.npz",
    message:
        "Draw the pictures of New York in docs/travel-times.md"
    script:
        "../scripts/new_york.py"


# The text of the generated parts is in workflow/publish/templates/; the other parts are written by hand.
rule readme:
    log:
        "logs/readme.log",
    localrule: True
    params:
        archives=plan.archives,
    message:
        "Fill the generated parts of README.md and docs/, and write the archives' checksums"
    script:
        "../scripts/documents.py"


# Draws pictures that are kept in git, by the code on the page.
rule travel_times:
    input:
        result_paths.of_project("docs/travel-times.md"),
    output:
        "docs/isochrone.png",
        "docs/closeness.png",
    log:
        "logs/travel_times.log",
    localrule: True
    params:
        folder=subpath(output[0], parent=True),
        blocks=-1,  # but the last one
    message:
        "Draw the pictures of docs/travel-times.md"
    script:
        "../scripts/travel_times.py"


# Draws the picture of the page, by the code on the page, which reads the raw files.
rule osmnx:
    input:
        result_paths.of_project("docs/osmnx.md"),
        "resources/raw/USA-road-d.NY.gr.gz",
        "resources/raw/USA-road-t.NY.gr.gz",
        "resources/raw/USA-road-d.NY.co.gz",
    output:
        "docs/routes.png",
    log:
        "logs/osmnx.log",
    localrule: True
    params:
        folder=".",
        blocks=None,
    message:
        "Draw the picture of docs/osmnx.md"
    script:
        "../scripts/travel_times.py"
