"""How far a verdict may be trusted: the order of its levels, and what is said where a statement rests on a lesser one."""

from collections.abc import Iterable, Sequence

from steelyard.model import Level, Result

ORDER: tuple[Level, ...] = ("CLEAN", "UNSETTLED", "DISTURBED", "INVALID")
_AGAIN: dict[Level, str] = {
    "UNSETTLED": "Use more launches and more time: steelyard run --preset full",
    "DISTURBED": "Measure again on a quiet machine: steelyard run",
}


def doubtful(level: Level) -> bool:
    """Whether there are values that cannot be relied on: they are shown, and marked wherever they are."""
    return level in ("UNSETTLED", "DISTURBED")


def word(level: Level) -> str:
    """What stands behind such a value: the verdict's word, with a space before it; '' where it can be relied on."""
    return f" {level}" if doubtful(level) else ""


def worst(levels: Iterable[Level]) -> Level:
    """The least trusted of them; CLEAN where there is none."""
    return max(levels, key=ORDER.index, default="CLEAN")


def most_trusted(results: Sequence[Result]) -> list[Result]:
    """Those of the best level that any of them has."""
    best = min((ORDER.index(r.verdict.level) for r in results), default=0)
    return [r for r in results if r.verdict.level == ORDER[best]]


def caution(level: Level) -> str:
    """A sentence, with a space before it, for what rests on values of that level; '' where they can be relied on."""
    return f" ({level.capitalize()}: take this with care.)" if doubtful(level) else ""


def again(level: Level) -> str:
    """What to do about values of that level; '' where there is nothing to be done."""
    return _AGAIN.get(level, "")
