# What a release is cited by; no output, since it is only printed.
rule swhid:
    log:
        "logs/swhid.log",
    localrule: True
    conda:
        "../../environment.yml"
    message:
        "Software Heritage identifier of this commit"
    shell:
        "python -m workflow.scripts.swhid --log {log:q}"
