"""Results of the NAS Parallel Benchmarks: verified quantities, and the share of NPB's operations that a program carries out."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.model import Attempted, Result
from steelyard.statistics.results.applications import NPB, details, number, select_programs

FLOATING = ("cg", "ft", "lu", "mg", "ua")  # benchmarks whose counted operations are floating-point operations
FEW = 0.5  # share of the operations that NPB counts: below it, each comparison of Mop/s has a remark


@dataclass(frozen=True)
class Quantity:
    """A computed number beside the published one. `error` is relative; None if it is not a number."""

    name: str
    value: float | None
    reference: float | None
    error: float | None
    tolerance: float

    @property
    def passed(self) -> bool:
        """Returns whether the error is within NPB's tolerance."""
        return self.error is not None and self.error <= self.tolerance


def select_results(results: Iterable[Result]) -> tuple[Result, ...]:
    """Returns the results of the NAS Parallel Benchmarks, as `of_all` selects them."""
    return select_programs(r for r in results if r.benchmark.startswith(NPB))


def find_executed_share(result: Result) -> float | None:
    """Returns the executed share of NPB's operations if it is below `FEW`, by a better algorithm; else None."""
    work = next((r.work for r in result.attempts if r.work.get("operations") and r.work.get("flops")), None)
    share = work["flops"] / work["operations"] if work else 1.0
    return share if share < FEW and result.kernel in FLOATING else None


def list_quantities(result: Result) -> tuple[Quantity, ...]:
    """Returns each verified quantity once, from the launch with its greatest error."""
    worst: dict[str, Quantity] = {}
    for record in result.attempts:
        for quantity in _read_verification_quantities(record):
            if quantity.name not in worst or _rate_error(quantity) > _rate_error(worst[quantity.name]):
                worst[quantity.name] = quantity
    return tuple(worst.values())


def find_worst(quantities: Iterable[Quantity]) -> Quantity | None:
    """Returns the quantity with the greatest error; None if there is no quantity."""
    return max(quantities, key=_rate_error, default=None)


def _read_verification_quantities(record: Attempted) -> list[Quantity]:
    verification = details(record).get("verification")
    if not isinstance(verification, Mapping):
        return []
    tolerance, rows = number(verification.get("tolerance")), verification.get("quantities")
    quantities = []
    for row in rows if isinstance(rows, list | tuple) else ():
        if isinstance(row, Mapping):
            value, reference, error = (number(row.get(name)) for name in ("value", "reference", "error"))
            allowed = number(row.get("tolerance"))
            quantities.append(
                Quantity(str(row.get("quantity", "")), value, reference, error, allowed or tolerance or 0.0)
            )
    return quantities


def _rate_error(quantity: Quantity) -> float:
    return math.inf if quantity.error is None else quantity.error
