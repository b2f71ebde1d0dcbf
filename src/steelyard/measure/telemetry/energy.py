"""The energy of an interval from the readings of a sensor: a value, and bounds that include sampling, steps and clocks.

The readings become a course: the energy up to each of many moments (knots). Nothing is known about the power between two knots.
An interval that begins and ends between knots therefore used at least the energy between the knots within it, and at most the
energy between the knots around it. This holds for any power that is not negative, without an assumption on its distribution.
Neighbouring intervals share one course, so that their energies add up to the energy of the whole.
"""

from dataclasses import dataclass, replace

import numpy as np

from steelyard.measure.telemetry.possible_readings import SOARING, Mask, find_possible
from steelyard.model.sensor import Moments, Sensor, Trace, Values

NANO = 1e-9
LONG = 2.5  # times the usual distance of two readings: above it, a reading is missing
FROZEN = 10  # usual steps without a change, before an energy counter counts as standing still
STEPS = 50  # updates of a counter over which a greatest power is taken: its step is then 2 % of it
PRINTED = 6  # digits behind the decimal point that a step may have
COUNTED = 2.0**40  # steps: larger numbers are not exact enough
COARSE = 1e-4  # share of a step: allowed deviation of a value from a multiple
DISTINCT = 6  # differences of values that prove a common step
SURE = 2.0  # standard deviations: 95 %
FAR_OUT = np.errstate(
    over="ignore", invalid="ignore"
)  # values near the greatest number overflow: their energy is unknown, and NumPy shall not warn


@dataclass(frozen=True, kw_only=True)
class Energy:
    """`joules` with their 95 % interval `low` … `high`, of `seconds`, without the error that the maker states.

    `power` is the mean (W), `greatest` the greatest mean over `over` seconds (None: no readings lie within).
    `missing` is the share of the time without readings: it was filled with the mean of the rest.
    """

    joules: float
    low: float
    high: float
    seconds: float
    greatest: float | None
    over: float
    missing: float

    @property
    def power(self) -> float:
        return self.joules / self.seconds

    @property
    def width(self) -> float:
        """Half the width of the interval, relative to the energy."""
        return (self.high - self.low) / 2 / self.joules if self.joules > 0 else np.inf


@dataclass(frozen=True)
class Overlap:
    """The sensor `holder` contains this sensor: both are the `same` counter, or it is part of a sum. Not `sure`: perhaps.

    `more`: this sensor shows more than `holder`, which should contain it. `still`: `holder` never changes, although this sensor
    does. In both cases `holder` does not count.
    """

    holder: str
    same: bool
    sure: bool
    more: bool = False
    still: bool = False


@dataclass(frozen=True, kw_only=True)
class Course:
    """The energy (J) up to each moment `at` (s after `origin`, ns since 1970); the first energy is 0.

    Between two knots it was at least `low` and at most `high`. The time of a knot is exact within `blur` seconds, and its energy
    within `grain` joules. `offset` is the possible error of the power (W), `scatter` the variance (J²) between knots. `step` is
    the step of the values of a power (W; 0: none). `overlap` names the sensor that contains this one, if the readings show it.
    """

    sensor: Sensor
    origin: int
    at: Values
    joules: Values
    low: Values
    high: Values
    gap: Values  # seconds of each stretch of which nothing is known
    scatter: Values
    blur: float
    grain: float
    offset: float
    step: float = 0.0
    overlap: Overlap | None = None


@FAR_OUT
def course(trace: Trace, several: bool = False) -> Course | None:
    """Returns the course of a sensor of energy or power; None for fewer than two readings and for any other quantity.

    `several`: see `find_possible`.
    """
    usable = find_possible(trace, several)
    at, value = trace.at[usable], trace.value[usable]
    if len(at) < 2 or trace.sensor.quantity not in ("energy", "power"):
        return None
    seconds = _make_times_steady(at)
    first = np.concatenate(([True], np.diff(seconds) > 0))  # two at one moment are one
    seconds, value = seconds[first], value[first]
    if len(seconds) < 2:
        return None
    made = _integrate_counter if trace.sensor.quantity == "energy" else _integrate_power
    return made(trace.sensor, int(at[0]), seconds, value)


def _make_times_steady(at: Moments) -> Values:
    """Returns seconds after the first reading. If the device's clock went back, the usual step is used instead."""
    steps = np.diff(at) * NANO
    forward = steps[steps > 0]
    usual = float(np.median(forward)) if forward.size else 0.0
    return np.concatenate(([0.0], np.cumsum(np.where(steps < 0, usual, steps))))


def _integrate_counter(sensor: Sensor, origin: int, at: Values, count: Values) -> Course:
    steps, lengths = np.diff(count), np.diff(at)
    fell = steps < 0
    steps = np.where(fell, steps + (sensor.range or 0.0), steps)
    sound: Mask = np.asarray(steps >= 0) & (~fell if sensor.range is None else True)
    powers = steps[sound] / lengths[sound]
    most = float(powers.max()) if powers.size else 0.0
    if fell.any() and (~fell).any():
        sound &= ~fell | (steps / lengths <= SOARING * float((steps / lengths)[~fell].max()))
    # A counter that may have wrapped once more than visible: the energy is unknown.
    sound &= most * lengths <= (sensor.range or np.inf)
    sound &= ~_find_frozen(sensor, steps, lengths, sound)
    mean, least, most = _describe_power(steps, lengths, sound)
    joules = np.where(sound, steps, mean * lengths)
    low = np.where(sound, steps, np.minimum(np.maximum(steps, 0) * ~fell, least * lengths))
    high = np.where(sound, steps, np.maximum(most * lengths, joules))
    lag = sensor.update / 2  # a reading may be up to `update` old
    return Course(
        sensor=sensor, origin=origin, at=at - lag, joules=_sum_steps(joules), low=low, high=high,
        gap=np.where(sound, 0.0, lengths), scatter=np.zeros(len(steps)),
        blur=lag, grain=sensor.resolution, offset=0.0,
    )  # fmt: skip


def _find_frozen(sensor: Sensor, steps: Values, lengths: Values, sound: Mask) -> Mask:
    """Returns where a counter stood still for so long that it cannot have counted, including the step after it."""
    still = sound & (steps == 0)
    moved = sound & ~still
    if not still.any() or not moved.any():
        return np.zeros(len(steps), dtype=bool)
    # While it works it moves once in so many seconds: with each update, or with each step of its resolution.
    usual = max(sensor.update, float(lengths[sound].sum() / moved.sum()), float(np.median(lengths)))
    frozen = np.zeros(len(steps), dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], still, [False])).astype(int)))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        if lengths[begin:end].sum() > FROZEN * usual:
            frozen[begin : end + 1] = True
    return frozen


def _integrate_power(sensor: Sensor, origin: int, at: Values, watts: Values) -> Course:
    lengths = np.diff(at)
    usual = float(np.median(lengths))
    # A reading stands for the time before it: its window, or the usual step. The first one, too.
    at = np.concatenate(([at[0] - (sensor.window or usual)], at))
    lengths = np.diff(at)
    window = sensor.window or 0.0
    missing = np.where(lengths > LONG * max(usual, window), lengths - max(usual, window), 0.0)
    powers = watts
    if not window:  # at a moment: between two of them the mean of both
        powers = np.concatenate((watts[:1], (watts[1:] + watts[:-1]) / 2))
    mean, least, most = _describe_power(powers * lengths, lengths, missing == 0)
    joules = powers * (lengths - missing) + mean * missing
    low = powers * (lengths - missing) + least * missing
    high = powers * (lengths - missing) + most * missing
    # The time between two windows was not measured. Its power is assumed to scatter like the readings.
    unseen = np.clip(1 - window / lengths, 0, 1)
    turns = np.concatenate(([0.0], np.diff(watts))) ** 2 / 2
    scatter = turns * (unseen * np.minimum(lengths, max(usual, window))) ** 2
    late = max(window - usual, 0.0) / 2  # windows that overlap: their mean lies before the step that they stand for
    return Course(
        sensor=sensor, origin=origin, at=at - late, joules=_sum_steps(joules), low=low, high=high, gap=missing,
        scatter=scatter,
        blur=2 * late, grain=0.0, offset=sensor.resolution / 2, step=sensor.resolution or _find_printed_step(watts),
    )  # fmt: skip


def _find_printed_step(watts: Values) -> float:
    """Returns the common step of printed values (W): a whole watt, a tenth … or a multiple; 0 if there is none."""
    distinct = np.unique(watts)
    for digits in range(PRINTED + 1):
        counts = distinct * 10.0**digits
        if np.abs(counts).max() < COUNTED and np.abs(counts - np.round(counts)).max() < COARSE:
            between = np.diff(np.round(counts).astype(np.int64))
            common = int(np.gcd.reduce(between)) if len(between) >= DISTINCT else 1
            return max(common, 1) / 10.0**digits
    return 0.0


def _describe_power(joules: Values, lengths: Values, sound: Mask) -> tuple[float, float, float]:
    """Returns the mean, the least and the greatest power between two readings, where it is known."""
    if not sound.any():
        return 0.0, 0.0, 0.0
    powers = joules[sound] / lengths[sound]
    return float(joules[sound].sum() / lengths[sound].sum()), float(powers.min()), float(powers.max())


def _sum_steps(joules: Values) -> Values:
    return np.concatenate(([0.0], np.cumsum(joules)))


def energy(of: Course, begin: int, end: int, clock: float = 0.0) -> Energy | None:
    """Returns the energy used from `begin` to `end` (ns since 1970). Their clock and that of the device may differ by `clock`
    seconds.

    None if the readings cover less than half of that time. ValueError if `end` is not later than `begin`.
    """
    if end <= begin:
        raise ValueError(f"the period from {begin} to {end} is empty: its end must be later than its begin")
    a, b = (begin - of.origin) * NANO, (end - of.origin) * NANO
    outside = max(of.at[0] - a, 0.0) + max(b - of.at[-1], 0.0)
    inside = np.clip(np.minimum(of.at[1:], b) - np.maximum(of.at[:-1], a), 0, None)
    lengths = np.diff(of.at)
    untold = outside + float((of.gap * inside / lengths).sum())
    if untold > (b - a) / 2:
        return None
    sound = of.gap == 0
    mean, least, most = _describe_power(np.diff(of.joules), lengths, sound)
    joules = _interpolate_energy(of, b) - _interpolate_energy(of, a) + mean * outside
    reach = of.blur + clock
    high = _find_energy_after(of, b + reach) - _find_energy_before(of, a - reach) + most * outside
    low = _find_energy_before(of, b - reach) - _find_energy_after(of, a + reach) + least * outside
    touched = (of.at[1:] > a - reach) & (of.at[:-1] < b + reach)
    steps = np.diff(of.joules)
    spread = SURE * float(of.scatter[touched].sum()) ** 0.5 + of.offset * (b - a) + of.grain
    high += float((of.high - steps)[touched].sum()) + spread
    low -= float((steps - of.low)[touched].sum()) + spread
    greatest, over = _find_greatest_power(of, a, b)
    if greatest is not None:  # it lies within whole steps; what reaches beyond them at both ends may draw more
        greatest = max(greatest, joules / (b - a))
    return Energy(
        joules=joules,
        low=max(low, 0.0),
        high=high,
        seconds=b - a,
        greatest=greatest,
        over=over,
        missing=untold / (b - a),
    )


def measure_reached(of: Course, begin: int, end: int, clock: float = 0.0) -> Energy | None:
    """Returns the energy of the part of that time that the readings reach. `missing` is the share of all of it without readings.

    None if the readings reach no part of it, or cover less than half of that part.
    """
    after = of.blur if of.sensor.quantity == "energy" else of.blur / 2  # the last knot lies before its reading
    first, last = max(begin, of.origin), min(end, of.origin + round(float(of.at[-1] + after) / NANO))
    result = energy(of, first, last, clock) if last > first else None
    if result is None:
        return None
    covered = result.seconds * (1 - result.missing)
    return replace(result, missing=min(max(1 - covered / ((end - begin) * NANO), 0.0), 1.0))


def _interpolate_energy(of: Course, when: float) -> float:
    return float(np.interp(when, of.at, of.joules))


def _find_energy_before(of: Course, when: float) -> float:
    """Returns the energy up to the last knot that is not after `when`."""
    return float(of.joules[max(int(np.searchsorted(of.at, when, side="right")) - 1, 0)])


def _find_energy_after(of: Course, when: float) -> float:
    """Returns the energy up to the first knot that is not before `when`."""
    return float(of.joules[min(int(np.searchsorted(of.at, when, side="left")), len(of.at) - 1)])


def _find_greatest_power(of: Course, a: float, b: float) -> tuple[float | None, float]:
    """Returns the greatest power between knots from `a` to `b`, over times so long that the counter's steps do not matter."""
    within = np.flatnonzero((of.at >= a) & (of.at <= b))
    usual = float(np.median(np.diff(of.at)))
    steps = STEPS * of.sensor.update if of.sensor.quantity == "energy" else 0.0
    least = max(of.sensor.window, steps, usual)
    if len(within) < 2:
        return None, least
    at, joules, gap = of.at[within], of.joules[within], _sum_steps(of.gap)[within]
    ends = np.searchsorted(at, at + least * (1 - 1e-9))
    whole = ends < len(at)
    begins, ends = np.flatnonzero(whole), ends[whole]
    sound = gap[ends] == gap[begins]
    if not sound.any():
        return None, least
    powers = (joules[ends] - joules[begins]) / (at[ends] - at[begins])
    return float(powers[sound].max()), least


def seconds_for(sensor: Sensor, width: float, period: float) -> float:
    """Returns how long a stretch must be, in seconds, so that half of its interval is `width` (relative), read every `period`
    seconds."""
    return max(sensor.window, period, sensor.update) / width
