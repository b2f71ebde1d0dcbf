"""Quanta of each thread in a record of noise.quanta, with their detours and frequencies."""

import math
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

import numpy as np

from steelyard.model import Record
from steelyard.statistics.models.detours import Detours, find_detours
from steelyard.statistics.models.spectrum import Tone, find_rhythms
from steelyard.statistics.samples.interval import Array

LEAST_PERIODS = 10  # in a measurement: a lower frequency cannot be distinguished from drift
GROUPS = 300  # of frequencies, evenly spaced on a logarithmic axis: as many as a figure can show


@dataclass(frozen=True)
class Thread:
    """One thread's quanta in order of time: start of each since the first start, and duration, in seconds."""

    starts: Array
    seconds: Array


@dataclass(frozen=True)
class Slices:
    """One thread's slices of `length` seconds: numbers on the common grid, and lost share of each."""

    length: float
    numbers: tuple[int, ...]
    lost: tuple[float, ...]


def threads(record: Record) -> tuple[Thread, ...]:
    """Returns the quanta of kernel `fixed_work`; empty for another kernel, or if none are recorded."""
    details = record.surroundings.details or {}
    if record.kernel != "fixed_work" or not details:
        return ()
    unit, quanta = float(details["unit"]), []
    for thread in details["threads"]:
        seconds = unit * (thread["base"] + np.array(thread["over"], dtype=np.float64))
        series = np.split(seconds, np.cumsum(thread["lengths"])[:-1]) if len(thread["lengths"]) else []
        starts = [
            unit * start + np.cumsum(inside) - inside for start, inside in zip(thread["starts"], series, strict=True)
        ]
        quanta.append(Thread(np.concatenate(starts) if starts else np.empty(0), seconds))
    return tuple(quanta)


def slices(record: Record) -> tuple[Slices, ...]:
    """Returns the slices of kernel `fixed_time`, with losses against the thread's best slice; empty for another kernel."""
    details = record.surroundings.details or {}
    if record.kernel != "fixed_time" or not details:
        return ()
    series = []
    for thread in details["threads"]:
        runs = (range(start, start + n) for start, n in zip(thread["starts"], thread["lengths"], strict=True))
        lost = tuple(missing / max(1, thread["most"]) for missing in thread["missing"])
        series.append(Slices(float(details["slice"]), tuple(chain.from_iterable(runs)), lost))
    return tuple(series)


def threads_with_detours(record: Record) -> tuple[tuple[Thread, Detours], ...]:
    """Returns each thread of `fixed_work` with its detours, except threads with too few quanta."""
    pairs = ((thread, find_detours(thread.seconds)) for thread in threads(record))
    return tuple((thread, losses) for thread, losses in pairs if losses)


def median_detours(record: Record) -> Detours | None:
    """Returns the detours of the thread with the median loss (the lesser of two); None if no thread has enough quanta."""
    ranked = sorted((s for _, s in threads_with_detours(record)), key=lambda s: s.lost)
    return ranked[(len(ranked) - 1) // 2] if ranked else None


def tones(record: Record) -> tuple[Tone, ...]:
    """Returns the frequencies of all threads' detours, each once, from the thread with the clearest signal."""
    tones: list[Tone] = []
    candidates = chain.from_iterable(find_rhythms(t.seconds, t.starts) or () for t in threads(record))
    for tone in sorted(candidates, key=lambda t: t.p):
        if all(abs(tone.frequency - f.frequency) > 2 * max(tone.resolution, f.resolution) for f in tones):
            tones.append(tone)
    return tuple(tones)


def amplitudes(slices: Slices) -> tuple[tuple[float, float], ...]:
    """Returns (hertz, amplitude of the lost share), the greatest of each group of neighbouring frequencies.

    It uses Hann's window. Slices between two series were not measured and count as the mean. Empty with fewer than 100
    slices.
    """
    if len(slices.lost) < 100:
        return ()
    lost = np.asarray(slices.lost, dtype=float)
    row: Array = np.zeros(slices.numbers[-1] - slices.numbers[0] + 1)
    row[np.asarray(slices.numbers) - slices.numbers[0]] = lost - lost.mean()
    window = np.hanning(len(row))
    heights = 2 * np.abs(np.fft.rfft(row * window)) / window.sum()
    hertz = np.fft.rfftfreq(len(row), slices.length)
    groups: dict[int, tuple[float, float]] = {}
    least = hertz[min(LEAST_PERIODS, len(hertz) - 1)]
    for f, height in zip(hertz.tolist(), heights.tolist(), strict=True):
        if f >= least and height > 0:
            group = math.floor(GROUPS * math.log(f / least) / math.log(hertz[-1] / least))
            groups[group] = max(groups.get(group, (f, 0.0)), (f, height), key=itemgetter(1))
    return tuple(groups[g] for g in sorted(groups))
