"""The metrics of energy, which follow from sensors and not from a record."""

from steelyard.model import Metric, Record


def _skip(seconds: float, record: Record) -> None:
    """Returns nothing: the values follow from the sensors, not from the record."""


POWER = Metric("power", "W", "lower", "mean power while it ran", _skip)
ENERGY = Metric("energy", "J", "lower", "energy of an operation, including that of the idle parts", _skip)
BEYOND = Metric("energy_above_idle", "J", "lower", "energy of an operation above that of the idle parts", _skip)
FLOPS = Metric("flops_per_joule", "flop/J", "higher", "floating-point operations per joule", _skip)
DELAY = Metric("energy_delay", "J s", "lower", "energy-delay product: energy × time of an operation", _skip)
MODELLED = ", modelled from the load and not measured"
METRICS = (POWER, ENERGY, BEYOND, FLOPS, DELAY)
