"""The kinds of evidence, and the names of its numbers."""

from sources.tables import table
from steelyard.evidence import KINDS, NUMBERS


def tables() -> str:
    """What each kind says, and what each number is."""
    rows = [(f"`{n}`", "" if k.level == "CLEAN" else k.level, k.says) for n, k in KINDS.items()]
    kinds = table(("kind", "can make a case", "what it says"), rows)
    numbers = table(("number", "what it is"), [(f"`{name}`", says) for name, says in NUMBERS.items()])
    return f"{kinds}\n{numbers}"
