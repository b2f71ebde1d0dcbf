"""Compares two runs that were measured in turn: their launches in pairs."""

from collections.abc import Sequence
from pathlib import Path

from steelyard import evaluation
from steelyard.compare import pairs
from steelyard.compare.runs import RunComparison
from steelyard.model import Evaluation, Run


def partners(first: Run, second: Run) -> bool:
    """Whether the two runs were measured in turn with each other."""
    a, b = first.in_turn, second.in_turn
    return bool(a and b and a.series == b.series and a.side != b.side)


def compare(first: Path, second: Path, paths: Sequence[Path]) -> RunComparison:
    """Compares two runs that were measured in turn (`partners`), in pairs, as far as both got."""
    a, b = (evaluation.evaluate(path, paths) for path in (first, second))
    return judged(a, b)


def judged(a: Evaluation, b: Evaluation) -> RunComparison:
    """The same from runs that were read back."""
    return pairs.compare(a, b, a.run.in_turn.notes if a.run.in_turn else ())
