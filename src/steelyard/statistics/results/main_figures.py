"""Chooses the results that can stand for a run: those of a main figure, and those of a benchmark that declares none.

A plan asks the same question of cases that are not measured yet, so that a small budget measures the main figures first.
"""

from collections.abc import Iterable, Sequence

from steelyard.model import Result
from steelyard.model.roles import SIZES, Headline
from steelyard.statistics.results import messages
from steelyard.statistics.results.parameters import USUAL, extreme, prefer

LARGEST = ("threads", "ranks", "message_bytes", *SIZES)  # parameters whose greatest value stands for a benchmark


def candidates(role: Headline, results: Iterable[Result]) -> list[Result]:
    """Returns the results of one benchmark that can be the main figure of this role. Their values decide among them."""
    kept = drop_crowded([r for r in results if (role.kernel is None or r.kernel == role.kernel) and role.fits(r)])
    for names, pick in ((role.least, min), (role.most, max)):
        for name in names:
            kept = extreme(kept, name, pick)
    return prefer(kept, role.usual)


def typical(results: Sequence[Result]) -> list[Result]:
    """Returns the results of one kernel that stand for it: the most workers, the largest work, the usual conditions."""
    kept = list(results)
    for name in LARGEST:
        kept = extreme(kept, name, max)
    return prefer(kept, USUAL)


def drop_crowded(results: list[Result]) -> list[Result]:
    """Returns the results without those of more ranks than processors, if there are others."""
    return [r for r in results if not messages.oversubscribed(r)] or results
