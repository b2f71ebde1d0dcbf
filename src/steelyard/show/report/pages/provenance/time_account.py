"""Where the time of the cases went: setting up, sampling, checking, as the records tell it."""

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.model import Attempt, Attempted, Evaluation
from steelyard.show.report import values

PHASES = ("setup", "sampling", "check")


@dataclass(frozen=True)
class Times:
    """Rows of (benchmark, setup, sampling, check, together), the last of all; `again`: said of repetitions."""

    rows: tuple[tuple[str, ...], ...]
    again: str
    partial: str


def data(evaluation: Evaluation) -> Times | None:
    """The seconds of the phases by benchmark; None where no record tells them."""
    by_name: dict[str, list[tuple[Attempt, dict[str, float]]]] = {}
    for result in evaluation.results:
        timed_here = [(attempt, times) for attempt in result.attempts if (times := phases(attempt))]
        by_name.setdefault(result.benchmark, []).extend(timed_here)
    timed = [pair for pairs in by_name.values() for pair in pairs]
    if not timed:
        return None
    rows = [_row(name, (times for _, times in pairs)) for name, pairs in by_name.items() if pairs]
    if len(by_name) > 1:
        rows.append(_row("All", (times for _, times in timed)))
    silent = len(evaluation.run.records) - len(timed)
    return Times(
        tuple(rows),
        _again(timed),
        f"{silent} of {len(evaluation.run.records)} records do not contain these times." if silent else "",
    )


def phases(record: Attempted) -> dict[str, float]:
    """Seconds of the record's phases; empty where it does not tell all three."""
    given = record.surroundings.phases or {}
    times = {name: float(s) for name in PHASES if (s := given.get(name)) is not None and s >= 0}
    return times if len(times) == len(PHASES) else {}


def _row(name: str, times: Iterable[dict[str, float]]) -> tuple[str, ...]:
    sums = dict.fromkeys(PHASES, 0.0)
    for one in times:
        for phase in PHASES:
            sums[phase] += one[phase]
    total = sum(sums.values())
    cells = (f"{values.duration(s)}{f' ({_share(s / total)})' if total else ''}" for s in sums.values())
    return name, *cells, values.duration(total)


def _share(part: float) -> str:
    return "< 1 %" if 0 < part < 0.01 else f"{100 * part:.0f} %"


def _again(timed: list[tuple[Attempt, dict[str, float]]]) -> str:
    """What attempts took that were measured again: all but the last of each case."""
    last: dict[tuple[int, int], int] = {}
    for record, _ in timed:
        place = record.launch, record.case
        last[place] = max(last.get(place, 0), record.attempt)
    spent = [sum(f.values()) for r, f in timed if r.attempt < last[r.launch, r.case]]
    if not spent:
        return ""
    many = "1 attempt that was" if len(spent) == 1 else f"{len(spent)} attempts that were"
    return (
        f"{values.duration(sum(spent))} of this time went into {many} disturbed. Steelyard measured these cases again."
    )
