"""The published power of the Mont-Blanc prototype's nodes, beside the power of this run in the same state."""

from dataclasses import dataclass

from steelyard.compare import published_power
from steelyard.measure import published
from steelyard.measure.published import Published
from steelyard.measure.published.wording import STATES
from steelyard.model import Evaluation, Level
from steelyard.model.figure import Series
from steelyard.model.units import quantity, significant
from steelyard.show.report import values


@dataclass(frozen=True, kw_only=True)
class Row:
    """A state with its published power, and the power of this run with its interval and verdict; "" if there is none."""

    state: str
    printed: str
    ours: str
    interval: str
    ratio: str
    level: Level


@dataclass(frozen=True)
class Printed:
    """The rows in the order of the data; `remarks` say how this run differs from the publication."""

    system: str
    source: str
    rows: tuple[Row, ...]
    remarks: tuple[str, ...]


def compare_published(evaluation: Evaluation) -> Printed | None:
    """Returns the comparison; None if the run has no power in one of the published states."""
    entries = published.select(published_power.PRINTED)
    both = [(entry, published_power.find_ours(evaluation, entry)) for entry in entries]
    if not any(drawn.value for _, drawn in both):
        return None
    remarks = dict.fromkeys(_write_remark(entry, drawn.remark) for entry, drawn in both if drawn.remark)
    rows = tuple(_make_row(entry, drawn) for entry, drawn in both)
    return Printed(entries[0].system, published.SOURCES[entries[0].source], rows, tuple(remarks))


def draw_lines(span: tuple[float, float]) -> tuple[Series, ...]:
    """Returns the published mean power of each state as a level line over `span` (s)."""
    entries = published.select(published_power.PRINTED, "power")
    names = [f"{entry.system} ({_describe_state(entry)})" for entry in entries]
    return tuple(Series(n, span, (e.value, e.value), published=True) for n, e in zip(names, entries, strict=True))


def _describe_state(entry: Published) -> str:
    state = str(entry.parameters.get("state", ""))
    what = "highest power of all kernels" if entry.metric == "power_max" else str(entry.parameters.get("benchmark", ""))
    return f"{what} {STATES.get(state, state)}".strip()


def _write_remark(entry: Published, remark: str) -> str:
    """Returns the remark with the table's name of the state."""
    state = str(entry.parameters.get("state", ""))
    return f"This run was measured {remark}.".replace(f"'{state}'", f"'{STATES.get(state, state)}'")


def _make_row(entry: Published, drawn: published_power.Drawn) -> Row:
    words, printed, value = _describe_state(entry), quantity(entry.value, entry.unit), drawn.value
    if value is None:
        return Row(state=words, printed=printed, ours="", interval="", ratio="", level="CLEAN")
    ratio = significant(value.value / entry.value) if entry.value else ""
    return Row(
        state=words,
        printed=printed,
        ours=quantity(value.value, value.unit),
        interval=values.interval(value),
        ratio=ratio,
        level=drawn.level,
    )
