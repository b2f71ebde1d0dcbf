"""The colours and words of calls."""

from steelyard.compare.compared_sides import NOT_JUDGED, MachineCell

STYLE = {
    "FASTER": "green",
    "SLOWER": "bold red",
    "SAME": "dim",
    "UNCLEAR": "yellow",
    "NOT COMPARABLE": "magenta",
}


NOW = "†"  # marks a call that holds in these runs, and perhaps not at another hour


def name_machine_call(cell: MachineCell) -> str:
    """Returns the call of a whole machine in words: "faster", or "slower in these runs"."""
    return f"{name_call(cell.now)} in these runs" if cell.now else name_call(cell.call)


def name_call(call: str | None) -> str:
    """Returns a call as it stands in tables: "faster", or "not judged"; "" without one."""
    return "not judged" if call == NOT_JUDGED else (call or "").lower()
