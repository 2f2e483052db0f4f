"""The list of mutations fits the code and the tests as they are; `make mutate` tries them."""

from pathlib import Path

import pytest
from mutations import MUTATIONS, ROOT


@pytest.mark.parametrize("file", dict.fromkeys(mutation.file for mutation in MUTATIONS))
def test_what_a_mutation_changes_is_there_once(file):
    text = (ROOT / file).read_text()
    assert [m.old for m in MUTATIONS if m.file == file and (text.count(m.old) != 1 or m.old == m.new)] == []


def test_the_tests_that_mutations_name_are_there():
    for test in dict.fromkeys(mutation.test for mutation in MUTATIONS):
        file, name = test.partition("[")[0].split("::")
        assert f"def {name}(" in (ROOT / file).read_text(), test


def test_every_module_of_kernels_with_kernels_has_mutations():
    with_kernels = {p.name for p in Path(ROOT, "kernels").rglob("*.py") if "@cuda.jit" in p.read_text()}
    assert with_kernels <= {Path(mutation.file).name for mutation in MUTATIONS}
