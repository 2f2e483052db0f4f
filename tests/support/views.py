"""Render views into a folder, as a rule or an archive does."""

from tests.support.rows import DATASETS
from workflow.views.catalogue import BY_NAME, FORMATS
from workflow.views.context import Context, write


def draw(name, rows, folder, *, formats=FORMATS, **context):
    """Write all files of a view into one folder."""
    given = {"source": "From the test.", "datasets": DATASETS, "tolerance": 0.05}
    folder.mkdir(parents=True, exist_ok=True)
    write(BY_NAME[name].render(rows, Context(**given | context)), folder, folder, formats)


def configured(archive="h200", datasets=DATASETS):
    """Return the parts of a configuration that an archive reads."""
    return {"archive": archive, "datasets": datasets, "audit": {"tolerance": 0.05}}
