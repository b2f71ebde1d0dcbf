"""The readings of many batches as columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.power.message import Batch
from steelyard.power.rollup import HOUR

Columns = dict[str, NDArray[Any]]
Place = tuple[str, str, int]  # node, sensor, hour since 1970


def make_columns(batches: Sequence[Batch]) -> tuple[list[tuple[str, str]], Columns]:
    """The sensors (node, sensor) in their order, and the readings sorted by these and by time; `id` is a sensor's place."""
    names = sorted({(batch.node, sensor) for batch in batches for sensor in batch.sensors})
    place = {name: number for number, name in enumerate(names)}
    ids = [np.array([place[batch.node, s] for s in batch.sensors], dtype=np.int32)[batch.number] for batch in batches]
    number = np.concatenate(ids)
    moment = np.concatenate([batch.at for batch in batches])
    order = np.lexsort((moment, number))
    value = np.concatenate([batch.value for batch in batches])
    return names, {"id": number[order], "moment": moment[order], "value": value[order]}


def place_readings(batch: Batch) -> tuple[list[Place], NDArray[np.intp]]:
    """Returns the hours of sensors that a batch has readings of, and the index of each reading's hour among them."""
    codes, number = np.unique(batch.number.astype(np.int64) << 32 | batch.at // HOUR, return_inverse=True)
    return [(batch.node, batch.sensors[code >> 32], code & 0xFFFFFFFF) for code in codes.tolist()], number


def find_span(batch: Batch) -> tuple[int, int]:
    """Returns the moments of the first and the last reading (ns since 1970); (0, -1) for a batch without readings."""
    return (int(batch.at.min()), int(batch.at.max())) if len(batch.at) else (0, -1)
