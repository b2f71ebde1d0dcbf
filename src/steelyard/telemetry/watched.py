"""What a stretch of time cost by each sensor, and by each source in all: of a command, of its phases, of a case."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.model.sensor import Power, Trace
from steelyard.telemetry.energy import Course, Energy, course, energy
from steelyard.telemetry.sampler import added_up


@dataclass(frozen=True)
class Stretch:
    """A named time, in ns since 1970."""

    name: str
    begin: int
    end: int


@dataclass(frozen=True)
class Cost:
    """What a stretch of time cost. `parts` by the sensor's name; `totals` by source: of its sensors that are part of no other."""

    stretch: Stretch
    parts: Mapping[str, Energy]
    totals: Mapping[str, Energy]


def courses(traces: Mapping[str, Trace]) -> dict[str, Course]:
    """Of those traces that have one."""
    return {name: found for name, trace in traces.items() if (found := course(trace))}


def modelled(traces: Mapping[str, Trace]) -> bool:
    """Whether what is said of energy rests on a model of the load, for want of anything measured."""
    known = courses(traces)
    return bool(known) and all(each.sensor.modelled for each in known.values())


def basis(power: Power | None) -> str:
    """What a sentence on energy begins with where it rests on a model; '' where it was measured."""
    return "By power that is modelled, not measured: " if power and modelled(power.traces) else ""


def cost(of: Mapping[str, Course], stretch: Stretch, clock: float = 0.0) -> Cost:
    """Sensors of which too little is known for that time are left out, and so is the total of their source."""
    parts = {name: found for name, each in of.items() if (found := energy(each, stretch.begin, stretch.end, clock))}
    sources: dict[str, list[str]] = {}
    for sensor in added_up([each.sensor for each in of.values()]):
        sources.setdefault(sensor.source, []).append(sensor.name)
    totals = {
        source: _sum([parts[name] for name in names])
        for source, names in sources.items()
        if all(name in parts for name in names)
    }
    return Cost(stretch, parts, totals)


def _sum(parts: Sequence[Energy]) -> Energy:
    """Of sensors over the same time. The greatest powers of several need not coincide: of more than one there is none."""
    one = len(parts) == 1
    return Energy(
        sum(p.joules for p in parts), sum(p.low for p in parts), sum(p.high for p in parts), parts[0].seconds,
        parts[0].greatest if one else None, parts[0].over, max(p.missing for p in parts),
    )  # fmt: skip


def above(spent: Energy, idle: Energy) -> Energy:
    """What was used beyond the power of the idle machine; its interval holds that of both."""
    base = idle.power * spent.seconds
    scale = spent.seconds / idle.seconds
    low, high = spent.low - idle.high * scale, spent.high - idle.low * scale
    return Energy(
        spent.joules - base, low, high, spent.seconds,
        None if spent.greatest is None else spent.greatest - idle.power, spent.over, max(spent.missing, idle.missing),
    )  # fmt: skip


def disagreements(totals: Mapping[str, Energy], whole: Iterable[str]) -> list[str]:
    """A sentence for each two sources of the `whole` node whose intervals do not meet: one of the two is wrong."""
    names = [name for name in whole if name in totals]
    found = []
    for place, a in enumerate(names):
        for b in names[place + 1 :]:
            one, other = totals[a], totals[b]
            if one.high < other.low or other.high < one.low:
                apart = max(one.joules, other.joules) / max(min(one.joules, other.joules), 1e-300)
                found.append(
                    f"{a} and {b} both claim to hold the whole node and differ by a factor of {apart:.2f}, more than their "
                    "intervals allow: one of the two is wrong, or holds less than it says."
                )
    return found
