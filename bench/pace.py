"""What the machine gave around a measurement: the pace of its cores and memory right before and after, and what others did.

A measurement beside which it gave less is set aside: it is kept and counted, but ratios are of the others.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from steelyard.errors import SteelyardError
from steelyard.measure import build
from steelyard.measure.launch import local
from steelyard.measure.launch.program import Conversation, Program
from steelyard.measure.machine.load import QUIET
from steelyard.measure.plan import catalogue
from steelyard.model import Machine
from steelyard.model.units import quantity
from steelyard.statistics.validity.measures import MEASURES
from steelyard.statistics.validity.observations import numbers

QUIET_STEAL = 0.01  # of the processors' time: moves a rate by as much
LOOK, EACH = 0.1, 0.05  # seconds of a look, at least, and for each processor: some 8 readings of each
HANDOVER = "case=0 kernel=transfer seconds=0.02 least=10 most=100 width=1e-6"  # there and back: two times
LIMIT = 30.0  # seconds beyond the look after which its program hangs
THIRD = 3  # best of the readings: the series' best, so that none gone wrong sets it
# What may be lost of the best: of the additions that a core issues in a second, of the memory's bandwidth, of the accesses in a
# second of which each waits for the one before, and of the times that two cores hand a cache line over: how near they are to
# each other, which a virtual machine's may be at one moment and not at the next.
LOSS = {
    "core": MEASURES["issued"].loss,
    "stream": MEASURES["stream"].loss,
    "chase": MEASURES["chase"].loss,
    "line": MEASURES["exchange"].loss,
}

Pace = Mapping[str, float]  # of each kind so much in a second, more is better; what could not be read is missing
T = TypeVar("T")


@dataclass(frozen=True)
class Load:
    """What others did meanwhile: cores kept busy, share of all processors' time stolen; None: unknown."""

    other: float | None
    steal: float | None

    @property
    def quiet(self) -> bool:
        """Whether neither can have moved a rate by much. The unknown is not held against it."""
        return (self.other or 0.0) <= QUIET * (os.cpu_count() or 1) and (self.steal or 0.0) <= QUIET_STEAL


@dataclass(frozen=True)
class Around:
    """Of a measurement. `before` and `after`: the mean pace of the slowest processor used; `best`: what the series has shown."""

    load: Load
    before: Pace = field(default_factory=dict)
    after: Pace = field(default_factory=dict)
    best: Pace = field(default_factory=dict)

    @property
    def shares(self) -> Pace:
        """Of the best, at the slower of both readings."""
        both = {k: [p[k] for p in (self.before, self.after) if k in p] for k in self.best}
        return {k: min(found) / self.best[k] for k, found in both.items() if found}

    @property
    def slow(self) -> list[str]:
        """The kinds of which the machine gave less than its full pace."""
        return [kind for kind, share in self.shares.items() if share < 1 - LOSS[kind]]

    @property
    def full(self) -> bool:
        """Whether the machine was all ours, as far as could be read."""
        return self.load.quiet and not self.slow


class Measured(Protocol):
    """A dataclass of something measured."""

    @property
    def around(self) -> Around: ...


M = TypeVar("M", bound=Measured)


def judged(series: Sequence[M]) -> list[M]:
    """The same measurements, each beside the best that the whole series has shown."""
    shown = [m.around.best for m in series]
    best = {kind: max(b[kind] for b in shown if kind in b) for kind in LOSS if any(kind in b for b in shown)}
    return [replace(m, around=replace(m.around, best=best)) for m in series]  # type: ignore[type-var]  # see Measured


# --------------------------------------------------------------------------- told


def note(around: Around) -> str:
    """Why a measurement is set aside, behind its line of progress; "" where it is not."""
    if around.full:
        return ""
    load, shares = around.load, around.shares
    reasons = [f"{kind} at {shares[kind]:.2f} of the best" for kind in around.slow]
    if not load.quiet:
        reasons.append(f"others {_known(load.other)} cores, steal {_known(load.steal)}")
    return f"  set aside: {', '.join(reasons)}"


def _known(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.2f}"


def summary(series: Sequence[Around]) -> str:
    """How many measurements are set aside, and why."""
    aside = [a for a in series if not a.full]
    if not aside:
        text = f"All {len(series)} measurements were at the machine's full pace."
    else:
        slow = {kind: sum(kind in a.slow for a in aside) for kind in LOSS}
        causes = [f"{kind} below {1 - LOSS[kind]:.2f} of the best in {n}" for kind, n in slow.items() if n]
        busy = sum(not a.load.quiet for a in aside)
        causes += [f"other load or steal in {busy}"] if busy else []
        text = f"{len(aside)} of {len(series)} measurements are set aside: {', '.join(causes)}."
    unread = sum(not a.shares for a in series)
    return text + (f" The pace beside {unread} is unknown." if unread else "")


def table(sides: Iterable[tuple[str, Around]]) -> list[list[str]]:
    """The rows of the table of paces, its head first: the shares of the best of each side's measurements, median and worst."""
    series: dict[str, list[Around]] = {}
    for name, around in sides:
        series.setdefault(name, []).append(around)
    kinds = [kind for kind in LOSS if any(kind in a.best for of_side in series.values() for a in of_side)]
    rows = [["pace, of the best", *kinds, "at full pace"]]
    for name, all_of_it in sorted(series.items()):
        cells = []
        for kind in kinds:
            shares = [a.shares[kind] for a in all_of_it if kind in a.shares]
            cells.append(f"{median(shares):.2f}, worst {min(shares):.2f}" if shares else "unknown")
        rows.append([name, *cells, f"{sum(a.full for a in all_of_it)} of {len(all_of_it)}"])
    return rows


def best_shown(best: Pace) -> str:
    """What the shares are shares of."""
    parts = [f"{best['core'] / 1e9:.1f}·10⁹ additions a second from a core"] if "core" in best else []
    parts += [f"a read of the memory at {quantity(best['stream'], 'B/s')}"] if "stream" in best else []
    parts += [f"{quantity(1 / best['chase'], 's')} an access"] if "chase" in best else []
    parts += [f"a cache line handed over in {quantity(1 / best['line'], 's')}"] if "line" in best else []
    return f"The best that the series has shown: {', '.join(parts) or 'unknown'}."


# --------------------------------------------------------------------------- read


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What was measured (None: it failed, as `error` says), what was around it, and how long it took."""

    value: T | None
    around: Around
    seconds: float
    error: str = ""


class Watch:
    """Reads the pace by a kernel program that is kept through a series, and sleeps while nobody asks."""

    def __init__(self, conversation: Conversation, cpus: Sequence[int]) -> None:
        self._conversation = conversation
        self._cpus = tuple(cpus)
        self._top: dict[str, list[float]] = {kind: [] for kind in LOSS}

    def measure(self, once: Callable[[], T], cpus: Sequence[int] = (), line: bool = False) -> Outcome[T]:
        """Carries it out with an eye on its processors (all where none are named) and on what others do meanwhile.

        `line`: the two processors talk to each other, and how near they are counts.
        """
        value, error, used = None, "", tuple(cpus) or self._cpus
        before = self._look(used) | (self._line(used) if line else {})
        began = accounts()
        try:
            value = once()
        except (SteelyardError, ValueError, KeyError, OSError) as problem:
            error = f"{type(problem).__name__}: {problem}"
        ended = accounts()
        after = (self._line(used) if line else {}) | self._look(used)
        best = {kind: top[-1] for kind, top in self._top.items() if top}
        return Outcome(value, Around(load_between(began, ended), before, after, best), ended[0] - began[0], error)

    def _look(self, used: Sequence[int]) -> dict[str, float]:
        seconds = max(LOOK, EACH * len(used))
        found = self._ask(f"look={seconds:g} {_team(used)}", seconds).get("look", {})
        rates = rates_of(found)
        self._learn(rates)
        return slowest(numbers(found.get("cpu")), rates)

    def _line(self, used: Sequence[int]) -> dict[str, float]:
        rates = 2 / numbers(self._ask(f"{HANDOVER} {_team(used)}", LOOK).get("samples"))
        self._learn({"line": rates})
        return {"line": float(np.median(rates))} if rates.size else {}

    def _ask(self, line: str, seconds: float) -> Mapping[str, Any]:
        """Nothing where the program has gone: the series goes on."""
        with contextlib.suppress(SteelyardError):
            return self._conversation.ask(line, seconds + LIMIT)
        return {}

    def _learn(self, rates: Mapping[str, np.ndarray]) -> None:
        for kind, values in rates.items():
            known = values[np.isfinite(values)].tolist()
            self._top[kind] = sorted([*self._top[kind], *known], reverse=True)[:THIRD]


def _team(cpus: Sequence[int]) -> str:
    return f"threads={len(cpus)} cpus={','.join(map(str, cpus))}"


def rates_of(look: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Each kind's readings, as so much in a second."""
    columns = {name: numbers(look.get(name)) for name in ("core_clock", "issued", "stream", "chase")}
    with np.errstate(divide="ignore"):
        chase = 1 / columns["chase"]
    return {"core": columns["core_clock"] * columns["issued"], "stream": columns["stream"], "chase": chase}


def slowest(cpus: np.ndarray, rates: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The mean of each kind at the processor that gave least: one that is taken away half of the time gives half."""
    found = {}
    for kind, values in rates.items():
        if values.shape != cpus.shape:
            continue
        each = [values[(cpus == cpu) & np.isfinite(values)] for cpu in np.unique(cpus)]
        means = [float(v.mean()) for v in each if v.size]
        if means:
            found[kind] = min(means)
    return found


@contextmanager
def watching(machine: Machine, toolchain: build.Toolchain) -> Iterator[Watch]:
    """A watch by one of the kernel programs: any of threads tells the pace, this one of two cores as well."""
    benchmark = catalogue.find()["memory.cores"]
    program = build.build([benchmark], toolchain)[benchmark.name]
    conversation = Program([str(program)], local.environment(machine))
    try:
        yield Watch(conversation, machine.cpus)
    finally:
        conversation.close()


Accounts = tuple[float, float, float | None, float | None]


def accounts(stat: Path = Path("/proc/stat")) -> Accounts:
    """Seconds: on the clock, of the processors for us and our children, for all, and stolen."""
    tick = os.sysconf("SC_CLK_TCK")
    own = sum(os.times()[:4]) + sum(_ticks(child) for child in _children()) / tick
    try:
        words = [int(w) for w in stat.read_text().split("\n", 1)[0].split()[1:]]
    except (OSError, ValueError):
        return time.monotonic(), own, None, None
    # user, nice, system, irq, softirq; idle and iowait are 3 and 4, steal is 7, guests are counted in user
    busy = sum(words[i] for i in (0, 1, 2, 5, 6)) / tick
    return time.monotonic(), own, busy, words[7] / tick if len(words) > 7 else None


def _children() -> Iterable[str]:
    """Those that still run: the system counts a child's time as ours only when it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return ()


def _ticks(process: str) -> int:
    """Of a process and of its children that have ended."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return sum(int(w) for w in words[11:15])
    return 0


def load_between(before: Accounts, after: Accounts) -> Load:
    """What others did between two readings of the accounts."""
    elapsed = after[0] - before[0]
    if elapsed <= 0 or before[2] is None or after[2] is None:
        return Load(None, None)
    other = max(0.0, (after[2] - before[2]) - (after[1] - before[1])) / elapsed
    stolen = None if before[3] is None or after[3] is None else after[3] - before[3]
    return Load(other, None if stolen is None else stolen / elapsed / (os.cpu_count() or 1))
