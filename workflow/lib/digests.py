"""Digests of the code that a measurement depends on: what makes a cell due."""

import ast
import hashlib
from functools import cache
from pathlib import Path

from kernels.variants import find

ROOT = Path(__file__).parents[2]
NO_TIMES = ("kernels/graph.py", "kernels/memory.py", "kernels/errors.py")  # modules whose change makes no cell due


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
        found.append(_meaning(text))
        files = map(_source_file, _imported(text))
        paths += [file for file in files if file not in (*paths, *NO_TIMES) and (ROOT / file).is_file()]
    return digest(*sorted(found))


@cache
def _meaning(text: str) -> bytes:
    """A module's syntax tree without docstrings, the same in every version of Python."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return repr(_parts(tree)).encode()


def _parts(value):
    """A node as its type and its fields, without those that are empty, which a version may have and another not."""
    if isinstance(value, list):
        return [_parts(item) for item in value]
    if not isinstance(value, ast.AST):
        return value
    return type(value).__name__, [(key, _parts(item)) for key, item in ast.iter_fields(value) if item not in (None, [])]


@cache
def _imported(text: str) -> list[str]:
    """What a module with this text may import from kernels: modules, and names in them."""
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if node.module.split(".")[0] == "kernels"]
    return [name for node in ours for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))]


def _source_file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
