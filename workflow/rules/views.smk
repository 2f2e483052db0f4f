# Define a rule for each view of workflow/views/catalogue.py: tables, figures and pages.
for view in catalogue.VIEWS:

    rule:
        name:
            view.name
        input:
            **view_inputs.inputs(view),
        output:
            view_output(view),
        log:
            f"logs/{view.name}.log",
        localrule: True
        params:
            **view_inputs.tracks(view),
            source=view_inputs.source(view),
            archives=untracked(view_inputs.beside),
        message:
            view.message
        script:
            "../scripts/view.py"


# Collects the existing results for --report. Runs no other rule.
rule made:
    input:
        refused()(view_inputs.made_files),
