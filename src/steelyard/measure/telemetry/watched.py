"""The energy of an interval by each sensor, by each source and in total: of a command, its phases, or a case."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from steelyard.measure.machine.load import QUIET
from steelyard.measure.telemetry import overlap
from steelyard.measure.telemetry.coverage import Coverage, by_source, choose
from steelyard.measure.telemetry.energy import Course, Energy, course, energy
from steelyard.measure.telemetry.possible_readings import find_possible, find_wrong_power
from steelyard.measure.telemetry.sampler import select_summed
from steelyard.model.account import Account
from steelyard.model.scope import Parts
from steelyard.model.sensor import Power, Scope, Sensor, Trace
from steelyard.model.units import quantity

ALIKE = 0.01  # share of the time by which the times of two sources may differ in a comparison


@dataclass(frozen=True)
class Stretch:
    """A named time, in ns since 1970."""

    name: str
    begin: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The energy of a stretch of time. `parts` by the sensor's name, `claims` by source of its sensors that no other contains.

    `totals` by source are of the sensors that are the best for their part of the machine, so that no part has two. If sources
    add up, the last one is their sum. `scopes` has the parts that each of them covers. `whole` is the total of the machine.
    """

    stretch: Stretch
    parts: Mapping[str, Energy]
    claims: Mapping[str, Energy]
    totals: Mapping[str, Energy]
    scopes: Mapping[str, Parts]
    whole: Energy | None


class _Claim(NamedTuple):
    """The content of a source, and its mean power with bounds, in W."""

    source: str
    scope: Scope
    power: float
    low: float
    high: float


def courses(traces: Mapping[str, Trace]) -> dict[str, Course]:
    """Returns the courses of the traces that have one. A sensor that another one contains, by their readings, is part of that
    one. The supplies of a node have courses only if all have one, and one delivers power: their sum is the power of the node."""
    nodes = supplies(traces)
    made = {name: whole for name, trace in traces.items() if (whole := course(trace, name in nodes))}
    unread = {node for name, node in nodes.items() if name not in made}
    fed = {node for name, node in nodes.items() if name in made and made[name].joules[-1] > 0}
    return overlap.resolve({n: c for n, c in made.items() if n not in nodes or nodes[n] in fed - unread})


def supplies(traces: Mapping[str, Trace]) -> dict[str, tuple[str, str]]:
    """Returns the sensors of power whose sum is that of a node, by name; the supplies of one node have equal values."""
    nodes = {
        name: (trace.sensor.source, name.rpartition("/")[0])
        for name, trace in traces.items()
        if trace.sensor.scope == "node" and trace.sensor.quantity == "power" and trace.sensor.part_of not in traces
    }
    several = Counter(nodes.values())
    return {name: node for name, node in nodes.items() if several[node] > 1}


def describe_impossible(traces: Mapping[str, Trace]) -> list[str]:
    """Returns a sentence on each meter with readings that cannot be right."""
    several, sentences = supplies(traces), []
    for name, trace in traces.items():
        odd = trace.value[~find_possible(trace, name in several)]
        if (wrong := find_wrong_power(trace, name in several)) is not None:
            sentences.append(
                f"{name} shows {quantity(wrong, 'W')} for the scope '{trace.sensor.scope}', which is "
                f"{'more' if wrong > 1 else 'less'} than any machine draws. Its readings do not count. Check the unit of this "
                "sensor."
            )
        elif trace.sensor.quantity == "power" and odd.size:
            sentences.append(
                f"{name} reported {odd[0]:.0f} W in {odd.size} of {trace.value.size} readings. No running machine "
                "draws this power, so that these readings do not count."
            )
    return sentences


def is_modelled(traces: Mapping[str, Trace]) -> bool:
    """Returns whether the energy comes only from a model of the load, because nothing was measured."""
    resolved = courses(traces)
    return bool(resolved) and all(item.sensor.modelled for item in resolved.values())


def name_basis(power: Power | None) -> str:
    """Returns the beginning of a sentence on energy that rests on a model; '' if it was measured."""
    return "The power is modelled, not measured. " if power and is_modelled(power.traces) else ""


def cost(of: Mapping[str, Course], stretch: Stretch, clock: float = 0.0) -> Cost:
    """Returns the energies of an interval. A sensor with too few readings is left out, and so is the total of its source.

    An interval without length (two phases that were marked at once) has no energy.
    """
    if stretch.end <= stretch.begin:
        return Cost(stretch=stretch, parts={}, claims={}, totals={}, scopes={}, whole=None)
    sensors, unsure = [item.sensor for item in of.values()], overlap.doubtful(of)
    parts = {name: used for name, item in of.items() if (used := energy(item, stretch.begin, stretch.end, clock))}
    sources = by_source(sensors)
    spent = {name: add(chosen.sensors, parts, unsure) for name, chosen in sources.items()}
    return Cost(
        stretch=stretch,
        parts=parts,
        claims=totals(select_summed(sensors), parts, unsure),
        totals={name: used for name, used in spent.items() if used},
        scopes={name: chosen.scope for name, chosen in sources.items()},
        whole=spent.get(choose(sensors).source),
    )


def total(of: Mapping[str, Course], coverage: Coverage, stretch: Stretch) -> Energy | None:
    """Returns the energy of an interval by the sensors that count; None if one of them has too few readings."""
    names = {sensor.name for sensor in coverage.sensors}
    parts = {n: used for n in names if (used := energy(of[n], stretch.begin, stretch.end))}
    return add(coverage.sensors, parts, overlap.doubtful(of))


def totals(sensors: Iterable[Sensor], parts: Mapping[str, Energy], doubtful: Collection[str] = ()) -> dict[str, Energy]:
    """Returns the sum of each source over the sensors; a source with an unknown sensor is left out."""
    sources: dict[str, list[Sensor]] = {}
    for sensor in sensors:
        sources.setdefault(sensor.source, []).append(sensor)
    return {name: spent for name, members in sources.items() if (spent := add(members, parts, doubtful))}


def add(sensors: Sequence[Sensor], parts: Mapping[str, Energy], doubtful: Collection[str] = ()) -> Energy | None:
    """Returns the sum over the sensors; None if one of them is unknown.

    A `doubtful` sensor may be part of another one. The sum includes it, and the interval begins at the sum without it.
    """
    names = [sensor.name for sensor in sensors]
    if not names or any(name not in parts for name in names):
        return None
    return _sum_parts([parts[name] for name in names], [parts[name] for name in names if name not in doubtful])


def _sum_parts(parts: Sequence[Energy], sure: Sequence[Energy]) -> Energy:
    """Adds sensors over the same time. The greatest powers of several need not coincide, so that their sum has none."""
    one = len(parts) == 1
    return Energy(
        joules=sum(p.joules for p in parts), low=sum(p.low for p in sure), high=sum(p.high for p in parts),
        seconds=parts[0].seconds,
        greatest=parts[0].greatest if one else None, over=parts[0].over, missing=max(p.missing for p in parts),
    )  # fmt: skip


def name_load(load: Account | None) -> str:
    """Returns a note if other processes kept processors busy while the idle power was read; "" if few, or unknown."""
    if load is None or load.share <= QUIET:
        return ""
    return (
        f"The machine was not idle while its idle power was measured: other processes kept {load.cores:.1f} of "
        f"{load.processors:.0f} processors busy. "
        "The idle power is therefore too high, and the energy above idle too low. Stop these processes and measure again."
    )


def above(spent: Energy, idle: Energy) -> Energy:
    """Returns the energy beyond that of the idle machine; its interval contains those of both."""
    base = idle.power * spent.seconds
    scale = spent.seconds / idle.seconds
    low, high = spent.low - idle.high * scale, spent.high - idle.low * scale
    return Energy(
        joules=spent.joules - base, low=low, high=high, seconds=spent.seconds,
        greatest=None if spent.greatest is None else spent.greatest - idle.power, over=spent.over,
        missing=max(spent.missing, idle.missing),
    )  # fmt: skip


def disagreements(sensors: Sequence[Sensor], claims: Mapping[str, Energy]) -> list[str]:
    """Returns a sentence for each two sources that contradict each other: both measure the same, or a part and its whole.

    `claims` are the sums of these sensors by source. The intervals include the errors that the makers state.
    """
    compared = []
    longest = max((spent.seconds for spent in claims.values()), default=0.0)
    for source, spent in claims.items():
        usable = [sensor for sensor in select_summed(sensors) if sensor.source == source]
        scopes, error = {sensor.scope for sensor in usable}, max(sensor.error or 0.0 for sensor in usable)
        if len(scopes) == 1 and spent.joules > 0 and spent.seconds > (1 - ALIKE) * longest:
            low, high = spent.low * (1 - error), spent.high * (1 + error)
            compared.append(_Claim(source, usable[0].scope, spent.power, low / spent.seconds, high / spent.seconds))
    return [sentence for pair in permutations(compared, 2) if (sentence := _describe_disagreement(*pair))]


def _describe_disagreement(one: _Claim, other: _Claim) -> str:
    """Returns a sentence if the first source shows more than is possible; else ""."""
    if one.low <= other.high or not one.scope or other.scope not in (one.scope, "node"):
        return ""
    times = f"{one.power / other.power:.2f} times"
    if one.scope == other.scope:
        what = "whole node" if one.scope == "node" else one.scope
        return (
            f"{one.source} and {other.source} both measure the {what}. {one.source} shows {times} as much power, which is "
            "more than their intervals allow. One of them is wrong or measures other parts than it states."
        )
    return (
        f"{one.source} shows {times} as much power for the {one.scope} alone as {other.source} shows for the whole node. "
        "This is more than their intervals allow. One of the two is wrong."
    )
