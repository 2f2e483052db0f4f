"""Views of archives: drawing all takes long."""

import pytest

from workflow.views import catalogue


@pytest.fixture
def only_views(monkeypatch):
    """Return a function that lets archives be drawn with the views of these names only."""
    return lambda *names: monkeypatch.setattr(catalogue, "VIEWS", [catalogue.BY_NAME[name] for name in names])
