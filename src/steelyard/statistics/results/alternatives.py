"""Two ways to compute the same: the time of the second over that of the first, for many such pairs at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.model import Result
from steelyard.model.units import percent
from steelyard.statistics.difference.compare import Comparison, compare_all
from steelyard.statistics.results import messages

SMALLEST = 0.05  # two launches of a program differ by some percent, since the placement of threads and buffers differs


@dataclass(frozen=True)
class Rivals:
    """Two results, and the comparison of the second with the first (`comparison`)."""

    first: Result
    second: Result
    comparison: Comparison

    @property
    def speed(self) -> str:
        """Returns the speed of the second over that of the first: '1.12 (1.08 to 1.16)'."""
        return f"{1 / self.comparison.ratio:.2f} ({1 / self.comparison.high:.2f} to {1 / self.comparison.low:.2f})"

    @property
    def longer(self) -> str:
        """Returns the time of the second over that of the first."""
        return f"{self.comparison.ratio:.2f} ({self.comparison.low:.2f} to {self.comparison.high:.2f})"

    @property
    def effect(self) -> float:
        """Returns the time of the slower one over that of the other."""
        return max(self.comparison.ratio, 1 / self.comparison.ratio)


def compare_rivals(pairs: Sequence[tuple[Result, Result]], smallest: float = SMALLEST) -> list[Rivals]:
    """Compares all pairs, corrected for their number. Raises ValueError for a result without samples."""
    comparisons = compare_all([(messages.seconds(a), messages.seconds(b)) for a, b in pairs], smallest)
    return [Rivals(a, b, comparison) for (a, b), comparison in zip(pairs, comparisons, strict=True)]


def summarise_rivals(second: str, first: str, rivals: Sequence[Rivals], smallest: float = SMALLEST) -> str:
    """Returns for example 'OpenMP threads are up to 1.20 (1.15 to 1.25) times as fast as Steelyard threads …'"""
    calls = [r.comparison.call for r in rivals]
    faster, slower, many = calls.count("FASTER"), calls.count("SLOWER"), len(calls)
    word = "faster" if faster else "slower"
    rest = f", certainly {word} in {max(faster, slower)} of {many} cases" if many > 1 else ""
    if faster and slower:
        return f"{second} are faster than {first} in {faster} of {many} cases and slower in {slower}."
    if faster:
        best = min(rivals, key=lambda r: r.comparison.ratio)
        return f"{second} are {'up to ' if many > 1 else ''}{best.speed} times as fast as {first}{rest}."
    if slower:
        worst = max(rivals, key=lambda r: r.comparison.ratio)
        return f"{second} are only {worst.speed} times as fast as {first}{rest}."
    if "UNCLEAR" in calls:
        return f"The intervals are too wide to decide whether {second} or {first} are faster."
    where = f" in any of {many} cases" if many > 1 else ""
    return f"{second} and {first} do not differ by more than {percent(smallest)}{where}."
