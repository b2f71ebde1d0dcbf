"""Which benchmarks of a run play a part for the whole of it."""

from typing import TypeVar

from steelyard.model import Evaluation
from steelyard.model.roles import Role

Kind = TypeVar("Kind", bound=Role)


def playing(evaluation: Evaluation, kind: type[Kind]) -> list[tuple[str, Kind]]:
    """The roles of that kind, each with the name of its benchmark, by these names."""
    roles = ((name, role) for name, benchmark in sorted(evaluation.benchmarks.items()) for role in benchmark.roles)
    return [(name, role) for name, role in roles if isinstance(role, kind)]
