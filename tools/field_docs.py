"""What the classes of documents say about their fields: the docstring below each."""

import ast
import inspect
from itertools import pairwise
from pathlib import Path

from planner.documents.plan import DocumentPart


def field_docs(part: type[DocumentPart]) -> dict[str, str]:
    """The meaning of every field, its own and inherited ones, by its name in Python."""
    docs: dict[str, str] = {}
    for base in reversed(part.__mro__):
        if issubclass(base, DocumentPart) and base is not DocumentPart:
            docs |= _own_docs(base)
    return docs


def _own_docs(part: type[DocumentPart]) -> dict[str, str]:
    body = _classes(Path(inspect.getfile(part)))[part.__name__].body
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(below.value.value, str)
    }


def _classes(path: Path) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)}
