"""Results of whole programs (group "application"): their workers, their verification and their time."""

import math
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from steelyard.model import Attempted, Record, Result, Scalar
from steelyard.model.words import in_words
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity, identity
from steelyard.statistics.results.result import used_attempts

CLASSES = ("S", "W", "A", "B", "C", "D")
TOO_SMALL = ("S",)  # runs of milliseconds that scatter by factors: verified, but never used for a speed
PARALLEL = ("mpi", "rma", "shmem")  # the programming models of many processes
MODELS = ("threads", "openmp", *PARALLEL)
EVERY = "application."
NPB = "application.npb_"
# Shortest run, in seconds. In a shorter one, the start and the end of the team or one interruption take a large part.
LEAST_SECONDS = 0.05
# Parameters of the workers of a problem and of their communication.
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


def select_programs(results: Iterable[Result]) -> tuple[Result, ...]:
    """Returns the results of all applications, ordered by benchmark, class, model, cores per node, and workers."""
    programs = [r for r in results if r.benchmark.startswith(EVERY)]
    order = {name: number for number, name in enumerate(MODELS)}

    def place(result: Result) -> tuple[object, ...]:
        letter = str(result.parameters.get("class", ""))
        at = CLASSES.index(letter) if letter in CLASSES else len(CLASSES)
        per_node = cases.number(result, "ranks_per_node") or 0
        return (result.benchmark, at, letter, order.get(model(result), len(order)), per_node, workers(result))

    return tuple(sorted(programs, key=place))


def model(result: Result) -> str:
    """Returns the programming model: "threads", "openmp", "mpi", "rma" or "shmem"."""
    return str(result.parameters.get("model", "threads"))


def is_parallel(result: Result) -> bool:
    """Returns whether many processes run it."""
    return model(result) in PARALLEL or "ranks" in result.parameters


def workers(result: Result | Record) -> int:
    """Returns its threads, its ranks, or the threads of all ranks; 1 if it has no such parameter."""
    given = [cases.number(result, name) for name in ("ranks", "threads")]
    return int(math.prod(number for number in given if number is not None and math.isfinite(number)))


def problem(result: Result, *but: str) -> Identity:
    """Returns the identity of the problem and the compiler: all parameters but those of the workers, and `but`."""
    return identity(result, *WHO, *but)


def verified(result: Result) -> bool:
    """Returns whether every record has a result and every result agrees with the published one."""
    return bool(result.attempts) and all(r.error is None and r.check.passed for r in result.attempts)


def size(result: Result) -> str:
    """Returns its class and the scale of the problem: 'A', 'A × 4'; "" if it has none."""
    letter, scale = str(result.parameters.get("class", "")), result.parameters.get("scale", 1)
    return f"{letter} × {scale}" if letter and scale != 1 else letter


def explain_failure(result: Result) -> str:
    """Returns the reason why no launch ran; "" if one did."""
    errors = [r.error for r in result.attempts if r.error]
    return errors[0] if errors and len(errors) == len(result.attempts) else ""


def describe_check(result: Result) -> str:
    """Returns the detail of its check, of a failed launch if there is one, or the reason why it did not run."""
    details = [r.check.detail for r in sorted(result.attempts, key=lambda r: r.check.passed) if r.check.detail]
    return explain_failure(result) or next(iter(details), "nothing was computed")


def is_large(result: Result) -> bool:
    """Returns whether its class is large enough for a speed."""
    return result.parameters.get("class") not in TOO_SMALL


def seconds(result: Result) -> float | None:
    """Returns the median time of the timed region over its launches, verified or not; None without times."""
    rows = [r.seconds for r in used_attempts(result) or result.attempts if r.seconds is not None]
    return median(rows) if rows else None


def timed(result: Result) -> bool:
    """Returns whether its time is valid for a speed: usable, verified, and long enough."""
    usable = result.verdict.level != "INVALID" and verified(result) and is_large(result)
    return usable and bool(messages.launch_seconds(result)) and (seconds(result) or 0.0) >= LEAST_SECONDS


def timed_alone(result: Result) -> bool:
    """Returns whether it is a whole program with a valid time, in which each worker had a processor."""
    return result.benchmark.startswith(EVERY) and timed(result) and not messages.oversubscribed(result)


def phases(result: Result) -> dict[str, float]:
    """Returns the seconds of each phase in the timed region, the median over the launches; empty without phases."""
    times: dict[str, list[float]] = {}
    for record in result.attempts:
        phase_times = details(record).get("phases")
        for name, value in phase_times.items() if isinstance(phase_times, Mapping) else ():
            if number(value) is not None:
                times.setdefault(str(name), []).append(float(value))
    return {name: median(values) for name, values in times.items()}


def program(result: Result) -> str:
    """Returns 'application.npb_cg', or with a kernel of another name 'application.finite_elements solver'."""
    return result.benchmark if result.benchmark.endswith(result.kernel) else f"{result.benchmark} {result.kernel}"


def describe_parameters(result: Result, but: Iterable[str] = ()) -> str:
    """Returns the parameters in words, without usual ones and those of `but`: 'class A, MPI, 4 ranks'."""
    one = {"kernel"} if result.benchmark.startswith(NPB) else set()
    hidden = {*one, "toolchain", "phases", "start", *but, *(() if is_parallel(result) else ("model",))}
    usual = {**cases.USUAL, "placement": "compact", "transport": "default", "mapping": "default"}
    shown = {k: v for k, v in result.parameters.items() if k not in hidden and usual.get(k) != v}
    return ", ".join(phrase(name, value) for name, value in shown.items())


def details(record: Attempted) -> Mapping[str, Any]:
    return record.surroundings.details or {}


def phrase(name: str, value: Scalar) -> str:
    """Returns a parameter of a program in words: 'class A', '2 on each node', '4 ranks'."""
    if name == "ranks_per_node":
        return f"{value} on each node"
    if name in ("toolchain", "mpi", "placement"):
        return str(value)
    return in_words(name, value)


def number(value: Any) -> float | None:
    """Returns the value if it is a finite number, otherwise None."""
    finite = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if finite else None
