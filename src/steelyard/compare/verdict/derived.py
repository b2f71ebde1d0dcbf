"""Quantities that follow from several cases: the spread of a latency, and the speed per watt."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from steelyard.compare.quantities import Pick, Reading, Readings, is_between_nodes, make_reading
from steelyard.compare.side import SideCase
from steelyard.model import Value

SPREAD = Pick(
    benchmark="network.transfer",
    metric="latency",
    kernel="transfer",
    fits=is_between_nodes,
    where={"direction": "one-way", "message_bytes": 0},
)


def derive(cases: Sequence[SideCase], readings: Readings) -> Mapping[str, Reading]:
    """Returns the readings "spread" and "linpack_per_watt" as far as the cases and the other readings give them."""
    spread = None if "spread" in readings else _measure_spread(cases)
    per_watt = _divide_by_power(readings)
    return {reading.quantity: reading for reading in (spread, per_watt) if reading}


def _measure_spread(cases: Sequence[SideCase]) -> Reading | None:
    """Returns (greatest − least) / median of the latencies of at least two other hosts."""
    partners = [case for case in SPREAD.matching(cases) if case.hosts > 2 and "partner" in case.parameters]
    latencies = sorted(case.metrics[SPREAD.metric].value for case in partners)
    if len({case.parameters["partner"] for case in partners}) < 2:
        return None
    share = Value((latencies[-1] - latencies[0]) / median(latencies), "%", None, None, "lower")
    return make_reading("spread", "Spread of the latency between nodes", partners[0], share)


def _divide_by_power(readings: Readings) -> Reading | None:
    """Returns the speed of HPL divided by the power of the system while it runs."""
    speed, power = readings.get("linpack"), readings.get("linpack_power")
    if not speed or not power or power.number <= 0:
        return None
    value = Value(speed.number / power.number, "flop/s/W", None, None, "higher")
    return replace(speed, quantity="linpack_per_watt", title="HPL speed per watt", value=value, limit=None)
