"""Rule: from how many threads, ranks or nodes on a program uses less than half of them."""

from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics.models.scaling import Point
from steelyard.statistics.results import cases
from steelyard.statistics.results.sweeps import Sweep, sweeps
from steelyard.units import percent
from steelyard.words import in_words

HALF = 0.5  # below it two runs side by side, each on half of the processors, finish more work
# Of the shortest sample. What lasts a few milliseconds is the start and the end of the team, not the program; of NPB that is
# class S, whose speed is never reported.
LEAST_SECONDS = 0.05
TOO_SMALL = ("S",)
# Programs that share out a work; loops over memory and arithmetic have rules of their own.
PROGRAMS = ("application.", "node.", "cluster.")
RISING = 1.25  # times the serial fraction of fewer, and distinguished from it: then it is no part that runs alone
NAMED = 8  # sweeps of a benchmark that are reported


def find(evaluation: Evaluation) -> list[Finding]:
    """One finding for each benchmark that falls below half for certain; it tells every such sweep of it."""
    own = sweeps(evaluation, lambda name: name.startswith(PROGRAMS), LEAST_SECONDS)
    own = tuple(s for s in own if s.parameters.get("class") not in TOO_SMALL)
    falling = [(s, from_) for s in own if (from_ := _below(s)) is not None]
    found = []
    for name in dict.fromkeys(s.benchmark for s, _ in falling):
        mine = [(s, point) for s, point in falling if s.benchmark == name]
        found.append(_finding(name, mine))
    return found


def _below(sweep: Sweep) -> Point | None:
    """The least count from which on the efficiency is below half, up to the greatest, and the interval says so there."""
    own = [p for p in sweep.scaling.points if not p.crowded and p.count != sweep.scaling.base]
    tail: list[Point] = []
    for point in reversed(own):
        high = point.efficiency.high
        if high is None or high >= HALF:
            break
        tail.append(point)
    return tail[-1] if tail else None


def _finding(name: str, mine: list[tuple[Sweep, Point]]) -> Finding:
    sweep, point = min(mine, key=lambda pair: pair[1].count)
    more = f" So do {len(mine) - 1} other sweeps of it." if len(mine) > 2 else " So does another sweep of it."
    return Finding(
        "scaling",
        "notice",
        f"{name} ({_named(sweep)}) uses less than half of its {_words(sweep)} from {point.count} on: the efficiency is "
        f"{_share(point)}.{more if len(mine) > 1 else ''}{cases.caution(*_rests_on(mine))}",
        tuple(_evidence(s, p) for s, p in mine[:NAMED]),
        _cause(sweep),
        f"Load fewer for each run, and run several side by side; a larger problem; see where it goes: steelyard scale {name}. "
        f"The page on scaling tells up to which count one more is worth it.",
        name,
        effect=1 / point.efficiency.value if point.efficiency.value > 0 else None,
        reach="program",
    )


def _rests_on(mine: list[tuple[Sweep, Point]]) -> list[Result]:
    return [s.results[count] for s, p in mine for count in (s.scaling.base, p.count)]


def _words(sweep: Sweep) -> str:
    return {"ranks_per_node": "ranks on each node"}.get(sweep.over, sweep.over)


def _named(sweep: Sweep) -> str:
    reported = [in_words(n, sweep.parameters[n]) for n in ("class", "model", "mode", "mpi") if n in sweep.parameters]
    size = [in_words(n, v) for n, v in sweep.parameters.items() if n in ("elements", "order", "bodies", "steps")]
    growing = ["the work growing with the count"] if sweep.scaling.weak else []
    return ", ".join([sweep.kernel, *reported, *size, *growing])


def _share(point: Point) -> str:
    e = point.efficiency
    inside = f" ({percent(e.low)} to {percent(e.high)})" if e.low is not None and e.high is not None else ""
    return f"{percent(e.value)}{inside}"


def _evidence(sweep: Sweep, first: Point) -> str:
    points = [
        f"{p.count}: {_share(p)}" for p in sweep.scaling.points if p.count != sweep.scaling.base and not p.crowded
    ]
    base = sweep.scaling.base
    return f"{_named(sweep)}: efficiency against {base}, by {_words(sweep)}: {', '.join(points)}."


def _cause(sweep: Sweep) -> str:
    """By whether the serial fraction stays (a part that runs alone) or rises (waiting, messages, something shared)."""
    known = [(p.count, p.serial) for p in sweep.scaling.points if p.serial is not None and not p.crowded]
    if len(known) < 2:
        return "A part of it runs alone, or what the processors share, as memory, caches and the network, is used up."
    (last, most), low = known[-1], known[-1][1].low
    for count, serial in known[:-1]:
        if low is not None and serial.high is not None and low > serial.high and most.value > RISING * serial.value:
            return (
                f"The serial fraction rises from {serial.value:.2g} at {count} to {most.value:.2g} at {last}: waiting, messages "
                "or something shared (memory, caches, network) costs more with each."
            )
    return (
        f"The serial fraction stays, {most.value:.2g} at {last}: a part runs alone (Amdahl), or one resource that all share "
        "is full."
    )
