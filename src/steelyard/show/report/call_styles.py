"""The colours and words of calls."""

from steelyard.compare.compared_sides import NOT_JUDGED

STYLE = {
    "FASTER": "green",
    "SLOWER": "bold red",
    "SAME": "dim",
    "UNCLEAR": "yellow",
    "NOT COMPARABLE": "magenta",
}


def name_call(call: str | None) -> str:
    """Returns a call as it stands in tables: "faster", or "not judged"; "" without one."""
    return "not judged" if call == NOT_JUDGED else (call or "").lower()
