"""Render a view: a table, a figure or a page."""

from pathlib import Path

from workflow.step import logged
from workflow.store import measurements, tables
from workflow.views import catalogue
from workflow.views.context import Context, write

with logged(snakemake.log):
    config, inputs, params = snakemake.config, snakemake.input, snakemake.params
    # Not by the rule's name: `use rule * from` may change the name.
    view = next(view for view in catalogue.VIEWS if view.outputs[0] == snakemake.output[0])
    files = {name: inputs.get(name) for name in ("rows", *view.reads)} | {"archives": params.archives}
    files |= {f"coordinates of {name}": path for name, path in params.get("maps", {}).items()}
    context = Context(
        source=params.source,
        datasets=tables.of_config(config),
        tolerance=config["audit"]["tolerance"],
        files={name: [paths] if isinstance(paths, str) else paths for name, paths in files.items()},
        config=config,
    )
    rows = measurements.load(inputs.rows, datasets=context.datasets)
    write(view.render(rows, context), Path("results"), Path("figures"))
