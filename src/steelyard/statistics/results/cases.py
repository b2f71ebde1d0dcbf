"""Selection, pairing and naming of results by their parameters."""

import math
from collections.abc import Iterable, Sequence

from steelyard.model import UNCHANGED, Level, Record, Result, Scalar
from steelyard.model.words import in_words
from steelyard.statistics.results.cost import cost
from steelyard.statistics.results.identity import identity
from steelyard.statistics.validity import trust

# Usual values of parameters, which are left out of the name of a case.
USUAL: dict[str, Scalar] = {
    "page_size": "default",
    "memory_policy": "local",
    "stores": "ordinary",
    "pinning": "compact",
    "variant": UNCHANGED,
}


def number(result: Result | Record, name: str) -> float | None:
    """Returns the parameter as a finite number; None if it is missing or not a number."""
    given = result.parameters.get(name)
    if not isinstance(given, int | float) or isinstance(given, bool) or not math.isfinite(given):
        return None
    return float(given)


def find(results: Iterable[Result], benchmark: str, kernel: str) -> list[Result]:
    """Returns the usable results of a kernel."""
    return keep_usable(r for r in results if r.benchmark == benchmark and r.kernel == kernel)


def keep_usable(results: Iterable[Result]) -> list[Result]:
    """Returns the results that have a cost (INVALID ones have none)."""
    return [r for r in results if r.verdict.level != "INVALID" and cost(r) is not None]


def keep_measured(results: Iterable[Result]) -> list[Result]:
    """Returns the results that have a figure (INVALID ones have none): all sentences on a whole run count these."""
    return [r for r in results if r.verdict.level != "INVALID"]


def count_measured(results: Sequence[Result]) -> str:
    """Returns their number: '7 results', or '7 results that were measured' if others failed."""
    count = len(keep_measured(results))
    return f"{count} results{' that were measured' if count < len(results) else ''}"


def select(results: Iterable[Result], **wanted: Scalar) -> list[Result]:
    """Returns the results with these parameters; a missing parameter counts as its usual value."""
    return [r for r in results if all(value(r, name) == v for name, v in wanted.items())]


def value(result: Result, name: str) -> Scalar | None:
    """Returns the parameter, or its usual value if the result does not have it."""
    return result.parameters.get(name, USUAL.get(name))


def select_greatest(results: Sequence[Result], name: str) -> list[Result]:
    """Returns the results with the greatest value of the parameter; nothing if none has it as a number."""
    most = max((n for r in results if (n := number(r, name)) is not None), default=None)
    return [r for r in results if most is not None and number(r, name) == most]


def pair(results: Sequence[Result], name: str, first: Scalar, second: Scalar) -> list[tuple[Result, Result]]:
    """Returns pairs of results that differ only in the parameter `name`: `first` in one, `second` in the other."""
    others = {_omit(r, name): r for r in results if value(r, name) == second}
    return [(r, others[_omit(r, name)]) for r in results if value(r, name) == first and _omit(r, name) in others]


def group(results: Iterable[Result], name: str) -> list[list[Result]]:
    """Groups results that differ only in the parameter `name`, in the order of its numbers."""
    members_of: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        if number(result, name) is not None:
            members_of.setdefault(_omit(result, name), []).append(result)
    return [sorted(members, key=lambda r: number(r, name) or 0.0) for members in members_of.values()]


def describe(result: Result, but: Sequence[str] = ()) -> str:
    """Returns a case in words, without usual values and those of `but`: 'triad (2 threads, streaming stores)'."""
    parts = [
        in_words(name, v)
        for name, v in result.parameters.items()
        if name not in (*but, "toolchain") and USUAL.get(name) != v
    ]
    return f"{result.kernel} ({', '.join(parts)})" if parts else result.kernel


def caution(*results: Result) -> str:
    """Returns a sentence, with a space before it, if one of the results is not reliable; otherwise ''."""
    return trust.caution(doubt(*results))


def doubt(*results: Result | Record) -> Level:
    """Returns the least trusted level of the results with values; CLEAN if all are reliable."""
    return trust.worst(level for r in results if trust.doubtful(level := r.verdict.level))


def _omit(result: Result, name: str) -> tuple[object, ...]:
    usual = (k for k, v in result.parameters.items() if USUAL.get(k) == v)
    return identity(result, name, *usual)
