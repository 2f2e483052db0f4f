# Rules that write files kept in git. These rules have no input or output. They use the files that exist when they run.
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
        unpack(new_york_input),
    log:
        "logs/new_york.log",
    localrule: True
    params:
        kept=f"{ARCHIVE}/all_pairs/{NEW_YORK}.npz",
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
        archives=ARCHIVES,
    message:
        "Fill the generated parts of README.md and docs/, and write the archives' checksums"
    script:
        "../scripts/documents.py"
