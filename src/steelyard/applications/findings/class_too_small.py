"""Rule: finds classes of the NAS Parallel Benchmarks that are too small for a reliable speed."""

from steelyard.applications.benchmarks.application.npb import results as npb
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import quantity, span
from steelyard.statistics.results import applications
from steelyard.statistics.results.applications import LEAST_SECONDS

NAMED = 8


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all of them, the shortest first."""
    times = [(s, r) for r in npb.select_results(evaluation.results) if (s := applications.seconds(r)) is not None]
    short = [(s, r) for s, r in times if s < LEAST_SECONDS or not applications.is_large(r)]
    if not short:
        return []
    short.sort(key=lambda pair: pair[0])
    programs = len({r.benchmark for _, r in short})
    least, longest = short[0][0], short[-1][0]
    times_text = quantity(least, "s") if len(short) == 1 else span(least, longest, "s", " to ")
    several = (
        f"{len(short)} of {len(times)} results of {programs} programs" if programs > 1 else _count_of_one(short, times)
    )
    return [
        Finding(
            "class_too_small",
            "notice",
            f"{several} of the NAS Parallel Benchmarks come from runs of {times_text}. Such times are too short for a reliable "
            "speed, so no other finding uses them.",
            tuple(f"{_label(r)}: {quantity(s, 's')}." for s, r in short[:NAMED]) + _count_unnamed(len(short)),
            f"Below {quantity(LEAST_SECONDS, 's', 2)} the start and the end of the threads, empty caches or a single "
            "interruption take "
            "a large part of the time. Class S is only for verification.",
            "Choose a larger class, for example --set class=A or --set class=B. steelyard plan shows how long it takes.",
            about="measurement",
        )
    ]


def _count_of_one(short: list[tuple[float, Result]], times: list[tuple[float, Result]]) -> str:
    benchmark = short[0][1].benchmark
    total = sum(r.benchmark == benchmark for _, r in times)
    return f"{len(short)} of {total} results of {benchmark}"


def _label(result: Result) -> str:
    return f"{result.benchmark} ({applications.describe_parameters(result)})"


def _count_unnamed(count: int) -> tuple[str, ...]:
    return (f"There are {count - NAMED} more.",) if count > NAMED else ()
