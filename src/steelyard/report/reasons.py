"""Evidence in short: its kinds, how often each was seen, and the few sentences that stand for many."""

import re
from collections import Counter
from collections.abc import Iterable

MOST_SENTENCES = 3  # of one result in plain sight; the others are folded away
_KIND = re.compile(r"^(?:launch \d+: )?([a-z][a-z -]{2,30}):\s")


def kind(sentence: str) -> str:
    """What a sentence of evidence begins with: 'core clock: the true …' → 'core clock'; '' where nothing."""
    found = _KIND.match(sentence)
    return found[1] if found else ""


def kinds(evidence: Iterable[str]) -> tuple[str, ...]:
    """The kinds among these sentences, the most frequent first."""
    counted = Counter(name for sentence in evidence if (name := kind(sentence)))
    return tuple(name for name, _ in counted.most_common())


def frequent(evidences: Iterable[tuple[str, ...]], most: int = 2) -> tuple[tuple[str, int], ...]:
    """The most frequent kinds, each with the number of results in whose evidence it stands."""
    counted = Counter(name for evidence in evidences for name in kinds(evidence))
    return tuple(counted.most_common(most))


def folded(evidence: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sentences to show, the first of each kind before others, and those to fold away."""
    seen: set[str] = set()
    firsts: list[str] = []
    others: list[str] = []
    for sentence in evidence:
        name = kind(sentence)
        (others if name and name in seen else firsts).append(sentence)
        seen.add(name)
    ordered = (*firsts, *others)
    return ordered[:MOST_SENTENCES], ordered[MOST_SENTENCES:]
