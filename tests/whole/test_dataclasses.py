"""Dataclasses of many fields are made by the names of these."""

import ast
from collections.abc import Iterator
from pathlib import Path

import steelyard

MOST = 5  # arguments that a reader can tell apart by their places
# What declarations, rules and tables are written of, one a line, by users, too: their first fields stand in their order.
WRITTEN_IN_ORDER = {
    "Advice", "Axes", "Batch", "Broker", "Cache", "Figure", "Finding", "Headline", "Job", "Kind", "Launch", "Nature",
    "Question", "Sensor", "Series", "State", "TolerancePoint",
}  # fmt: skip


def dataclasses() -> Iterator[tuple[str, int]]:
    """The name of each, and how many arguments it takes by their places."""
    for path in Path(steelyard.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "@dataclass" in text else ():
            made = [ast.unparse(d) for d in node.decorator_list] if isinstance(node, ast.ClassDef) else []
            if isinstance(node, ast.ClassDef) and any(d.startswith("dataclass") for d in made):
                by_name = any("kw_only=True" in d for d in made)
                yield node.name, 0 if by_name else sum(map(is_field, node.body))


def is_field(line: ast.stmt) -> bool:
    """Whether it takes an argument by its place: no class variable, nothing that is worked out, and not by its name only."""
    if not isinstance(line, ast.AnnAssign) or "ClassVar" in ast.dump(line.annotation):
        return False
    return not isinstance(line.value, ast.Call) or all(
        word.arg not in ("init", "kw_only") for word in line.value.keywords
    )


def test_a_dataclass_of_more_than_five_fields_takes_them_by_name() -> None:
    found = list(dataclasses())
    assert len(found) > 300
    assert {name for name, places in found if places > MOST} == WRITTEN_IN_ORDER
