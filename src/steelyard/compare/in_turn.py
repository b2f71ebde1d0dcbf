"""Compares two runs that were measured in turn: their launches in pairs."""

from collections.abc import Sequence
from pathlib import Path

from steelyard.compare import pairs
from steelyard.compare.runs import RunComparison
from steelyard.judge import evaluation
from steelyard.model import Evaluation, Run


def are_partners(first: Run, second: Run) -> bool:
    """Returns whether the two runs were measured in turn."""
    a, b = first.in_turn, second.in_turn
    return bool(a and b and a.series == b.series and a.side != b.side)


def compare(first: Path, second: Path, paths: Sequence[Path]) -> RunComparison:
    """Compares two runs that were measured in turn, in pairs of launches that both runs have."""
    a, b = (evaluation.evaluate(path, paths) for path in (first, second))
    return compare_evaluations(a, b)


def compare_evaluations(a: Evaluation, b: Evaluation) -> RunComparison:
    """Compares two evaluated runs that were measured in turn."""
    return pairs.compare(a, b, a.run.in_turn.notes if a.run.in_turn else ())
