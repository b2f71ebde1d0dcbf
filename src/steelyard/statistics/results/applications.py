"""Whole programs among a run's results (group "application"): who ran them, whether they were verified, and their time."""

import math
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from steelyard.model import Record, Result, Scalar
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity, identity
from steelyard.statistics.results.result import rests_on, undisturbed
from steelyard.words import in_words

CLASSES = ("S", "W", "A", "B", "C", "D")
TOO_SMALL = ("S",)  # lasts milliseconds, and scatters by factors: verified, but never a speed
PARALLEL = ("mpi", "rma", "shmem")  # the programming models of many processes
MODELS = ("threads", "openmp", *PARALLEL)
EVERY = "application."
NPB = "application.npb_"
# Of a run. What lasts less is in part the start and the end of the team, and one interruption is a tenth of it.
LEAST_SECONDS = 0.05
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


def of_all(results: Iterable[Result]) -> tuple[Result, ...]:
    """Those of all applications: by benchmark, class, model, cores loaded on each node, workers."""
    programs = [r for r in results if r.benchmark.startswith(EVERY)]
    order = {name: number for number, name in enumerate(MODELS)}

    def place(result: Result) -> tuple[object, ...]:
        letter = str(result.parameters.get("class", ""))
        at = CLASSES.index(letter) if letter in CLASSES else len(CLASSES)
        per_node = cases.number(result, "ranks_per_node") or 0
        return (result.benchmark, at, letter, order.get(model(result), len(order)), per_node, workers(result))

    return tuple(sorted(programs, key=place))


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


def seconds(result: Result) -> float | None:
    """The median time of the timed region over its launches, verified or not; None where nothing was timed."""
    rows = [median(undisturbed(r)) for r in rests_on(result) or result.records if r.samples]
    return median(rows) if rows else None


def timed(result: Result) -> bool:
    """Whether it says something about speed: usable, verified, and long enough."""
    usable = result.verdict.level != "INVALID" and verified(result) and large_enough(result)
    return usable and bool(messages.seconds(result)) and (seconds(result) or 0.0) >= LEAST_SECONDS


def phases(result: Result) -> dict[str, float]:
    """Seconds of each phase inside the timed region, a median over the launches; empty where they were not asked for."""
    times: dict[str, list[float]] = {}
    for record in result.records:
        phase_times = details(record).get("phases")
        for name, value in phase_times.items() if isinstance(phase_times, Mapping) else ():
            if number(value) is not None:
                times.setdefault(str(name), []).append(float(value))
    return {name: median(values) for name, values in times.items()}


def program(result: Result) -> str:
    """'application.npb_cg'; with the kernel where that says more than the name: 'application.finite_elements solver'."""
    return result.benchmark if result.benchmark.endswith(result.kernel) else f"{result.benchmark} {result.kernel}"


def named(result: Result, but: Iterable[str] = ()) -> str:
    """'class A, MPI, 4 ranks': without what is usual, and `but`."""
    one = {"kernel"} if result.benchmark.startswith(NPB) else set()
    hidden = {*one, "toolchain", "phases", "start", *but, *(() if parallel(result) else ("model",))}
    usual = {**cases.USUAL, "placement": "compact", "transport": "default", "mapping": "default"}
    shown = {k: v for k, v in result.parameters.items() if k not in hidden and usual.get(k) != v}
    return ", ".join(phrase(name, value) for name, value in shown.items())


def details(record: Record) -> Mapping[str, Any]:
    return record.surroundings.details or {}


def phrase(name: str, value: Scalar) -> str:
    """A parameter of a program in words: 'class A', '2 on each node', '4 ranks'."""
    if name == "ranks_per_node":
        return f"{value} on each node"
    if name in ("toolchain", "mpi", "placement"):
        return str(value)
    return in_words(name, value)


def number(value: Any) -> float | None:
    """The value if it is a finite number, otherwise None."""
    finite = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if finite else None
