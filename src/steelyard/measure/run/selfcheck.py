"""Planted truth: known disturbances are planted on this machine, and each must be found and named.

A tool that measures others must be measured itself: a competing process, a clock that drops, page faults inside the
timed region, a delay of 2 %, and the coverage of its own intervals in simulation.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Literal

from steelyard.errors import UsageError, nearest
from steelyard.measure.machine.load import QUIET, measure_load, wait_until_quiet
from steelyard.measure.run.bench import IN_CACHE, IN_MEMORY, SAMPLE_SECONDS, SAMPLES, Bench
from steelyard.measure.screen import Screen
from steelyard.model import Record
from steelyard.model.evidence import sentence
from steelyard.model.units import percent
from steelyard.statistics.results.usable_samples import undisturbed
from steelyard.statistics.validity.verdict import name_disturbance
from steelyard.system.starts import python_command, start_program

AGREES = 0.10  # what two CLEAN figures of one machine may lie apart
TOLERATED = 0.02  # a value that was moved by less than this need not be flagged
STEADY = 0.05  # what nine tenths of the samples of a case lie apart at most that nobody disturbed
FALSE_ALARMS = 0.05  # the share of quiet cases that may be flagged
DELAY = 0.02
STREAMED = 20  # repetitions at most beside a real neighbour, of seconds each
# Samples with and without the delay, in turn, each so short that a pair has one clock and the same neighbours.
TURNS, TURN_SECONDS = 2000, 1e-3


@dataclass(frozen=True)
class Outcome:
    """Result of a check: "unknown" where the machine did not let it be judged."""

    name: str
    state: Literal["passed", "failed", "unknown"]
    seen: str
    evidence: tuple[str, ...] = ()


def carry_out(only: Sequence[str], repetitions: int, screen: Screen, done: Callable[[Outcome], None]) -> list[Outcome]:
    """Runs the checks named by `only`, or all; shows which one runs, and says what it found. UsageError for an unknown name."""
    from steelyard.measure.plan import EFFORTS
    from steelyard.measure.run import setup

    chosen = {name: check for name, check in CHECKS.items() if not only or name in only}
    for name in only:
        if name not in CHECKS:
            raise UsageError(f"There is no check '{name}' (given by --only). {nearest(name, CHECKS)}")
    with screen.working("Examining the machine and its compilers"):
        here = setup.resolve(setup.Request(effort=EFFORTS["quick"], only=["memory.stream"]))
    programs = here.programs(screen)
    bench = Bench(here.machine, next(iter(programs.values())))
    outcomes: list[Outcome] = []
    try:
        with screen.working("Measuring the best pace of the machine"):
            bench.learn()
        for place, (name, check) in enumerate(chosen.items(), 1):
            with screen.working(f"Check {place} of {len(chosen)}: {name}"):
                outcomes.append(replace(check(bench, repetitions), name=name))
            done(outcomes[-1])
    finally:
        bench.close()
    return outcomes


def quiet(bench: Bench, repetitions: int) -> Outcome:
    """Cases that nobody disturbs on purpose and that stayed where they were: hardly any may be flagged.

    A case whose own samples lie apart, or whose value moved, was disturbed by somebody else: to flag it is no false alarm. A
    machine on which most cases are (neighbours of a virtual machine, a wandering clock) cannot be judged.
    """
    records = []
    for _ in range(repetitions):
        wait_until_quiet(2.0)
        records.append(bench.measure())
    values = [median(r.samples) for r in records]
    scatter, middle = _scatter(values), median(values)
    steady = [r for r in records if _scatter(r.samples) <= STEADY and abs(median(r.samples) / middle - 1) <= TOLERATED]
    flagged = [sentence(r.verdict.evidence[0]) for r in steady if r.verdict.level != "CLEAN"]
    summary = (
        f"{len(flagged)} of {len(steady)} undisturbed cases were flagged; {repetitions - len(steady)} more were disturbed by "
        f"others; the values scatter by {percent(scatter, 1)}"
    )
    few = len(steady) < repetitions / 2
    if not few and len(flagged) <= FALSE_ALARMS * len(steady):
        return Outcome("quiet", "passed", summary)
    load = measure_load(1.0)
    unsteady = few or scatter > TOLERATED or (load is not None and load.share > QUIET)
    reason = "; false alarms cannot be counted, because this machine is not quiet" if unsteady else ""
    return Outcome("quiet", "unknown" if unsteady else "failed", summary + reason, tuple(flagged[:5]))


def competing(bench: Bench, repetitions: int) -> Outcome:
    """A competing process on the measured core for half of the samples: flagged, or the value was not moved."""
    return _measure_beside_load(bench, "competing", repetitions, 0, SAMPLES / 2 * SAMPLE_SECONDS)


def polite(bench: Bench, repetitions: int) -> Outcome:
    """A process at nice 19 on the measured core all the time: flagged, or the value was not moved, but for one in twenty."""
    return _measure_beside_load(bench, "polite", repetitions, 19, 0.0, FALSE_ALARMS)


def _measure_beside_load(
    bench: Bench, name: str, repetitions: int, nice: int, after: float, tolerated: float = 0.0
) -> Outcome:
    """Cases beside a process of that niceness, which begins `after` so many seconds; a share of them may be missed."""
    records: list[Record] = []
    with competitor(bench.cpu, nice) as process:
        quiet_values = [median(undisturbed(bench.measure()))]
        for _ in range(repetitions):
            timer = threading.Timer(after, lambda: process.send_signal(signal.SIGCONT))
            timer.start()
            records.append(bench.measure())
            timer.join()
            process.send_signal(signal.SIGSTOP)
            quiet_values.append(median(undisturbed(bench.measure())))
    return _check_flagged_or_near(bench, name, records, quiet_values, TOLERATED, tolerated)


def streaming(bench: Bench, repetitions: int) -> Outcome:
    """Another processor streams through the memory, and no account tells of it: flagged, or the value was not moved.

    As `competing`, with vectors in the memory. Where there is one processor only, no such neighbour can be made.
    """
    if bench.other is None:
        return Outcome(
            "streaming",
            "unknown",
            "this machine has only one processor, so no other process can read memory during the case",
        )
    records: list[Record] = []
    quiet_values = [median(bench.measure(elements=IN_MEMORY).samples)]
    for _ in range(min(repetitions, STREAMED)):
        with neighbour(bench):
            records.append(bench.measure(elements=IN_MEMORY, hidden=True))
        quiet_values.append(median(bench.measure(elements=IN_MEMORY).samples))
    return _check_flagged_or_near(bench, "streaming", records, quiet_values, AGREES)


def _check_flagged_or_near(
    bench: Bench,
    name: str,
    records: Sequence[Record],
    quiet_values: Sequence[float],
    near: float,
    tolerated: float = 0.0,
) -> Outcome:
    """Each case is flagged, or its median is within `near` of the quiet value, but for a share of them that is `tolerated`.

    `quiet_values` were measured before, between and after the cases. Where those beside a case differ, anything between them
    counts as quiet.
    """
    missed: list[str] = []
    for record, around in zip(records, pairwise(quiet_values), strict=True):
        low, high = sorted(around)
        value = median(undisturbed(record))
        moved = max(value / high - 1, 1 - value / low)
        if record.verdict.level == "CLEAN" and moved > near:
            missed.append(
                f"the verdict was CLEAN, although the median differed by {percent(moved, 1)} from the quiet value"
            )
    right, flags = len(records) - len(missed), sum(record.verdict.level != "CLEAN" for record in records)
    summary = f"{right} of {len(records)} cases were flagged ({flags}) or within {percent(near)} of the quiet value"
    if len(missed) <= tolerated * len(records):
        return Outcome(name, "passed", summary)
    return _report_missed(bench, name, summary, tuple(missed[:5]))


@contextmanager
def neighbour(bench: Bench) -> Iterator[None]:
    """Another processor that streams through the memory by this tool's own kernel."""
    words = f"kernel=triad threads=1 cpus={bench.other} elements={IN_MEMORY} seconds=60 width=1e-9 most=1000000"
    process = start_program([str(bench.program)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        assert process.stdin
        process.stdin.write(words.encode() + b"\n")
        process.stdin.flush()
        time.sleep(0.5)  # until its vectors are filled
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def competitor(cpu: int, nice: int = 0) -> Iterator[subprocess.Popen[bytes]]:
    """A process that computes on `cpu` while it is not stopped; stopped at first."""
    process = start_program(python_command("-c", f"import os; os.nice({nice})\nwhile True: pass"))
    try:
        os.sched_setaffinity(process.pid, {cpu})
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        yield process
    finally:
        process.kill()
        process.wait()


def _scatter(values: Sequence[float]) -> float:
    """Returns the relative width of the middle nine tenths of the values."""
    ordered = sorted(values)
    return ordered[-1 - len(ordered) // 20] / ordered[len(ordered) // 20] - 1


def _report_missed(bench: Bench, name: str, summary: str, evidence: tuple[str, ...] = ()) -> Outcome:
    """Something planted was missed: a failure, unless the machine's own unrest is large enough to hide it."""
    apart = _scatter([median(bench.measure().samples) for _ in range(20)])
    if apart <= TOLERATED:
        return Outcome(name, "failed", summary, evidence)
    return Outcome(
        name,
        "unknown",
        f"{summary}; the quiet values already scatter by {percent(apart, 1)}, which may hide the disturbance",
        evidence,
    )


def _plant_disturbance(
    kind: str, plant: str, expected: str, first: int = 0, elements: int = IN_CACHE
) -> Callable[[Bench, int], Outcome]:
    """Disturbs the samples from `first` on: the case is flagged, or rests on those before; its evidence names `expected`."""

    def wrong(record: Record) -> str | None:
        named = [
            e
            for e in record.verdict.evidence
            if e.kind == expected or (e.kind == "set aside" and expected in e.numbers)
        ]
        counted = max(set(range(len(record.samples))) - set(record.aside), default=-1)
        if named and (record.verdict.level != "CLEAN" or counted < first):
            return None
        return f"missed: the verdict was {record.verdict.level}, with the evidence: {name_disturbance(record.verdict) or 'none'}"

    def check(bench: Bench, repetitions: int) -> Outcome:
        missed = [w for w in (wrong(bench.measure(plant, elements=elements)) for _ in range(repetitions)) if w]
        right = "flagged, or rest on undisturbed samples," if first else "flagged"
        summary = (
            f"{repetitions - len(missed)} of {repetitions} cases were {right} and their evidence names '{expected}'"
        )
        if missed:
            return _report_missed(bench, kind, summary, tuple(dict.fromkeys(missed)))
        return Outcome(kind, "passed", summary)

    return check


def delay(bench: Bench, repetitions: int) -> Outcome:
    """A delay of 2 % in every other sample against the others: the comparison must call it slower, by 2 %."""
    from steelyard.statistics.difference.compare import compare_in_turn

    samples = bench.measure(f"turns:{DELAY}", TURNS, TURN_SECONDS).samples
    pairs = len(samples) // 2
    without, delayed = ([(s,) for s in samples[first : 2 * pairs : 2]] for first in (0, 1))
    comparison = compare_in_turn(without, delayed, smallest=DELAY / 2)
    moved, low, high = (percent(end - 1, 2, signed=True) for end in (comparison.ratio, comparison.low, comparison.high))
    summary = (
        f"the comparison called it {comparison.call}: {moved} [{low}, {high}] for a planted delay of {percent(DELAY)}"
    )
    right = comparison.call == "SLOWER" and abs(comparison.ratio - 1 - DELAY) <= DELAY / 4
    return Outcome("delay", "passed", summary) if right else _report_missed(bench, "delay", summary)


def intervals(bench: Bench, repetitions: int) -> Outcome:
    """The 95 % interval of the median holds the truth in 93 to 97 % of simulated cases, also of autocorrelated samples."""
    from steelyard.statistics.samples.simulate import PROCESSES, coverage

    shares = {(p, n): coverage(p, n, 4000, seed=n) for p in PROCESSES for n in (30, 100, 300)}
    wrong = tuple(
        f"{p}, {n} samples: {percent(share, 1)}" for (p, n), share in shares.items() if not 0.93 <= share <= 0.97
    )
    least, most = (percent(end(shares.values()), 1) for end in (min, max))
    summary = f"the interval contains the true value in {least} to {most} of simulated cases"
    return Outcome("intervals", "failed" if wrong else "passed", summary, wrong)


CHECKS: dict[str, Callable[[Bench, int], Outcome]] = {
    "intervals": intervals,
    "clock": _plant_disturbance("clock", "clock:0.8", "core clock", first=SAMPLES // 2),
    "faults": _plant_disturbance("faults", "faults:500", "page faults"),
    "delay": delay,
    "shared": _plant_disturbance("shared", "shared:0.5", "shared core"),
    "memory": _plant_disturbance("memory", "memory:0.5", "shared memory", elements=IN_MEMORY),
    "quiet": quiet,
    "streaming": streaming,
    "competing": competing,
    "polite": polite,
}
