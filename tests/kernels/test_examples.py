"""The examples in the docstrings run as written in the installed library, with or without a GPU and without files."""

from tests.support import package

MODULES = (
    "",
    ".graph",
    ".io",
    ".library.centrality",
    ".library.csgraph",
    ".library.functions",
    ".library.networkx",
    ".library.solver",
    ".turns",
)
CODE = """
import doctest, importlib, sys
for module in sys.argv[1:]:
    failed, attempted = doctest.testmod(importlib.import_module(module))
    assert attempted and not failed, module
"""


def test_the_examples_of_the_docstrings_run(tmp_path):
    names = [f"{package.NAME}{module}" for module in MODULES]
    ran = package.python(package.unpacked(tmp_path), "-c", CODE, *names, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
