"""The LogGP parameters of a network, from round trips of trains of messages.

Model: A. Alexandrov, M. Ionescu, K. Schauser & C. Scheiman 1995 (SPAA): a message of s bytes takes o + L + (s−1)·G + o,
the next can follow after g + (s−1)·G. Method: T. Hoefler, A. Lichei & W. Rehm 2007, "Low-Overhead LogGP Parameter
Assessment for Modern Interconnection Networks" (IPDPS): PRTT(n, d, s) is the time from the start of a train of n
messages of s bytes, which its sender spaces by computing for d seconds between two, until the single answer of s bytes
to the last one has arrived. In the model it is 2·(2o + L + (s−1)·G) + (n−1)·max(o + d, g + (s−1)·G).
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from steelyard.statistics.models.hockney import fit_line


class Train(NamedTuple):
    """One measurement: PRTT(`messages`, `delay` in seconds, `size` in bytes) = `seconds`."""

    messages: int
    delay: float
    size: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class LogGP:
    """The parameters in seconds (G and O: seconds per byte); None: not measured, or not positive within the noise.

    `latency` L is what a message needs besides both overheads and its bytes. Where the receiver works while the message
    still arrives (short messages through shared memory, offloading cards), the overheads count twice and L comes out
    too small, or None; `half_round_trip`, PRTT(1, 0, s)/2 of the smallest s, is then the figure to use for L with o = 0.
    `overhead` o is the sender's at the smallest size, `overhead_per_byte` O its growth with size. `gap` g and
    `gap_per_byte` G are the line through `gaps`. No train is faster than its sender: where gap and overhead agree, the
    network's own gap is at most that. `overheads` and `gaps` hold (bytes, seconds) as measured, by size; `worst` is the
    greatest relative residual of the gaps' line.
    """

    latency: float | None
    overhead: float | None
    overhead_per_byte: float | None
    gap: float | None
    gap_per_byte: float | None
    half_round_trip: float | None
    overheads: tuple[tuple[int, float], ...]
    gaps: tuple[tuple[int, float], ...]
    worst: float | None


def fit_parameters(trains: Sequence[Train], receive: Mapping[int, float] | None = None) -> LogGP:
    """Returns the LogGP parameters of a table of `trains`; the median of equal trains counts.

    Every size needs its round trip (one message; its delay does not matter). Trains without delay give the gap of their
    size, (PRTT(n, 0, s) − PRTT(1, 0, s)) / (n−1), trains with a delay the sender's overhead, (PRTT(n, d, s) − PRTT(1,
    0, s)) / (n−1) − d, if the delay covers the gap: shorter ones (than the gap, or the round trip where no gap was
    measured) are left out. The error of o is that of d: a delay of two or three gaps is better than a round trip.
    Longer trains count more. `receive`, by size, is the receiver's overhead where it was measured by itself (the time
    of a receive whose message is already there); otherwise it is taken to be the sender's. All sizes must use one
    protocol: split the table where `hockney.switches` finds one. Raises ValueError for a train that cannot be.
    """
    for train in trains:
        if train.messages < 1 or train.delay < 0 or train.size < 0 or not 0 < train.seconds < math.inf:
            raise ValueError(
                f"'{train}' is not a valid train of messages: expected messages >= 1, delay and size >= 0, seconds > 0"
            )
    times = _take_medians(trains)
    alone = {size: seconds for (messages, _, size), seconds in times.items() if messages == 1}
    gaps = _find_message_times(times, alone, lambda delay, size: delay == 0)
    covered = _find_message_times(times, alone, lambda delay, size: delay > 0 and delay >= gaps.get(size, alone[size]))
    overheads = {size: value for size, value in covered.items() if value > 0}
    gap, gap_per_byte, worst = _fit_by_size(gaps)
    _, overhead_per_byte, _ = _fit_by_size(overheads)
    return LogGP(
        latency=_fit_latency(alone, overheads, receive or {}, gap_per_byte),
        overhead=overheads[min(overheads)] if overheads else None,
        overhead_per_byte=overhead_per_byte,
        gap=gap,
        gap_per_byte=gap_per_byte,
        half_round_trip=alone[min(alone)] / 2 if alone else None,
        overheads=tuple(sorted(overheads.items())),
        gaps=tuple(sorted(gaps.items())),
        worst=worst,
    )


def _take_medians(trains: Sequence[Train]) -> dict[tuple[int, float, int], float]:
    equal: dict[tuple[int, float, int], list[float]] = {}
    for messages, delay, size, seconds in trains:
        equal.setdefault((messages, delay if messages > 1 else 0.0, size), []).append(seconds)
    return {key: statistics.median(values) for key, values in equal.items()}


def _find_message_times(
    times: Mapping[tuple[int, float, int], float], alone: Mapping[int, float], wanted: Callable[[float, int], bool]
) -> dict[int, float]:
    """Returns the time that each further message adds besides the delay, by size, with relative weights."""
    sums: dict[int, list[float]] = {}
    for (messages, delay, size), seconds in times.items():
        if messages > 1 and size in alone and wanted(delay, size):
            further = messages - 1
            weight = (further / seconds) ** 2
            total = sums.setdefault(size, [0.0, 0.0])
            total[0] += weight * ((seconds - alone[size]) / further - delay)
            total[1] += weight
    return {size: total / weight for size, (total, weight) in sums.items()}


def _fit_by_size(values: Mapping[int, float]) -> tuple[float | None, float | None, float | None]:
    """Returns the value at one byte, the growth per byte and the worst relative residual of a line by size."""
    points = np.array([(max(0, size - 1), value) for size, value in sorted(values.items()) if value > 0], dtype=float)
    if len(points) == 0:
        return None, None, None
    start, slope, residuals = fit_line(points)
    return start if start > 0 else None, slope if slope > 0 else None, float(np.abs(residuals).max())


def _fit_latency(
    alone: Mapping[int, float], overheads: Mapping[int, float], receive: Mapping[int, float], per_byte: float | None
) -> float | None:
    """Returns the latency at the smallest size with a known overhead. If G is unknown, the bytes count as latency."""
    size = min(overheads, default=None)
    if size is None:
        return None
    both = overheads[size] + receive.get(size, overheads[size])
    latency = alone[size] / 2 - both - max(0, size - 1) * (per_byte or 0.0)
    return latency if latency > 0 else None
