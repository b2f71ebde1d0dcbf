"""The readings of many batches as columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.power.message import Batch

Columns = dict[str, NDArray[Any]]


def columns(batches: Sequence[Batch]) -> tuple[list[tuple[str, str]], Columns]:
    """The sensors (node, sensor) in their order, and the readings sorted by these and by time; `id` is a sensor's place."""
    names = sorted({(batch.node, sensor) for batch in batches for sensor in batch.sensors})
    place = {name: number for number, name in enumerate(names)}
    ids = [np.array([place[batch.node, s] for s in batch.sensors], dtype=np.int32)[batch.number] for batch in batches]
    number = np.concatenate(ids)
    moment = np.concatenate([batch.at for batch in batches])
    order = np.lexsort((moment, number))
    value = np.concatenate([batch.value for batch in batches])
    return names, {"id": number[order], "moment": moment[order], "value": value[order]}
