"""Periodic noise: the frequencies at which detours come, such as the tick of a kernel."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.statistics.models.detours import find_detours
from steelyard.statistics.samples.interval import Array
from steelyard.statistics.samples.summary import Samples

LEAST = 16  # detours that are needed to find a rhythm
LEAST_PERIODS = 10  # in the measurement: fewer lie too near to each other's overtones to see the noise between
CHANCE = 1e-3  # chance of a false tone in a whole spectrum
FINER = 2  # lines of the transform in one of the spectrum
LOBE = 2  # lines of the spectrum from the top of a tone to its foot, with Hann's window
OVERTONES = 64  # overtones that are assigned to their tone
CLEAR = 0.5  # least strength of a tone, as a share of that of its strongest overtone
MOST = 5  # tones
NEIGHBOURS = 200  # lines on either side, whose median is the level of the noise around one


@dataclass(frozen=True)
class Tone:
    """Detours come at `frequency` hertz, all `period` seconds; `resolution` is how well that is known, in hertz.

    `strength` is 0 for detours at any time and 1 if all keep the rhythm exactly; `p` the chance that detours at random
    show such a tone anywhere in the spectrum.
    """

    frequency: float
    period: float
    resolution: float
    strength: float
    p: float


def find_rhythms(quanta: Samples, starts: Samples) -> tuple[Tone, ...] | None:
    """Returns the rhythms of the detours in `quanta` (their seconds) that began at `starts` (seconds), the clearest first.

    The periodogram of the times at which hit quanta began, with Hann's window: for detours at random its values are
    exponential, so that the p of the highest of M is 1 − (1 − e^−height)^M (A. Schuster 1898; for events: M. S. Bartlett
    1963, J. R. Stat. Soc. B 25:264); heights are over the median of their neighbourhood, lest bursts look like rhythms.
    Overtones of a tone are left out. Frequencies go from ten periods in the measurement to half the rate of the
    quanta: a faster rhythm appears at a lower frequency, which quanta of another length move. None if nothing can be
    told: fewer than 100 quanta or 16 detours. Raises ValueError where the two differ in length.
    """
    if len(quanta) != len(starts):
        raise ValueError(f"'{len(quanta)}' quanta and '{len(starts)}' starts; expected one start for each quantum")
    hits = find_detours(quanta)
    if hits is None or hits.count < LEAST:
        return None
    times = np.asarray(starts, dtype=float)
    length = float(times[-1] - times[0]) + float(quanta[-1])
    lines = _compute_lines(times[list(hits.indices)] - times[0], length, len(times))
    return tuple(_list_tones(lines, length))


@dataclass(frozen=True)
class _Lines:
    """The spectrum: hertz from one line to the next, and of the quanta; by line its strength, and the p of its height."""

    step: float
    rate: float
    strengths: Array
    p: Array


def _compute_lines(events: Array, length: float, quanta: int) -> _Lines:
    """Returns the spectrum of `events` (seconds from 0 to `length`), up to half the rate of the `quanta`."""
    window = np.sin(np.pi * events / length) ** 2
    cells = 2 * quanta
    cell = length / cells
    series = np.bincount((events / cell).astype(int), weights=window, minlength=cells + 1)
    padded = _round_up_length(FINER * cells)
    sums = np.abs(np.fft.rfft(series, padded))[: padded // 4]
    heights = sums**2 / float((window**2).sum())
    # The lines are no more independent than those of the grid without padding: M is too high rather than too low.
    p = -np.expm1(len(heights) * np.log1p(-np.exp(-np.maximum(heights / _estimate_neighbourhood(heights), 1e-12))))
    p[: math.ceil(LEAST_PERIODS / length * padded * cell)] = 1.0
    return _Lines(1 / (padded * cell), quanta / length, sums / float(window.sum()), p)


def _round_up_length(least: int) -> int:
    """Returns the smallest number from `least` on with no prime factor above 5: Fourier transforms of such lengths are fast."""
    odd: list[int] = [3**i * 5**j for i in range(least.bit_length() + 1) for j in range(least.bit_length() + 1)]
    return min(number << (-(-least // number) - 1).bit_length() for number in odd)


def _estimate_neighbourhood(heights: Array) -> Array:
    """Returns the mean height of the noise around each line, at least that of random events (1). Bursts raise it."""
    centres = np.unique(np.geomspace(1, len(heights), 64).astype(int))
    means = []
    for centre in centres.tolist():
        low, high = max(centre // 3, centre - NEIGHBOURS), min(3 * centre, centre + NEIGHBOURS) + 1
        means.append(float(np.median(heights[low:high])) / math.log(2))
    level: Array = np.maximum(1.0, np.interp(np.arange(len(heights)), centres, means))
    return level


def _list_tones(lines: _Lines, length: float) -> Iterator[Tone]:
    left = np.where(lines.p < CHANCE, lines.strengths, 0.0)
    for _ in range(MOST):
        top = int(np.argmax(left))
        if left[top] == 0:
            return
        first = _find_fundamental(top, left)
        frequency = _trace_tone(first, left, lines.rate / lines.step) * lines.step
        yield Tone(frequency, 1 / frequency, 1 / length, float(lines.strengths[first]), float(lines.p[first]))


def _find_fundamental(top: int, left: Array) -> int:
    """Returns the lowest clear line that has `top` as an overtone."""
    for k in range(OVERTONES, 1, -1):
        near = round(top / k)
        around = left[max(0, near - 1) : near + 2]
        if near and around.max() >= CLEAR * left[top]:
            return max(0, near - 1) + int(np.argmax(around))
    return top


def _trace_tone(first: int, left: Array, rate: float) -> float:
    """Returns the exact line of a tone from its overtones, and removes them and their aliases from `left`."""
    foot = FINER * LOBE + 1
    place = float(first)
    for k in range(1, len(left) // first + 1):
        near = round(k * place)
        around = left[max(0, near - foot) : near + foot + 1]
        if k * foot < first and around.size and around.max() > 0:
            place = (max(0, near - foot) + int(np.argmax(around))) / k
    for k in range(1, OVERTONES + 1):
        for line, width in (
            (k * place, foot),
            (abs(rate - k * place), 3 * foot),
            (abs(2 * rate - k * place), 3 * foot),
        ):
            left[max(0, round(line) - width) : round(line) + width + 1] = 0.0
    return place
