"""Results of a run with variants: those of each variant, and those of the start without changes."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from steelyard.model import UNCHANGED, Evaluation, Result
from steelyard.statistics.results.identity import Case

OfCase = TypeVar("OfCase", bound=Case)


def variant_of(case: Case) -> str:
    """Returns the name of the variant of a case; `UNCHANGED` for a start without changes."""
    return str(case.parameters.get("variant", UNCHANGED))


def by_variant(results: Iterable[Result]) -> dict[str, tuple[Result, ...]]:
    """Returns the results of each variant: first those without changes, then in the order of the results."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(variant_of(result), []).append(result)
    return {name: tuple(groups[name]) for name in sorted(groups, key=lambda name: name != UNCHANGED)}


def select_plain(results: Sequence[OfCase]) -> tuple[OfCase, ...]:
    """Returns the cases of each benchmark without changes; of a benchmark without such cases, those of its first variant."""
    if not any("variant" in result.parameters for result in results):
        return tuple(results)
    plain: dict[str, str] = {}
    for result in results:
        name = variant_of(result)
        if name == UNCHANGED or result.benchmark not in plain:
            plain[result.benchmark] = name
    return tuple(r for r in results if variant_of(r) == plain[r.benchmark])


def keep_unchanged(evaluation: Evaluation) -> Evaluation:
    """Returns the evaluation with only the results of `select_plain`, for rules and pages about one state of a machine."""
    chosen = select_plain(evaluation.results)
    return evaluation if len(chosen) == len(evaluation.results) else replace(evaluation, results=chosen)
