"""The samples of a record that figures use."""

import math
from collections.abc import Sequence
from itertools import compress

from steelyard.model import Attempt, Attempted, Record
from steelyard.statistics.validity.observations import LONGEST, SHORTEST


def undisturbed(record: Record) -> tuple[float, ...]:
    """Returns the samples that figures use: all but those that were left out as disturbed."""
    if not record.aside:
        return record.samples
    kept = [True] * len(record.samples)
    for place in record.aside:
        if place < len(kept):  # a damaged record may have other numbers
            kept[place] = False
    return tuple(compress(record.samples, kept))


def is_measured(record: Attempted) -> bool:
    """Returns whether it has possible times; a damaged record may be CLEAN without any."""
    if isinstance(record, Attempt):
        return record.seconds is not None
    return are_possible(undisturbed(record))


def are_possible(samples: Sequence[float]) -> bool:
    return bool(samples) and min(samples) > SHORTEST and max(samples) < LONGEST and not math.isnan(sum(samples))
