"""What would decide an UNCLEAR call: a measurement in turn of the benchmarks that it concerns, and its duration."""

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.compare import MOST_ROUNDS, ROUNDS
from steelyard.compare.schedule import in_turn_seconds
from steelyard.compare.side import SideRun
from steelyard.compare.wholes import WANTED, Whole
from steelyard.model import Machine, Run


def add_measurements(wholes: Iterable[Whole], a: Run, b: Run, rounds: int | None = None) -> tuple[Whole, ...]:
    """Returns UNCLEAR classes and benchmarks with the measurement in turn that decides; as they are on two machines.

    `rounds`: the rounds of these runs if they were measured in turn. The next measurement then has as many more as make the
    smallest difference `WANTED`, since it falls with the square root of the rounds.
    """
    if not _are_alike(a.machine, b.machine):
        return tuple(wholes)
    seconds = in_turn_seconds(a.plan, b.plan)
    return tuple(_add(w, seconds, rounds) if w.call == "UNCLEAR" else w for w in wholes)


def add_side_measurements(wholes: Iterable[Whole], a: SideRun, b: SideRun) -> tuple[Whole, ...]:
    """Returns UNCLEAR classes and benchmarks with the measurement in turn of both runs, which takes the mean of their rounds."""
    wholes = tuple(wholes)
    if not (a.plan and b.plan and _are_alike(a.machine, b.machine) and any(w.call == "UNCLEAR" for w in wholes)):
        return wholes
    of_a, of_b = (in_turn_seconds(plan, plan) for plan in (a.plan, b.plan))
    seconds = {name: (of_a[name] + of_b[name]) / 2 for name in of_a.keys() & of_b.keys()}
    return tuple(_add(w, seconds, None) if w.call == "UNCLEAR" else w for w in wholes)


def _are_alike(a: Machine | None, b: Machine | None) -> bool:
    """Returns whether programs for one machine run on the other."""
    return bool(a and b and (a.architecture, a.processor) == (b.architecture, b.processor))


def _add(w: Whole, seconds: dict[str, float], rounds: int | None) -> Whole:
    wanted = ROUNDS
    if rounds is not None:
        wanted = math.ceil(rounds * max(2.0, (math.log1p(w.smallest) / math.log1p(WANTED)) ** 2))
    of_round = sum(seconds.get(name, 0.0) for name in w.members or (w.name,))
    return replace(w, rounds=wanted, seconds=wanted * of_round) if of_round and wanted <= MOST_ROUNDS else w


def write_run(name: str, path: str) -> str:
    """Returns the id of a run in the usual folder, or its path, as the user types it."""
    return name if str(Path(path).parent) in ("runs", ".") else shlex.quote(path)


def write_command(a: str, b: str, benchmarks: Sequence[str], rounds: int | None = None) -> str:
    """Returns the command that measures these benchmarks in turn."""
    more = () if rounds in (None, ROUNDS) else (f"--rounds {rounds}",)
    return " ".join(("steelyard compare --in-turn", a, b, *(f"--only {name}" for name in benchmarks), *more))
