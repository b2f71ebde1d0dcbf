"""Roles of the benchmarks of a run."""

from typing import TypeVar

from steelyard.model import Evaluation
from steelyard.model.roles import Role

Kind = TypeVar("Kind", bound=Role)


def find_roles(evaluation: Evaluation, kind: type[Kind]) -> list[tuple[str, Kind]]:
    """Returns the roles of a kind, each with the name of its benchmark, ordered by name."""
    roles = ((name, role) for name, benchmark in sorted(evaluation.benchmarks.items()) for role in benchmark.roles)
    return [(name, role) for name, role in roles if isinstance(role, kind)]
