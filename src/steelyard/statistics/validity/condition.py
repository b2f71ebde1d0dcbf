"""The condition of a machine during a run: how much of its cores and memory the run had, and what that explains."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from steelyard.model import Condition, Had, Record
from steelyard.model.observed import Kind
from steelyard.statistics.samples.interval import quantile_of
from steelyard.statistics.validity.measures import MEASURES
from steelyard.statistics.validity.trust import LOAD
from steelyard.statistics.validity.verdict import name_disturbance

DEDICATED = 0.9  # share of the launches with an undisturbed pace from which a machine counts as dedicated
OFTEN = 0.25  # share of the launches with other load from which it is the machine's condition
# Effects of other guests or jobs on a shared machine, besides slower readings: launches differ, and intervals are wide.
FOLLOWS = ("steal", "wide interval", "launches differ", "few samples")


def find_condition(records: Sequence[Record], shares: Iterable[Mapping[Kind, float]]) -> Condition:
    """Returns the condition of the machine. `shares` has for each record by kind the pace beside it over the best."""
    had: dict[Kind, Had] = {}
    columns: dict[Kind, list[float]] = {}
    for of_record in shares:
        for kind, share in of_record.items():
            columns.setdefault(kind, []).append(share)
    for kind, column in columns.items():
        # A reading that nothing disturbed is full speed: how far such readings scatter below the best says nothing.
        undisturbed = np.asarray(column) >= 1 - MEASURES[kind].loss
        ordered = np.sort(np.where(undisturbed, 1.0, column))
        full = float(np.mean(undisturbed))
        median, low, high = (quantile_of(ordered, share) for share in (0.5, 0.1, 0.9))
        had[kind] = Had(median=median, low=low, high=high, full=full)
    measured = [r for r in records if r.verdict.level != "INVALID"]
    load = sum(name_disturbance(r.verdict) == LOAD for r in measured) / max(1, len(measured))
    # A clock also drops from heat: it alone does not show that others use the machine.
    shared = any(one.full < DEDICATED for kind, one in had.items() if kind != "core_clock")
    causes = {*(m.cause for m in MEASURES.values()), *FOLLOWS} if shared else set()
    if load >= OFTEN:
        causes |= {LOAD, *FOLLOWS}
    return Condition(
        shared=shared, had={str(kind): one for kind, one in had.items()}, load=load, causes=tuple(sorted(causes))
    )
