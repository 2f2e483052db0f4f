# Descriptions of what is kept and cited; no output, since archives are in git, and an identifier is only printed.
rule ro_crate:
    log:
        "logs/ro_crate.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        archives=archives(),
    message:
        "Describe the archives as RO-Crates"
    shell:
        "python -m workflow.scripts.ro_crate --archives {params.archives:q} --log {log:q}"


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
