"""Hardware counters as text: columns of a benchmark's table, and a description of the measurement."""

from collections.abc import Callable, Iterable

from steelyard.model import Attempt, Evaluation, Result
from steelyard.model.units import significant
from steelyard.show.report import values
from steelyard.statistics.results.attempts import list_attempts
from steelyard.statistics.results.counters import Counted, counted, reasons, sources

_COLUMNS: tuple[tuple[str, Callable[[Counted], str]], ...] = (
    ("instructions per cycle", lambda c: _count(c.instructions_per_cycle)),
    ("instructions per operation", lambda c: _count(c.instructions)),
    ("cache misses per operation", lambda c: _count(c.cache_misses)),
    ("L1 misses per operation", lambda c: _count(c.l1_misses)),
    ("energy per operation", lambda c: values.quantity(c.energy, "J") if c.energy is not None else ""),
)
TITLES = tuple(title for title, _ in _COLUMNS)


def columns(results: Iterable[Result]) -> tuple[str, ...]:
    """Returns the titles of the columns that have a value in at least one result."""
    counts = [c for result in results if (c := counted(result))]
    return tuple(title for title, text in _COLUMNS if any(text(c) for c in counts))


def cells(result: Result, titles: Iterable[str]) -> tuple[str, ...]:
    """Returns the values of the result for these titles; "" for a value that was not counted, or for an INVALID result."""
    counts = counted(result)
    text = dict(_COLUMNS)
    return tuple(text[title](counts) if counts else "" for title in titles)


def how(records: list[Attempt], results: Iterable[Result]) -> str:
    """Returns how the counters were read, or "" without counters: then the page of the machine states the reason."""
    counts = [c for result in results if (c := counted(result))]
    if not counts:
        return ""
    shares = [c.share for c in counts if c.share is not None]
    text = (
        "counted in user mode, for all threads together, from the first sample to the last, and divided by the number of "
        "operations"
    )
    if shares and min(shares) < 0.999:
        least = values.percent(min(shares))
        text += (
            "; the counters were shared with other events, so they counted only a part of the time "
            f"(at least {least}), and the values are scaled up"
        )
    meters = ", ".join(sources(records))
    return f"{text}; the energy is that of the whole machine, measured by {meters}" if meters else text


def missing(evaluation: Evaluation) -> tuple[str, ...]:
    """Returns a sentence for each reason why cases of the run have no counters."""
    reported = reasons(list_attempts(evaluation.results))
    return tuple(f"Instructions, cycles and cache misses were not counted: {reason}." for reason in reported)


def _count(value: float | None) -> str:
    """Returns three significant digits, in groups of three without a prefix, since a prefix on a count would mislead."""
    if value is None:
        return ""
    return significant(value) if value < 1000 else f"{int(float(f'{value:.3g}')):,}".replace(",", "\u202f")
