"""What would decide an UNCLEAR call: a measurement in turn of the benchmarks that it concerns, and its duration."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.compare import MOST_ROUNDS, ROUNDS
from steelyard.compare.schedule import in_turn_seconds
from steelyard.compare.side_view import SideView
from steelyard.compare.wholes import WANTED, Tables, Whole
from steelyard.model import Machine, Run


def add_measurements(tables: Tables, a: Run, b: Run, rounds: int | None = None) -> Tables:
    """Returns UNCLEAR classes and benchmarks with the measurement in turn that decides; as they are on two machines.

    `rounds`: the rounds of these runs if they were measured in turn. The next measurement then has as many more as make the
    smallest difference `WANTED`, since it falls with the square root of the rounds.
    """
    if not _can_decide(tables, a.machine, b.machine):
        return tables
    return _add_to_unclear(tables, in_turn_seconds(a.plan, b.plan), rounds)


def add_side_measurements(tables: Tables, a: SideView, b: SideView) -> Tables:
    """Returns UNCLEAR classes and benchmarks with the measurement in turn of the last runs of both sides.

    It takes the mean of their rounds.
    """
    if not _can_decide(tables, a.side.runs[-1].machine, b.side.runs[-1].machine):
        return tables
    of_a, of_b = a.round_seconds, b.round_seconds
    seconds = {name: (of_a[name] + of_b[name]) / 2 for name in of_a.keys() & of_b.keys()}
    return _add_to_unclear(tables, seconds, None)


def _can_decide(tables: Tables, a: Machine | None, b: Machine | None) -> bool:
    """Returns whether a call is UNCLEAR, and both runs may be of one machine, which can take both settings."""
    alike = a and b and _identify(a) == _identify(b)
    return bool(alike) and any(w.call == "UNCLEAR" for table in tables for w in table)


def _identify(machine: Machine) -> tuple[object, ...]:
    counts = (len(machine.cores), len(machine.cpus), len(machine.nodes))
    return machine.host, machine.architecture, machine.processor, *counts


def _add_to_unclear(tables: Tables, seconds: dict[str, float], rounds: int | None) -> Tables:
    classes, benchmarks = (
        tuple(_add(w, seconds, rounds) if w.call == "UNCLEAR" else w for w in table) for table in tables
    )
    return classes, benchmarks


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
