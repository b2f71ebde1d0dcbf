"""The needs of a program on a system: ranks, nodes, time, power, energy, rack units and money."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from steelyard.compare.program_points import Point, Z, has_interval, log_error, worst_level
from steelyard.compare.time_ratios import time_ratio
from steelyard.model import Equipment, Level, Value
from steelyard.statistics.models.equal_time import Reached
from steelyard.statistics.models.scaling_models import Estimate

JOULES_PER_KWH = 3.6e6


@dataclass(frozen=True, kw_only=True)
class Needs:
    """The needs of a program on `side`: time in s, power in W, energy (power × time) in J. Unknown values are None.

    `price` is that of the nodes, `energy_price` that of the energy of one run, both in `currency`.
    """

    side: str
    ranks: float | None
    nodes: float | None
    time: Value
    power: Value | None
    energy: Value | None
    rack_units: float | None
    price: float | None
    energy_price: float | None
    currency: str
    level: Level


def measured_needs(side: str, point: Point, equipment: Equipment) -> Needs:
    """Returns the needs at a measured point."""
    return _needs(side, point.workers, point.nodes, point.time, point.power, point.level, equipment, point.rack_units)


def solved_needs(
    side: str, points: Mapping[int, Point], reached: Reached, unit: str, time: Value, equipment: Equipment
) -> Needs:
    """Returns the needs at a count that was not measured, for the given time.

    Power, ranks and nodes are read off between the neighbouring counts; beyond them they grow in proportion to the count.
    """

    def at(value: Callable[[Point], float | None]) -> float | None:
        return _interpolate({count: v for count, point in points.items() if (v := value(point))}, reached.count)

    watts = at(lambda point: point.power.value if point.power else None)
    powers = [point.power for point in points.values() if point.power]
    spread = math.exp(Z * max(map(log_error, powers), default=0.0))
    power = None if watts is None else Value(watts, "W", None, None, "lower")
    if power and all(map(has_interval, powers)):
        power = replace(power, low=power.value / spread, high=power.value * spread)
    ranks = at(lambda point: point.workers) if unit == "nodes" else reached.count
    nodes = reached.count if unit == "nodes" else at(lambda point: point.nodes)
    level = worst_level(point.level for point in points.values())
    return _needs(side, ranks, nodes, time, power, level, equipment, None)


def ratio_of(other: Value, base: Value) -> Estimate:
    """Returns other / base with its 95 % interval; without one if a value has none. That of other tools is as in `compare`."""
    half, ratio = Z * math.hypot(log_error(other), log_error(base)), other.value / base.value
    if not (has_interval(other) and has_interval(base)):
        return Estimate(ratio)
    if other.statistic and base.statistic and (ends := time_ratio(base, other, foreign=True)):
        return Estimate(*ends)
    return Estimate(ratio, ratio / math.exp(half), ratio * math.exp(half))


def _needs(
    side: str, ranks: float | None, nodes: float | None, time: Value, power: Value | None, level: Level,
    equipment: Equipment, printed: float | None,
) -> Needs:  # fmt: skip
    if nodes is None and ranks is not None and equipment.cores_per_node:
        nodes = math.ceil(ranks / equipment.cores_per_node)
    energy = _product(power, time) if power else None
    whole = None if nodes is None else math.ceil(nodes - 1e-9)
    units = None
    if whole and equipment.nodes_per_enclosure and equipment.rack_units_per_enclosure:
        units = math.ceil(whole / equipment.nodes_per_enclosure) * equipment.rack_units_per_enclosure
    hourly = equipment.price_per_kwh
    return Needs(
        side=side,
        ranks=ranks,
        nodes=nodes,
        time=time,
        power=power,
        energy=energy,
        rack_units=printed if units is None else units,
        price=whole * equipment.price_per_node if whole and equipment.price_per_node is not None else None,
        energy_price=energy.value / JOULES_PER_KWH * hourly if energy and hourly is not None else None,
        currency=equipment.currency,
        level=level,
    )


def _product(power: Value, time: Value) -> Value:
    joules = power.value * time.value
    if not (power.low and power.high and time.low and time.high):
        return Value(joules, "J", None, None, "lower")
    return Value(joules, "J", power.low * time.low, power.high * time.high, "lower")


def _interpolate(known: Mapping[int, float], count: float) -> float | None:
    """Returns the value at a count: straight between the logarithms of its neighbours, in proportion beyond them."""
    if not known:
        return None
    below, above = (
        max((n for n in known if n <= count), default=None),
        min((n for n in known if n >= count), default=None),
    )
    if below is None or above is None:
        nearest = above if below is None else below
        assert nearest is not None
        return known[nearest] * count / nearest
    if below == above:
        return known[below]
    share = math.log(count / below) / math.log(above / below)
    return float(known[below] * (known[above] / known[below]) ** share)
