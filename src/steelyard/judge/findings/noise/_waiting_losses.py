"""Losses of ranks that wait for each other, and the part that the detours of their processors explain."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import NamedTuple

from steelyard.model import Evaluation, Record
from steelyard.model.roles import Waiting
from steelyard.statistics.models.detours import Detours, expected_collective_slowdown
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.benchmark_roles import find_roles

SMALL = 8  # bytes: the transfer of such messages takes almost no time


class Loss(NamedTuple):
    """The relative loss `measured` of `ranks` (or threads) that synchronised after each `burst` seconds.

    `measured` is their mean time over `burst`, minus 1; `expected` follows from the detours (see `detours.Slowdown`).
    """

    what: str
    ranks: int
    burst: float
    measured: float
    expected: float


def find_thread_loss(record: Record, detours_of_threads: Sequence[Detours], usual: Detours) -> Loss | None:
    """Returns the loss of equal series of quanta, after which the harness waits for the slowest thread; None for one thread.

    A series without detours takes as long as the undisturbed quanta of the slowest thread.
    """
    threads, quanta = record.parameters.get("threads"), record.work.get("quanta", 0.0)
    if (
        type(threads) is not int
        or threads < 2
        or not detours_of_threads
        or not record.samples
        or not 0 < quanta < math.inf
    ):
        return None
    burst = max(s.base for s in detours_of_threads) * quanta / threads
    return _compute_loss(f"{threads} threads", threads, burst, record.samples, usual)


def rank_losses(evaluation: Evaluation, usual: Detours) -> Iterator[Loss]:
    """Yields the loss of kernels whose ranks wait for each other, for small messages and the most ranks: mean over median."""
    for name, role in find_roles(evaluation, Waiting):
        waiting = [r for r in evaluation.results if (r.benchmark, r.kernel) == (name, role.kernel)]
        waiting = [r for r in waiting if messages.size(r) <= SMALL and not messages.oversubscribed(r)]
        for result in cases.select_greatest(waiting, "ranks")[:1]:
            samples = [s for row in messages.seconds(result) for s in row]
            ranks = int(cases.number(result, "ranks") or 0)
            if ranks > 1 and samples:
                yield _compute_loss(f"{name} {role.kernel} of {ranks} ranks", ranks, median(samples), samples, usual)


def _compute_loss(what: str, ranks: int, burst: float, samples: Sequence[float], usual: Detours) -> Loss:
    expected = expected_collective_slowdown(usual, ranks, burst).slowdown
    return Loss(what, ranks, burst, fmean(samples) / burst - 1, expected)
