"""What would decide an UNCLEAR call: a measurement in turn of the benchmarks that it concerns, and its duration."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from steelyard.compare import MOST_ROUNDS, ROUNDS
from steelyard.compare.schedule import in_turn_seconds
from steelyard.compare.wholes import Whole
from steelyard.model import Run

WANTED = 0.05  # relative difference that a further measurement in turn is to find


def add_measurements(wholes: Iterable[Whole], a: Run, b: Run, rounds: int | None = None) -> tuple[Whole, ...]:
    """Returns UNCLEAR classes and benchmarks with the measurement in turn that decides; as they are on two machines.

    `rounds`: the rounds of these runs if they were measured in turn. The next measurement then has as many more as make the
    smallest difference `WANTED`, since it falls with the square root of the rounds.
    """
    here, other = a.machine, b.machine
    if (here.architecture, here.processor) != (other.architecture, other.processor):
        return tuple(wholes)
    seconds = in_turn_seconds(a.plan, b.plan)
    return tuple(_add(w, seconds, rounds) if w.call == "UNCLEAR" else w for w in wholes)


def _add(w: Whole, seconds: dict[str, float], rounds: int | None) -> Whole:
    wanted = ROUNDS
    if rounds is not None:
        wanted = math.ceil(rounds * max(2.0, (math.log1p(w.smallest) / math.log1p(WANTED)) ** 2))
    of_round = sum(seconds.get(name, 0.0) for name in w.members or (w.name,))
    return replace(w, rounds=wanted, seconds=wanted * of_round) if of_round and wanted <= MOST_ROUNDS else w


def write_command(a: str, b: str, wholes: Sequence[Whole]) -> str:
    """Returns the command that measures the benchmarks of these in turn."""
    names = dict.fromkeys(name for w in wholes for name in w.members or (w.name,))
    rounds = max(w.rounds or ROUNDS for w in wholes)
    more = () if rounds == ROUNDS else (f"--rounds {rounds}",)
    return " ".join(("steelyard compare --in-turn", a, b, *(f"--only {name}" for name in names), *more))
