"""The fields of the files of a run, made from the dataclasses of `model`."""

import ast
import inspect
import re
from collections.abc import Iterable

from sources.tables import table
from steelyard.model import benchmark, foreign, machine, plan, proofs, record, run
from steelyard.results import basis
from steelyard.results import table as results

_SOURCE = "\n".join(
    inspect.getsource(file) for file in (machine, plan, record, benchmark, proofs, run, foreign, basis, results)
)

_PLAIN = {
    "str": "text",
    "int": "whole number",
    "Whole": "whole number",
    "Count": "whole number",  # from 0 on
    "Observed": "object: see [above](#what-surroundings-hold)",
    "float": "number",
    "bool": "true or false",
    "Scalar": "text or number",
    "Any": "anything",
    "Parameters": "object: name → text or number",
    "Better": '"higher", "lower" or "none"',
    "Level": '"CLEAN", "FOREIGN", "UNSETTLED", "DISTURBED" or "INVALID"',
}

_PLURAL = {"text": "texts", "whole number": "whole numbers", "number": "numbers"}


def described(*roots: str) -> str:
    """Returns the fields of the dataclasses `roots` and of all dataclasses in them, in the order of the files of `model`."""
    return "\n".join(_described(node) for node in _closure(roots))


def described_apart(roots: Iterable[str], elsewhere: Iterable[str]) -> str:
    """Returns the same without the dataclasses that `described` returns for `elsewhere`."""
    known = {node.name for node in _closure(elsewhere)}
    return "\n".join(_described(node) for node in _closure(roots) if node.name not in known)


def _closure(roots: Iterable[str]) -> list[ast.ClassDef]:
    tree = ast.parse(_SOURCE)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    wanted: set[str] = set()
    to_see = list(roots)
    while to_see:
        name = to_see.pop()
        if name not in wanted:
            wanted.add(name)
            to_see += {n.id for n in ast.walk(classes[name]) if isinstance(n, ast.Name)} & set(classes)
    return [node for name, node in classes.items() if name in wanted]


def _described(node: ast.ClassDef) -> str:
    source = _SOURCE.splitlines()
    rows = [
        (f"`{field.target.id}`", in_json(field.annotation), source[field.lineno - 1].partition("  # ")[2])
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    ]
    told = re.sub(r"\n(?=\S)", " ", inspect.cleandoc(ast.get_docstring(node) or ""))
    return f"### {node.name}\n\n{told}\n\n" + table(("field", "JSON", "note"), rows)


def in_json(annotation: ast.expr) -> str:
    """Returns the JSON type of an annotation: tuple[Cache, ...] → 'list of Cache'."""
    match annotation:
        case ast.Name(id=name):
            return _PLAIN.get(name, name)
        case ast.Constant(value=None):
            return "null"
        case ast.Constant(value=str(text)):
            return f'"{text}"'
        case ast.BinOp(left=left, right=right):
            return f"{in_json(left)} or {in_json(right)}"
        case ast.Subscript(value=ast.Name(id=kind), slice=ast.Tuple(elts=inner)):
            return {
                "tuple": f"list of {_PLURAL.get(in_json(inner[0]), in_json(inner[0]))}",
                "Mapping": f"object: name → {in_json(inner[-1])}",
            }.get(kind, " or ".join(in_json(e) for e in inner))
    return ast.unparse(annotation)
