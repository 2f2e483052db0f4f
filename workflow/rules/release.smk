# What is kept in git. Both rules take whatever lies there, so they have neither input nor output.
localrules:
    archive,


rule archive:
    log:
        "logs/archive.log",
    message:
        "Keep what was measured in results/archive/"
    script:
        "../scripts/archive.py"


# The generated parts of README.md and docs/; the rest is written by hand.
rule readme:
    log:
        "logs/readme.log",
    localrule: True
    params:
        archives=archives(),
    message:
        "Fill the generated parts of README.md and docs/"
    script:
        "../scripts/documents.py"
