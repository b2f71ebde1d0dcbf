"""Chooses the results that can stand for a run: those of a main figure, and those of a benchmark that declares none.

A plan asks the same question of cases that are not measured yet, so that a small budget measures the main figures first.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from steelyard.model import Parameters, Result, Scalar
from steelyard.model.roles import SIZES, Headline
from steelyard.statistics.results import messages

# A newcomer's own program meets these; the others are on the benchmark's page.
USUAL: tuple[tuple[str, Scalar], ...] = (
    ("page_size", "default"), ("memory_policy", "local"), ("pinning", "compact"), ("transport", "default"), ("buffers", "fresh"),
)  # fmt: skip
LARGEST = ("threads", "ranks", "message_bytes", *SIZES)  # parameters whose greatest value stands for a benchmark


class HasParameters(Protocol):
    """A result, or what is kept of one."""

    @property
    def parameters(self) -> Parameters: ...


Case = TypeVar("Case", bound=HasParameters)


def candidates(role: Headline, results: Iterable[Result]) -> list[Result]:
    """Returns the results of one benchmark that can be the main figure of this role. Their values decide among them."""
    kept = spared([r for r in results if (role.kernel is None or r.kernel == role.kernel) and role.fits(r)])
    for names, pick in ((role.least, min), (role.most, max)):
        for name in names:
            kept = extreme(kept, name, pick)
    return prefer(kept, role.usual)


def typical(results: Sequence[Result]) -> list[Result]:
    """Returns the results of one kernel that stand for it: the most workers, the largest work, the usual conditions."""
    kept = list(results)
    for name in LARGEST:
        kept = extreme(kept, name, max)
    return prefer(kept, USUAL)


def spared(results: list[Result]) -> list[Result]:
    """Returns the results without those of more ranks than processors, if there are others."""
    return [r for r in results if not messages.oversubscribed(r)] or results


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
