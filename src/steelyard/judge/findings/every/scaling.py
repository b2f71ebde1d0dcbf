"""Rule: finds the number of threads, ranks or nodes from which on the efficiency of a program is below one half."""

from steelyard.judge.findings.remedies import advise
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import percent
from steelyard.model.words import in_words
from steelyard.statistics.models.scaling import Point
from steelyard.statistics.results import cases
from steelyard.statistics.results.sweeps import Sweep, sweeps

HALF = 0.5  # below it, two runs side by side on half of the processors each finish more work
# Shortest sample, in seconds: the start and the end of the team dominate shorter ones. NPB's class S is always too short.
LEAST_SECONDS = 0.05
TOO_SMALL = ("S",)
# Programs that divide a fixed amount of work; other rules judge loops over memory and arithmetic.
PROGRAMS = ("application.", "node.", "cluster.")
RISING = 1.25  # times the serial fraction of a smaller count: then no serial part explains it
NAMED = 8  # sweeps of a benchmark in the list


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each benchmark whose efficiency is certainly below half, with all such sweeps."""
    program_sweeps = sweeps(evaluation, lambda name: name.startswith(PROGRAMS), LEAST_SECONDS)
    program_sweeps = tuple(s for s in program_sweeps if s.parameters.get("class") not in TOO_SMALL)
    falling = [(s, from_) for s in program_sweeps if (from_ := _find_half_efficiency(s)) is not None]
    findings = []
    for name in dict.fromkeys(s.benchmark for s, _ in falling):
        members = [(s, point) for s, point in falling if s.benchmark == name]
        findings.append(_make_finding(name, members))
    return findings


def _find_half_efficiency(sweep: Sweep) -> Point | None:
    """Returns the least count from which the whole interval of the efficiency is below half, up to the greatest count."""
    points = [p for p in sweep.scaling.points if not p.crowded and p.count != sweep.scaling.base]
    tail: list[Point] = []
    for point in reversed(points):
        high = point.efficiency.high
        if high is None or high >= HALF:
            break
        tail.append(point)
    return tail[-1] if tail else None


def _make_finding(name: str, members: list[tuple[Sweep, Point]]) -> Finding:
    sweep, point = min(members, key=lambda pair: pair[1].count)
    others = f"{len(members) - 1} other sweeps" if len(members) > 2 else "another sweep"
    more = f" The same holds for {others} of this benchmark." if len(members) > 1 else ""
    larger = "" if sweep.scaling.weak else ", or solve a larger problem"
    return Finding(
        "scaling",
        "notice",
        f"With {point.count} {_describe_sweep(sweep)}, the efficiency of {name} ({_label(sweep)}) is below {percent(HALF)}: "
        f"{_format(point)}.{more}{cases.caution(*_list_evidence(members))}",
        tuple(_describe_evidence(s, p) for s, p in members[:NAMED]),
        _explain_cause(sweep),
        advise(
            f"Use fewer {_describe_sweep(sweep)} for each run and start several runs side by side{larger}. To see "
            "where the efficiency falls: ",
            f"scale {name}",
            then=". The Scaling page shows the largest count that is worth using.",
        ),
        name,
        effect=1 / point.efficiency.value if point.efficiency.value > 0 else None,
        reach="program",
        brief=f"{name} uses {point.count} {_describe_sweep(sweep)} to less than {percent(HALF)}.",
    )


def _list_evidence(members: list[tuple[Sweep, Point]]) -> list[Result]:
    return [s.results[count] for s, p in members for count in (s.scaling.base, p.count)]


def _describe_sweep(sweep: Sweep) -> str:
    return {"ranks_per_node": "ranks on each node"}.get(sweep.over, sweep.over)


def _label(sweep: Sweep) -> str:
    words = [in_words(n, sweep.parameters[n]) for n in ("class", "model", "mode", "mpi") if n in sweep.parameters]
    size = [in_words(n, v) for n, v in sweep.parameters.items() if n in ("elements", "order", "bodies", "steps")]
    growing = ["work proportional to the count"] if sweep.scaling.weak else []
    return ", ".join([sweep.kernel, *words, *size, *growing])


def _format(point: Point) -> str:
    e = point.efficiency
    inside = f" ({percent(e.low)} to {percent(e.high)})" if e.low is not None and e.high is not None else ""
    return f"{percent(e.value)}{inside}"


def _describe_evidence(sweep: Sweep, first: Point) -> str:
    points = [
        f"{p.count}: {_format(p)}" for p in sweep.scaling.points if p.count != sweep.scaling.base and not p.crowded
    ]
    base = sweep.scaling.base
    return f"{_label(sweep)}: efficiency relative to {base} by number of {_describe_sweep(sweep)}: {', '.join(points)}."


def _explain_cause(sweep: Sweep) -> str:
    """Returns the cause: a constant serial fraction is a serial part; a rising one is waiting, messages or sharing."""
    fractions = [(p.count, p.serial) for p in sweep.scaling.points if p.serial is not None and not p.crowded]
    if len(fractions) < 2:
        return "A part of the program runs serially, or a shared resource (memory, caches, network) is saturated."
    (last, most), low = fractions[-1], fractions[-1][1].low
    if low is not None and low > 1:
        return (
            f"With {last} {_describe_sweep(sweep)}, the program is slower than with {sweep.scaling.base}. Waiting, messages or a "
            "shared resource (memory, caches, network) cost more than the work in parallel gains."
        )
    rising = most.value >= max(serial.value for _, serial in fractions)
    for count, serial in fractions[:-1] if rising else ():
        if low is not None and serial.high is not None and low > serial.high and most.value > RISING * serial.value:
            return (
                f"The serial fraction rises from {serial.value:.2g} at {count} to {most.value:.2g} at {last}. Waiting, "
                "messages or a shared resource (memory, caches, network) cost more as the count grows."
            )
    law = "Gustafson" if sweep.scaling.weak else "Amdahl"
    return (
        f"The serial fraction does not rise ({most.value:.2g} at {last}): a part of the program runs serially "
        f"({law}'s law), or a shared resource is saturated."
    )
