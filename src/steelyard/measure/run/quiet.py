"""Measures before a run how much of the time the cores and the memory are free of other load."""

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steelyard.measure.launch import local
from steelyard.measure.launch.program import Conversation, Program
from steelyard.measure.machine.processor_use import Account, add_processor_use, read_account
from steelyard.measure.records import best_pace
from steelyard.measure.run.own_best import compare, find_places
from steelyard.model import Machine, Shown
from steelyard.model.observed import Kind, Looks
from steelyard.model.plain import from_plain
from steelyard.model.proofs import NO_PROOFS, Proofs
from steelyard.model.units import duration, percent
from steelyard.statistics.validity.cause import Cause, explain, find_cause
from steelyard.statistics.validity.measures import MEASURES
from steelyard.statistics.validity.observations import numbers

LOOK, LONGER = 1.5, 5.0  # seconds of the first measurement, and of a second one if the first was not quiet
LOOK_SHARE = 0.05  # upper limit of LOOK and of LONGER, as a share of a run's usual length: short runs are not delayed
QUIET = 0.9  # share of the readings within bounds from which the machine counts as quiet
NEVER = 0.1  # share below which the machine counts as never quiet
LIMIT = 30.0  # seconds beyond the measurement after which the program counts as hanging

# Readings of one thread alone on a core, which do not depend on the benchmark.
KINDS: tuple[Kind, ...] = ("core_clock", "issued", "stream", "chase")
TWICE = 0.015  # seconds in which each processor is read twice: one slow reading may be chance


@dataclass(frozen=True)
class Look:
    """Share of the time in which processors and memory were free and had their best pace, and what proves the cause."""

    share: float
    proofs: Proofs = NO_PROOFS

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
        running = Program([str(program)], local.environment(machine))
        try:
            return look_at(running, machine, toolchain, paces, seconds)
        finally:
            running.close()

    return look


def look_at(
    program: Conversation,
    machine: Machine,
    toolchain: str,
    paces: Shown,
    seconds: float,
    account: Callable[[], Account | None] = read_account,
) -> Look:
    """Measures the processors in turn with a running program, with one busy processor at a time."""
    cpus, before = machine.cpus, account()
    seconds = max(seconds, TWICE * len(cpus))
    answer = program.ask(
        f"look={seconds:g} threads={len(cpus)} cpus={','.join(map(str, cpus))}", 2 * seconds + LIMIT
    ).get("look", {})
    siblings = {cpu for core in machine.cores if not set(cpus).isdisjoint(core.cpus) for cpu in core.cpus}
    hypervisor, load = machine.setting("hypervisor").value, os.getloadavg()[0]
    proofs = Proofs(hypervisor=hypervisor, since=paces.since, load_average=load, processors=machine.processors)
    proofs = add_processor_use(proofs, before, account(), siblings | set(cpus), os.getpid())
    earlier = _find_best_paces(best_pace.here(paces), toolchain)
    node_of = {cpu: core.node for core in machine.cores for cpu in core.cpus}
    nodes = [node_of.get(cpu, 0) for cpu in cpus]
    each = range(len(cpus))
    cores, memory = [0] if _is_uniform(machine) else each, nodes if len({*nodes}) > 1 else each
    return judge(from_plain(Looks, answer), earlier, cores, memory, proofs)


def _find_best_paces(paces: Mapping[str, float], toolchain: str) -> dict[Kind, float]:
    """Returns the best earlier pace of each kind, of any kind of core or memory node; the clock depends on the case."""
    best: dict[Kind, float] = {}
    for kind in KINDS[1:]:
        start = f"{kind} {toolchain}"
        of_places = [pace for key, pace in paces.items() if key == start or key.startswith(f"{start} ")]
        if of_places:
            best[kind] = MEASURES[kind].best(of_places)
    return best


def _is_uniform(machine: Machine) -> bool:
    """Returns whether all cores are of one kind; the table of processors has none with several kinds."""
    several = "(cpus" in (machine.setting("frequency_hardware_max").value or "") or " + " in machine.processor
    return machine.fma_width is not None and not several


def judge(
    looks: Looks,
    earlier: Mapping[Kind, float],
    cores: Sequence[int] = (),
    memory: Sequence[int] = (),
    proofs: Proofs | None = None,
) -> Look:
    """Judges the readings, which come from the processors by turns. Without `proofs`, only the load average is known.

    `cores` and `memory` have a number for each processor: processors with the same number have equal cores, or the same memory.
    If they are empty, the readings tell which processors are equal.
    """
    proofs = proofs or Proofs(load_average=os.getloadavg()[0])
    inside, slow = None, {}
    for kind in KINDS:
        readings = numbers(looks.of(kind))
        if not (readings > 0).any():
            continue
        places = np.asarray(cores if kind in ("core_clock", "issued") else memory)
        places = places if places.size else find_places(readings[readings > 0])
        held, slow[kind] = compare(readings, MEASURES[kind], earlier.get(kind), places)
        inside = held if inside is None else inside & held
    mean = 1.0 if inside is None else float(inside.mean())
    others = (proofs.others or 0.0) / max(1, proofs.processors)
    free = min(mean, 1 - others, 1 - proofs.stolen)
    return Look(free, replace(proofs, slow={kind: one for kind, one in slow.items() if one.share}))


def prepare(look: Looking, wait: float, usual: float, say: Callable[[str], None]) -> Look:
    """Measures the machine before a run, waits at most `wait` seconds until it is quiet, and prints its condition.

    `usual` is the length of the run on a quiet machine, in seconds.
    """
    most = math.inf if wait > 0 else LOOK_SHARE * usual
    result = look(min(LOOK, most))
    if not result.quiet:
        result = look(min(LONGER, most))
    if wait > 0 and not result.quiet:
        result = _wait_until_quiet(look, result, wait, say)
    if not result.quiet:
        say(sentence(result, wait > 0))
    return result


def sentence(result: Look, waited: bool) -> str:
    """Returns the message for the user before a run on a machine that is not quiet: the cause, and what follows."""
    proofs = result.proofs
    why = explain(proofs)
    if find_cause(proofs) is Cause.MEMORY and any(one.steady for one in proofs.slow.values()):
        free = " The cores had their full speed." if "issued" not in proofs.slow else ""
        if proofs.hypervisor in (None, "none"):
            return f"{why}{free} Waiting will not help: check the memory modules and the settings of the firmware."
    why += f" The machine is slower or in use {percent(1 - result.share)} of the time."
    if not result.never:
        return f"{why} Cases wait for other times."
    offer = "" if waited else " To start when the machine is quiet, use --wait 30m."
    return f"{why} The results show the speed that is left: most of them will be DISTURBED.{offer}"


def _wait_until_quiet(look: Looking, result: Look, wait: float, say: Callable[[str], None]) -> Look:
    until = time.monotonic() + wait
    while not result.quiet and (left := until - time.monotonic()) > 0:
        say(f"Waiting for a quiet machine ({percent(result.share)} of the time now), at most {duration(left)} more …")
        time.sleep(min(5.0, left))
        result = look(LOOK)
    return result
