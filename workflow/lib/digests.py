"""Digests of the code that a measurement depends on: what makes a cell due."""

import ast
import hashlib
import re
from functools import cache
from pathlib import Path

from kernels.variants import find

ROOT = Path(__file__).parents[2]
MODULE = re.compile(r"kernels(\.\w+)+")  # a string that names one, which is imported when it is needed
# Modules whose change makes no cell due.
NO_TIMES = ("kernels/graph.py", "kernels/npz.py", "kernels/memory.py", "kernels/errors.py")


def code(algorithm: str, variant: str) -> str:
    """A digest of the code that a cell's times depend on: see module_code."""
    return module_code(find(algorithm, variant).function.__module__)


def module_code(name: str) -> str:
    """A digest of a module of kernels and of all that it imports from there, but for NO_TIMES.

    Comments, docstrings and the layout of the text do not count.
    """
    found, paths = [], [_source_file(name)]
    for path in paths:  # which grows
        text = (ROOT / path).read_text()
        meaning, imported = _tree(text)
        found.append(meaning)
        files = map(_source_file, imported)
        paths += [file for file in files if file not in (*paths, *NO_TIMES) and (ROOT / file).is_file()]
    return digest(*sorted(found))


@cache
def _tree(text: str) -> tuple[bytes, list[str]]:
    """Of a module with this text: its meaning, and what it may import from kernels, modules and names in them.

    The meaning is its syntax tree without docstrings, the same in every version of Python.
    """
    tree, imported = ast.parse(text), []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "kernels":
            imported += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value):
            imported.append(node.value)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return repr(_parts(tree)).encode(), imported


def _parts(value):
    """A node as its type and its fields, without those that are empty, which a version may have and another not."""
    if isinstance(value, ast.AST):
        fields = [(key, getattr(value, key, None)) for key in value._fields]
        return type(value).__name__, [(key, _parts(item)) for key, item in fields if item is not None and item != []]
    return list(map(_parts, value)) if isinstance(value, list) else value


def _source_file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
