"""Classes of cases, by what limits them: the same for all systems, so that two systems compare class by class."""

from typing import Literal, get_args

from steelyard.model import Parameters, Result

Class = Literal["memory", "compute", "short messages", "long messages", "applications"]
CLASSES: tuple[Class, ...] = get_args(Class)

LONG = 32 << 10  # bytes; from here on the rate of a link decides, not the cost of a message
MEMORY_UNITS = ("B/s",)
GROUPS: dict[str, Class] = {"memory": "memory", "core": "compute", "node": "compute", "noise": "compute"}
PROGRAMS = ("application", "foreign")

MEANINGS: dict[Class, str] = {
    "memory": "bandwidth and latency of the memory of a node",
    "compute": "kernels of cores and nodes",
    "short messages": "messages below 32 KiB, and operations without data",
    "long messages": "messages of 32 KiB and more",
    "applications": "whole programs",
}


def find_class(result: Result) -> Class:
    """Returns the class of a case: from its group, its message size, or the unit of its first metric."""
    unit = next((value.unit for value in result.metrics.values()), "")
    return find_class_of(result.benchmark, result.parameters, unit)


def find_class_of(benchmark: str, parameters: Parameters, unit: str) -> Class:
    """Returns the class of a case with a metric of this unit."""
    group = benchmark.partition(".")[0]
    if group in PROGRAMS:
        return "applications"
    size = parameters.get("message_bytes")
    if size is not None or group == "network":
        return "long messages" if isinstance(size, int | float) and size >= LONG else "short messages"
    if group in GROUPS:
        return GROUPS[group]
    return "memory" if unit in MEMORY_UNITS else "compute"
