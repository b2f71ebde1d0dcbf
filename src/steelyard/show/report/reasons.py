"""Evidence in short: its kinds, how often each was observed, and the little that stands for much."""

from collections import Counter
from collections.abc import Iterable

from steelyard.model import Evidence

MOST_SENTENCES = 3  # of one result in plain sight; the others are folded away


def kinds(evidence: Iterable[Evidence]) -> tuple[str, ...]:
    """Returns the kinds of the evidence, the most frequent first."""
    counted = Counter(reason.kind for reason in evidence if reason.kind)
    return tuple(name for name, _ in counted.most_common())


def frequent(evidences: Iterable[tuple[Evidence, ...]], most: int = 2) -> tuple[tuple[str, int], ...]:
    """Returns the most frequent kinds of evidence, each with the number of results that have it."""
    counted = Counter(name for evidence in evidences for name in kinds(evidence))
    return tuple(counted.most_common(most))


def folded(evidence: tuple[Evidence, ...]) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """What to show, the first of each kind before others, and what to fold away."""
    seen_kinds: set[str] = set()
    firsts: list[Evidence] = []
    others: list[Evidence] = []
    for reason in evidence:
        (others if reason.kind and reason.kind in seen_kinds else firsts).append(reason)
        seen_kinds.add(reason.kind)
    ordered = (*firsts, *others)
    return ordered[:MOST_SENTENCES], ordered[MOST_SENTENCES:]
