"""The parameters of a benchmark and the values that a preset gives them on this machine. Pure."""

from steelyard.model import Benchmark, Effort, Machine, Scalar


def parameter_values(benchmark: Benchmark, machine: Machine, effort: Effort) -> dict[str, tuple[Scalar, ...]]:
    """Returns the values of each parameter in the order of the benchmark's axes, with parameters that only --set can use."""
    values: dict[str, dict[Scalar, None]] = {}
    for block in benchmark.axes(machine, effort):
        for name in (*block.values, *block.further):
            values.setdefault(name, {}).update(dict.fromkeys(block.values.get(name, ())))
    return {name: tuple(axis) for name, axis in values.items()}
