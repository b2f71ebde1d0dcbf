"""The records of the NAS Parallel Benchmarks: the quantities that were verified, and the share of operations carried out."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from steelyard.model import Record, Result
from steelyard.statistics.results.applications import NPB, details, number, of_all

FLOATING = ("cg", "ft", "lu", "mg", "ua")  # whose operations are floating-point ones
FEW = 0.5  # of the operations that NPB counts: fewer are worth a remark wherever Mop/s are compared


@dataclass(frozen=True)
class Quantity:
    """A number that a run computed beside the published one; `error` is relative, None where it is no number."""

    name: str
    value: float | None
    reference: float | None
    error: float | None
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the error is within what NPB allows."""
        return self.error is not None and self.error <= self.tolerance


def of(results: Iterable[Result]) -> tuple[Result, ...]:
    """Those of the NAS Parallel Benchmarks, as `of_all`."""
    return of_all(r for r in results if r.benchmark.startswith(NPB))


def carried_out(result: Result) -> float | None:
    """The share of the operations that NPB counts which is carried out, where it is less than half: a better algorithm."""
    work = next((r.work for r in result.records if r.work.get("operations") and r.work.get("flops")), None)
    share = work["flops"] / work["operations"] if work else 1.0
    return share if share < FEW and result.kernel in FLOATING else None


def quantities(result: Result) -> tuple[Quantity, ...]:
    """Each quantity of the verification once, with the launch in which it is the farthest from what is published."""
    worst: dict[str, Quantity] = {}
    for record in result.records:
        for found in _quantities(record):
            known = worst.get(found.name)
            if known is None or _size(found) > _size(known):
                worst[found.name] = found
    return tuple(worst.values())


def farthest(found: Iterable[Quantity]) -> Quantity | None:
    """The one with the greatest error; None where there is none."""
    return max(found, key=_size, default=None)


def _quantities(record: Record) -> list[Quantity]:
    reported = details(record).get("verification")
    if not isinstance(reported, Mapping):
        return []
    tolerance, rows = number(reported.get("tolerance")), reported.get("quantities")
    found = []
    for row in rows if isinstance(rows, list | tuple) else ():
        if isinstance(row, Mapping):
            value, reference, error = (number(row.get(name)) for name in ("value", "reference", "error"))
            allowed = number(row.get("tolerance"))
            found.append(Quantity(str(row.get("quantity", "")), value, reference, error, allowed or tolerance or 0.0))
    return found


def _size(quantity: Quantity) -> float:
    return math.inf if quantity.error is None else quantity.error
