"""Where the efficiency of traced programs goes, in rows and a sentence for each."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.model import Factors
from steelyard.model.units import percent, quantity
from steelyard.model.words import plural

HEADINGS = ("time", "total computing time", "parallel efficiency", "load balance", "serialisation", "transfer")
GOOD = 0.9  # what lies above is no loss worth a cause
CAUSES = {
    "load balance": "some ranks compute more than others",
    "serialisation": "ranks would wait for each other even if messages cost no time",
    "transfer": "messages cost time, or there were too few processors",
}


@dataclass(frozen=True)
class Row:
    """A trace: its name, its ranks, its cells as `HEADINGS`, and what most is lost by ('' where little is)."""

    name: str
    ranks: int
    cells: tuple[str, ...]
    cause: str


@dataclass(frozen=True)
class Causes:
    """The table, and what it says of the trace with the most ranks."""

    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    sentence: str


def causes(traces: Sequence[Factors]) -> Causes | None:
    """By name and number of ranks; None without a trace."""
    if not traces:
        return None
    order = sorted(traces, key=lambda t: (t.ranks, t.name))
    return Causes(HEADINGS, tuple(map(_row, order)), _sentence(order[-1]))


def _row(factors: Factors) -> Row:
    shares = (factors.parallel, factors.load_balance, factors.serialisation, factors.transfer)
    cells = (quantity(factors.time, "s"), quantity(factors.computing, "s"), *map(percent, shares))
    return Row(factors.name, factors.ranks, cells, "" if factors.parallel >= GOOD else _find_least(factors))


def _find_least(factors: Factors) -> str:
    return min(CAUSES, key=lambda name: float(getattr(factors, name.replace(" ", "_"))))


def _sentence(factors: Factors) -> str:
    computed = (
        f"In the trace '{factors.name}', the {plural(factors.ranks, 'rank')} compute during {percent(factors.parallel)} "
        "of the time"
    )
    if factors.parallel >= GOOD:
        return f"{computed}. Little efficiency is lost."
    least = _find_least(factors)
    return f"{computed}. Most time is lost because {CAUSES[least]} ({least})."
