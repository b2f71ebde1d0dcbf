"""The kinds of evidence, and the names of its numbers."""

from sources.tables import table
from steelyard.model.evidence import KINDS, NUMBERS


def tables() -> str:
    """Returns the tables of the kinds of evidence and of their numbers."""
    rows = [(f"`{n}`", "" if k.level == "CLEAN" else k.level, k.says) for n, k in KINDS.items()]
    kinds = table(("kind", "can make a case", "meaning"), rows)
    numbers = table(("number", "meaning"), [(f"`{name}`", says) for name, says in NUMBERS.items()])
    return f"{kinds}\n{numbers}"
