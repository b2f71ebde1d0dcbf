"""Where the efficiency of traced programs goes, in rows and a sentence for each."""

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.model import Factors
from steelyard.units import percent, quantity
from steelyard.words import plural

HEADINGS = ("time", "computing of all ranks", "parallel efficiency", "load balance", "serialisation", "transfer")
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


def _row(of: Factors) -> Row:
    shares = (of.parallel, of.load_balance, of.serialisation, of.transfer)
    cells = (quantity(of.time, "s"), quantity(of.computing, "s"), *map(percent, shares))
    return Row(of.name, of.ranks, cells, "" if of.parallel >= GOOD else _least(of))


def _least(of: Factors) -> str:
    found = {"load balance": of.load_balance, "serialisation": of.serialisation, "transfer": of.transfer}
    return min(found, key=lambda name: found[name])


def _sentence(of: Factors) -> str:
    computed = f"In '{of.name}' {plural(of.ranks, 'rank')} compute {percent(of.parallel)} of the time"
    if of.parallel >= GOOD:
        return f"{computed}. Little efficiency is lost."
    least = _least(of)
    return f"{computed}. The largest loss is in {least}: {CAUSES[least]}."
