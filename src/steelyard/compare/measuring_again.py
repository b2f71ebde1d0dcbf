"""What would decide an UNCLEAR call: a measurement in turn of the benchmarks that it concerns, and its duration."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from steelyard.compare import ROUNDS
from steelyard.compare.schedule import in_turn_seconds
from steelyard.compare.wholes import Whole
from steelyard.model import Run


def add_durations(wholes: Iterable[Whole], a: Run, b: Run) -> tuple[Whole, ...]:
    """Returns UNCLEAR classes and benchmarks with the seconds of their measurement in turn; as they are on two machines."""
    here, other = a.machine, b.machine
    if (here.architecture, here.processor) != (other.architecture, other.processor):
        return tuple(wholes)
    seconds = in_turn_seconds(a.plan, b.plan, ROUNDS)
    return tuple(
        replace(w, seconds=sum(seconds.get(name, 0.0) for name in w.members or (w.name,)) or None)
        if w.call == "UNCLEAR"
        else w
        for w in wholes
    )


def write_command(a: str, b: str, wholes: Sequence[Whole]) -> str:
    """Returns the command that measures the benchmarks of these in turn."""
    names = dict.fromkeys(name for w in wholes for name in w.members or (w.name,))
    return " ".join(("steelyard compare --in-turn", a, b, *(f"--only {name}" for name in names)))
