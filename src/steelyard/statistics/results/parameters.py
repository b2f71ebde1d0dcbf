"""Chooses cases by their parameters."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from steelyard.model import Parameters, Scalar

# A newcomer's own program meets these; the others are on the benchmark's page.
USUAL: tuple[tuple[str, Scalar], ...] = (
    ("page_size", "default"), ("memory_policy", "local"), ("pinning", "compact"), ("transport", "default"), ("buffers", "fresh"),
)  # fmt: skip


class HasParameters(Protocol):
    """A result, or what is kept of one."""

    @property
    def parameters(self) -> Parameters: ...


Case = TypeVar("Case", bound=HasParameters)


def extreme(results: list[Case], name: str, pick: Callable[[Iterable[float]], float]) -> list[Case]:
    """Returns the results whose number `name` is the one that `pick` (min or max) chooses; all if none has such a number."""
    numbers = [n for r in results if (n := number(r.parameters.get(name))) is not None]
    if not numbers:
        return results
    wanted = pick(numbers)
    return [r for r in results if number(r.parameters.get(name)) == wanted]


def prefer(results: list[Case], usual: Iterable[tuple[str, Scalar]]) -> list[Case]:
    """Returns the results with these values, as far as there are any."""
    for name, value in usual:
        results = [r for r in results if r.parameters.get(name) == value] or results
    return results


def number(value: Scalar | None) -> float | None:
    """Returns the parameter as a number, also if it is a text such as "8"; None if it is no number."""
    if isinstance(value, int | float):
        return value
    return float(value) if value and value.isdigit() else None
