"""Measures before a run how much of the time the cores and the memory are free of other load."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.launch import local
from steelyard.launch.program import Conversation, Program
from steelyard.model import Machine, Shown
from steelyard.model.observed import Kind, Looks
from steelyard.model.plain import from_plain
from steelyard.records.best_pace import Best
from steelyard.statistics.samples.plateau import Levels
from steelyard.statistics.validity.observations import numbers
from steelyard.statistics.validity.pace import MEASURES
from steelyard.units import duration, percent

LOOK, LONGER = 1.5, 5.0  # seconds of the first measurement, and of a second one if the first was not quiet
LOOK_SHARE = 0.05  # maximum of each, as a share of a run's usual length, so that short runs are not delayed
QUIET = 0.9  # share of the readings within bounds from which the machine counts as quiet
NEVER = 0.1  # share below which the machine counts as never quiet
LIMIT = 30.0  # seconds beyond the measurement after which the program counts as hanging

# Readings of one thread alone on a core, which do not depend on the benchmark.
KINDS: tuple[Kind, ...] = ("issued", "stream", "chase")


@dataclass(frozen=True)
class Look:
    """Share of the time in which the pace of the machine was within bounds of its best."""

    share: float

    @property
    def quiet(self) -> bool:
        return self.share >= QUIET

    @property
    def never(self) -> bool:
        return self.share < NEVER


Looking = Callable[[float], Look]


def looking(program: Path, machine: Machine, toolchain: str, paces: Shown) -> Looking:
    """Returns a function that measures this machine for so many seconds, with any of its kernel programs."""

    def look(seconds: float) -> Look:
        running = Program(local.argv(program), local.environment(machine))
        try:
            return at(running, machine, toolchain, paces, seconds)
        finally:
            running.close()

    return look


def at(program: Conversation, machine: Machine, toolchain: str, paces: Shown, seconds: float) -> Look:
    """Measures the processors in turn with a running program, with one busy processor at a time."""
    cpus = machine.cpus
    answer = program.ask(
        f"look={seconds:g} threads={len(cpus)} cpus={','.join(map(str, cpus))}", 2 * seconds + LIMIT
    ).get("look", {})
    earlier = Best(paces.best).bounds("", "", {"threads": 1, "toolchain": toolchain}).best
    share = _share(from_plain(Looks, answer), earlier)
    return Look(1.0 if share is None else share)


def _share(looks: Looks, earlier: Mapping[Kind, float]) -> float | None:
    """Returns the readings within bounds. If nothing is known of the machine, the third best reading is its best."""
    inside = None
    for kind in KINDS:
        readings = numbers(looks.of(kind))
        measure = MEASURES[kind]
        levels = Levels()
        levels.add(readings.tolist())
        plateau = levels.plateau(measure.scatter, measure.higher)
        if plateau is None:
            continue
        best = measure.best((plateau, earlier.get(kind, plateau)))
        holds = measure.holds(readings, measure.bound(best))
        inside = holds if inside is None else inside & holds
    return None if inside is None else float(inside.mean())


def prepare(look: Looking, wait: float, usual: float, say: Callable[[str], None]) -> Look:
    """Measures the machine before a run, waits at most `wait` seconds until it is quiet, and prints its condition.

    `usual` is the length of the run on a quiet machine, in seconds.
    """
    most = math.inf if wait > 0 else LOOK_SHARE * usual
    result = look(min(LOOK, most))
    if not result.quiet:
        result = look(min(LONGER, most))
    if wait > 0 and not result.quiet:
        result = _waited(look, result, wait, say)
    if not result.quiet:
        say(sentence(result, wait > 0))
    return result


def sentence(result: Look, waited: bool) -> str:
    """Returns the message for the user before a run on a machine that is not quiet."""
    if result.never:
        offer = "" if waited else " To start when the machine is quiet, use --wait 30m."
        return (
            f"Other guests use the cores {percent(1 - result.share)} of the time. The results show the speed that is left: "
            f"most of them will be DISTURBED.{offer}"
        )
    return (
        f"Other guests use part of the cores or of the memory {percent(1 - result.share)} of the time. Cases wait for "
        "times without this load."
    )


def _waited(look: Looking, result: Look, wait: float, say: Callable[[str], None]) -> Look:
    until = time.monotonic() + wait
    while not result.quiet and (left := until - time.monotonic()) > 0:
        say(f"Waiting for a quiet machine ({percent(result.share)} of the time now), at most {duration(left)} more …")
        time.sleep(min(5.0, left))
        result = look(LOOK)
    return result
