"""What the records of applications say, and of the NAS Parallel Benchmarks most: who ran them, what was verified, the time."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from steelyard.benchmarks.application.npb import CLASSES, MODELS, PARALLEL, TOO_SMALL, phrase
from steelyard.model import Record, Result
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity, identity
from steelyard.statistics.results.result import rests_on, undisturbed

EVERY = "application."
PREFIX = "application.npb_"
# Of a run. What lasts less is in part the start and the end of the team, and one interruption is a tenth of it.
LEAST_SECONDS = 0.05
FLOATING = ("cg", "ft", "lu", "mg", "ua")  # whose operations are floating-point ones
# Parameters that say by whom a problem is computed, and by what way they talk.
WHO = frozenset(
    (
        "model",
        "threads",
        "ranks",
        "ranks_per_node",
        "mpi",
        "transport",
        "placement",
        "mapping",
        "pinning",
        "start",
        "phases",
    )
)
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
    return of_all(r for r in results if r.benchmark.startswith(PREFIX))


def of_all(results: Iterable[Result]) -> tuple[Result, ...]:
    """Those of all applications: by benchmark, class, model, cores loaded on each node, workers."""
    mine = [r for r in results if r.benchmark.startswith(EVERY)]
    order = {name: number for number, name in enumerate(MODELS)}

    def place(result: Result) -> tuple[object, ...]:
        letter = str(result.parameters.get("class", ""))
        at = CLASSES.index(letter) if letter in CLASSES else len(CLASSES)
        each = cases.number(result, "ranks_per_node") or 0
        return (result.benchmark, at, letter, order.get(model(result), len(order)), each, workers(result))

    return tuple(sorted(mine, key=place))


def model(result: Result) -> str:
    """The programming model: "threads", "mpi", "rma", "shmem"."""
    return str(result.parameters.get("model", "threads"))


def parallel(result: Result) -> bool:
    """Whether it is carried out by many processes."""
    return model(result) in PARALLEL or "ranks" in result.parameters


def workers(result: Result | Record) -> int:
    """Its threads, ranks, or the threads of all ranks; 1 where it does not tell."""
    given = [cases.number(result, name) for name in ("ranks", "threads")]
    return int(math.prod(number for number in given if number is not None and math.isfinite(number)))


def problem(result: Result, *but: str) -> Identity:
    """What is computed, and by what compiler: all parameters but those that say by whom, and `but`."""
    return identity(result, *WHO, *but)


def verified(result: Result) -> bool:
    """Whether something was computed, and everything that was agrees with what is published."""
    return bool(result.records) and all(r.error is None and r.check.passed for r in result.records)


def size(result: Result) -> str:
    """Its class, and how many times as large the problem is: 'A', 'A × 4'; "" where it has none."""
    letter, scale = str(result.parameters.get("class", "")), result.parameters.get("scale", 1)
    return f"{letter} × {scale}" if letter and scale != 1 else letter


def failed(result: Result) -> str:
    """Why it could not be run at all; "" where it ran."""
    errors = [r.error for r in result.records if r.error]
    return errors[0] if errors and len(errors) == len(result.records) else ""


def checked(result: Result) -> str:
    """What its check says, of the launch that failed where one did; why it could not be run, where it could not."""
    details = [r.check.detail for r in sorted(result.records, key=lambda r: r.check.passed) if r.check.detail]
    return failed(result) or next(iter(details), "nothing was computed")


def large_enough(result: Result) -> bool:
    """Whether its class is one that is ever used for a speed."""
    return result.parameters.get("class") not in TOO_SMALL


def carried_out(result: Result) -> float | None:
    """The share of the operations that NPB counts which is carried out, where it is less than half: a better algorithm."""
    work = next((r.work for r in result.records if r.work.get("operations") and r.work.get("flops")), None)
    share = work["flops"] / work["operations"] if work else 1.0
    return share if share < FEW and result.kernel in FLOATING else None


def seconds(result: Result) -> float | None:
    """The median time of the timed region over its launches, verified or not; None where nothing was timed."""
    rows = [median(undisturbed(r)) for r in rests_on(result) or result.records if r.samples]
    return median(rows) if rows else None


def timed(result: Result) -> bool:
    """Whether it says something about speed: usable, verified, and long enough."""
    usable = result.verdict.level != "INVALID" and verified(result) and large_enough(result)
    return usable and bool(messages.seconds(result)) and (seconds(result) or 0.0) >= LEAST_SECONDS


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


def phases(result: Result) -> dict[str, float]:
    """Seconds of each phase inside the timed region, a median over the launches; empty where they were not asked for."""
    found: dict[str, list[float]] = {}
    for record in result.records:
        reported = _details(record).get("phases")
        for name, value in reported.items() if isinstance(reported, Mapping) else ():
            if _number(value) is not None:
                found.setdefault(str(name), []).append(float(value))
    return {name: median(values) for name, values in found.items()}


def program(result: Result) -> str:
    """'application.npb_cg'; with the kernel where that says more than the name: 'application.finite_elements solver'."""
    return result.benchmark if result.benchmark.endswith(result.kernel) else f"{result.benchmark} {result.kernel}"


def named(result: Result, but: Iterable[str] = ()) -> str:
    """'class A, MPI, 4 ranks': without what is usual, and `but`."""
    one = {"kernel"} if result.benchmark.startswith(PREFIX) else set()
    hidden = {*one, "toolchain", "phases", "start", *but, *(() if parallel(result) else ("model",))}
    usual = {**cases.USUAL, "placement": "compact", "transport": "default", "mapping": "default"}
    shown = {k: v for k, v in result.parameters.items() if k not in hidden and usual.get(k) != v}
    return ", ".join(phrase(name, value) for name, value in shown.items())


def _details(record: Record) -> Mapping[str, Any]:
    return record.surroundings.details or {}


def _quantities(record: Record) -> list[Quantity]:
    reported = _details(record).get("verification")
    if not isinstance(reported, Mapping):
        return []
    tolerance, rows = _number(reported.get("tolerance")), reported.get("quantities")
    found = []
    for row in rows if isinstance(rows, list | tuple) else ():
        if isinstance(row, Mapping):
            value, reference, error = (_number(row.get(name)) for name in ("value", "reference", "error"))
            allowed = _number(row.get("tolerance"))
            found.append(Quantity(str(row.get("quantity", "")), value, reference, error, allowed or tolerance or 0.0))
    return found


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if known else None


def _size(quantity: Quantity) -> float:
    return math.inf if quantity.error is None else quantity.error
