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


# The text of the generated parts is in workflow/views/templates/; the other parts are written by hand.
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
