"""What a record of noise.quanta holds: the single quanta of each thread, and what follows from them."""

import math
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

import numpy as np

from steelyard.model import Record
from steelyard.statistics.models.detours import Detours, detours
from steelyard.statistics.models.spectrum import Tone, spectrum
from steelyard.statistics.samples.interval import Array

LEAST_PERIODS = 10  # in a measurement: a slower rhythm cannot be distinguished from drift
GROUPS = 300  # of frequencies, evenly on a logarithmic axis: as many as a figure can show


@dataclass(frozen=True)
class Thread:
    """One thread's quanta in the order of time: seconds since the first began, and how long each took (seconds)."""

    starts: Array
    seconds: Array


@dataclass(frozen=True)
class Slices:
    """One thread's slices of `length` seconds: their numbers on the common grid, and the share of each that was lost."""

    length: float
    numbers: tuple[int, ...]
    lost: tuple[float, ...]


def threads(record: Record) -> tuple[Thread, ...]:
    """The quanta of kernel `fixed_work`; empty for another kernel, or where the record kept none."""
    details = record.surroundings.details or {}
    if record.kernel != "fixed_work" or not details:
        return ()
    unit, found = float(details["unit"]), []
    for each in details["threads"]:
        seconds = unit * (each["base"] + np.array(each["over"], dtype=np.float64))
        series = np.split(seconds, np.cumsum(each["lengths"])[:-1]) if len(each["lengths"]) else []
        starts = [
            unit * start + np.cumsum(inside) - inside for start, inside in zip(each["starts"], series, strict=True)
        ]
        found.append(Thread(np.concatenate(starts) if starts else np.empty(0), seconds))
    return tuple(found)


def slices(record: Record) -> tuple[Slices, ...]:
    """The slices of kernel `fixed_time`, lost against the thread's best one; empty for another kernel."""
    details = record.surroundings.details or {}
    if record.kernel != "fixed_time" or not details:
        return ()
    found = []
    for each in details["threads"]:
        runs = (range(start, start + n) for start, n in zip(each["starts"], each["lengths"], strict=True))
        lost = tuple(missing / max(1, each["most"]) for missing in each["missing"])
        found.append(Slices(float(details["slice"]), tuple(chain.from_iterable(runs)), lost))
    return tuple(found)


def analysed(record: Record) -> tuple[tuple[Thread, Detours], ...]:
    """Each thread of `fixed_work` with its detours; threads with too few quanta are left out."""
    pairs = ((thread, detours(thread.seconds)) for thread in threads(record))
    return tuple((thread, observed) for thread, observed in pairs if observed)


def usual(record: Record) -> Detours | None:
    """The detours of the thread with the median loss (of two, the lesser); None where no thread has enough quanta."""
    observed = sorted((s for _, s in analysed(record)), key=lambda s: s.lost)
    return observed[(len(observed) - 1) // 2] if observed else None


def tones(record: Record) -> tuple[Tone, ...]:
    """The rhythms of all threads' detours, each frequency once, with the strength of the thread that shows it best."""
    found: list[Tone] = []
    heard = chain.from_iterable(spectrum(t.seconds, t.starts) or () for t in threads(record))
    for tone in sorted(heard, key=lambda t: t.p):
        if all(abs(tone.frequency - f.frequency) > 2 * max(tone.resolution, f.resolution) for f in found):
            found.append(tone)
    return tuple(found)


def amplitudes(of: Slices) -> tuple[tuple[float, float], ...]:
    """(hertz, amplitude of the share lost) of `of`, the greatest of each group of neighbouring frequencies.

    Hann's window; slices between two series, which nobody measured, count as the mean. Empty with fewer than 100 slices.
    """
    if len(of.lost) < 100:
        return ()
    lost = np.asarray(of.lost, dtype=float)
    row: Array = np.zeros(of.numbers[-1] - of.numbers[0] + 1)
    row[np.asarray(of.numbers) - of.numbers[0]] = lost - lost.mean()
    window = np.hanning(len(row))
    heights = 2 * np.abs(np.fft.rfft(row * window)) / window.sum()
    hertz = np.fft.rfftfreq(len(row), of.length)
    groups: dict[int, tuple[float, float]] = {}
    least = hertz[min(LEAST_PERIODS, len(hertz) - 1)]
    for f, height in zip(hertz.tolist(), heights.tolist(), strict=True):
        if f >= least and height > 0:
            group = math.floor(GROUPS * math.log(f / least) / math.log(hertz[-1] / least))
            groups[group] = max(groups.get(group, (f, 0.0)), (f, height), key=itemgetter(1))
    return tuple(groups[g] for g in sorted(groups))
