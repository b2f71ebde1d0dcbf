"""Trust in verdicts: the order of their levels, and the words for statements that depend on unreliable values."""

from collections.abc import Iterable, Sequence

from steelyard.model import Level, Result

ORDER: tuple[Level, ...] = ("CLEAN", "FOREIGN", "UNSETTLED", "DISTURBED", "INVALID")
LOAD = "competing load"  # the name of a disturbance: other processes of this machine
WIDEST = 20  # largest ratio of the ends of a range; a wider one is of no use


def doubtful(level: Level) -> bool:
    """Returns whether the values of this level are unreliable; they are shown with a mark."""
    return level in ("UNSETTLED", "DISTURBED")


def is_marked(level: Level) -> bool:
    """Returns whether a value of this level never stands without it: Steelyard does not judge those of other tools."""
    return level not in ("CLEAN", "FOREIGN")


def write_if_doubtful(level: Level) -> str:
    """Returns the word of the verdict for an unreliable value, with a space before it; otherwise ''."""
    return f" {level}" if doubtful(level) else ""


def worst(levels: Iterable[Level]) -> Level:
    """Returns the least trusted level; CLEAN without levels."""
    return max(levels, key=ORDER.index, default="CLEAN")


def select_most_trusted(results: Sequence[Result]) -> list[Result]:
    """Returns the results with the best level among them."""
    best = min((ORDER.index(r.verdict.level) for r in results), default=0)
    return [r for r in results if r.verdict.level == ORDER[best]]


def caution(level: Level) -> str:
    """Returns a sentence, with a space before it, for statements that use values of an unreliable level; otherwise ''."""
    return f" ({level.capitalize()}: take this with care.)" if doubtful(level) else ""
