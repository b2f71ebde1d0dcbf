"""Compares two commands of the user by pairs of their times."""

from collections.abc import Callable
from dataclasses import dataclass

from steelyard.compare.pairs import FEWEST_PAIRS, LEVEL, SMALLEST
from steelyard.errors import UsageError
from steelyard.measure.launch.commands_in_turn import Timing, Timings
from steelyard.statistics.difference.compare import Comparison, compare_all_pairs, log_ratios
from steelyard.statistics.samples.launches import Spread, combine

MEASURES: dict[str, Callable[[Timing], float]] = {
    "time": lambda run: run.seconds,
    "processor time": lambda run: run.processor,
}


@dataclass(frozen=True)
class Measure:
    """One measure of both commands in seconds, and the comparison of the second with the first."""

    name: str
    first: Spread
    second: Spread
    comparison: Comparison


def expect_enough(rounds: int) -> None:
    """Raises UsageError for a number of pairs that gives no interval."""
    if rounds < FEWEST_PAIRS:
        raise UsageError(
            f"{rounds} pairs of runs (given by --rounds) are too few: an interval needs at least {FEWEST_PAIRS}. Give more."
        )


def compare_timings(timings: Timings) -> list[Measure]:
    """Returns the wall-clock time, and the processor time if both commands used some.

    UsageError if there are too few pairs for a 95 % interval; no measure if a signal is the reason.
    """
    pairs = len(timings.first)
    if pairs < FEWEST_PAIRS:
        if timings.interrupted:
            return []
        raise UsageError(
            f"Only {pairs} pairs of runs were measured, but an interval needs at least {FEWEST_PAIRS}. Measure more pairs."
        )
    sides = {
        name: ([[measure(run)] for run in timings.first], [[measure(run)] for run in timings.second])
        for name, measure in MEASURES.items()
    }
    measured = {name: (a, b) for name, (a, b) in sides.items() if min(*a, *b)[0] > 0}
    compared = compare_all_pairs([log_ratios(a, b) for a, b in measured.values()], SMALLEST, LEVEL)
    return [
        Measure(name, combine(a), combine(b), comparison)
        for (name, (a, b)), comparison in zip(measured.items(), compared, strict=True)
    ]
