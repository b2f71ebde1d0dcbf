"""Steps in a series of runs: where its level changed for good, found robustly and confirmed by permutation.

Ranks decide, and single values far from their neighbours are set aside first, so a lone outlier is no step and hides none. Two
levels that come and go (two modes, a season) are none either: after a step, no run is on an earlier level.

Intervals: S. Kovács, P. Bühlmann, H. Li and A. Munk 2023, Biometrika 110:249 (seeded binary segmentation). False discoveries:
Y. Benjamini and Y. Hochberg 1995, J. R. Statist. Soc. B 57:289.
"""

import itertools
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from steelyard.statistics.difference.peers import CLIP, MAD
from steelyard.statistics.samples.interval import Array

LEAST = 3  # runs on each side of a step: two could be a coincidence of two outliers
SMALLEST = 0.01  # relative: a smaller step concerns nobody
LEVEL = 0.045  # chance of a step in a series without one; the sentences promise less than 5 %
DISCOVERIES = 0.1  # share of false ones among the series that a page names
LEAST_FOR_SHAPE = 20  # runs that show whether each resembles the one before, or whether all follow a line
PERMUTATIONS = 499
MODES = 4  # at most one of so many series has two modes, whose order alone decides; in the others, the size of a step does, too
LONE = 5.0  # robust deviations: a value further from its level is a lone one
LEAST_LONE = 0.05  # relative: a nearer one is none
MOST_LONE = 0.1  # of the values: more of them are another level
BACK = 0.25  # of a step: successive values so near to the other level are on it
MODE = 0.02  # of the values: more single ones that are on the other level of a step show two modes
NEIGHBOURS = 3  # on each side of a value, with which it is compared before steps are searched
MOST_ASIDE = 0.2  # of the values: more that differ from their neighbours are two modes
FIRST_ORDERS = 49
FIRST_AS_CLEAR = 6  # of these: then no further ones are needed
CLEAR = 1e-5  # a chance below this needs no further orders either
TAIL = 10  # the clearest orders, from which the chance of still clearer ones follows
MOST = 512  # runs that are looked at one by one; of longer series, medians of neighbours come first
_DECAY = math.sqrt(0.5)  # from one layer of intervals to the next


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The level changed before the value `place`, by the factor `ratio` of the medians `before` and `after`.

    `low` … `high` is the 95 % interval of the ratio. `p` is the chance of such a step in a series without one.
    """

    place: int
    before: float
    after: float
    ratio: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The steps and other changes of a series. `p` is the chance of changes as clear in a constant series.

    `steps` are its steps. `returned` are the (first, last + 1) places of values on another level, which ended. `drift` is the
    factor from the first to the last value if a straight line explains the series better than levels do; None otherwise.
    `lone` are the places of single values far from their level, which are no step.
    """

    steps: tuple[Step, ...] = ()
    returned: tuple[tuple[int, int], ...] = ()
    drift: float | None = None
    p: float = 1.0
    lone: tuple[int, ...] = ()


CONSTANT = Course()


def find_course(values: Sequence[float], smallest: float = SMALLEST, level: float = LEVEL) -> Course:
    """Returns the steps of a series of positive values in the order of time, in the unit of `values`.

    A step is at least `smallest` (relative). Raises ValueError for a value that is not positive and finite.
    """
    series = np.asarray(values, dtype=float)
    if bad := [value for value in series.tolist() if not (math.isfinite(value) and value > 0)]:
        raise ValueError(f"a value of the series is '{bad[0]}'; expected positive, finite values")
    if len(series) < 2 * LEAST:
        return CONSTANT
    whole = np.log(series)
    places = np.flatnonzero(~_differs_from_neighbours(whole))
    logs = whole[places]
    borders, p = _find_changes(logs, level)
    if not borders:
        return Course(lone=_find_lone(whole, []))
    if (drift := _find_drift(logs, borders)) is not None:
        line = drift * np.arange(len(whole)) / (len(whole) - 1)
        clear = abs(drift) > math.log1p(smallest)
        return Course(
            drift=math.exp(drift) if clear else None, p=p if clear else 1.0, lone=_find_lone(whole - line, [])
        )
    borders, chance = _keep_clear(logs, borders, level)
    p = max(p / MODES, chance)
    borders = _join_small_steps(logs, borders, smallest)
    lasting, spans = _find_lasting_borders(logs, borders)
    edges = [*places.tolist(), len(whole)]  # of the whole series, by the places among the values that were kept
    edges[0] = 0
    steps = tuple(replace(step, place=edges[step.place]) for step in _describe_steps(logs, lasting, p))
    if len(steps) == 1 and _is_mode(whole, steps[0]):
        steps = ()
    return Course(
        steps=steps,
        returned=tuple((edges[begin], edges[end]) for begin, end in spans),
        p=p if borders else 1.0,
        lone=_find_lone(whole, [edges[border] for border in borders]),
    )


def discover(chances: Sequence[float], share: float = DISCOVERIES) -> list[bool]:
    """Returns which of several series have a discovery: at most `share` of these is expected to be false."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    passed = [rank for rank, index in enumerate(order, 1) if chances[index] <= share * rank / len(order)]
    chosen = set(order[: max(passed, default=0)])
    return [index in chosen for index in range(len(chances))]


def _differs_from_neighbours(logs: Array) -> NDArray[np.bool_]:
    """Returns which values are far from those before and from those after; none of them if they are too many to be lone."""
    far = max(LONE * _estimate_deviation(logs), math.log1p(SMALLEST))
    unknown = np.full(NEIGHBOURS, math.nan)
    with warnings.catch_warnings(
        action="ignore", category=RuntimeWarning
    ):  # the first and the last value have one side
        windows = sliding_window_view(np.concatenate([unknown, logs, unknown]), NEIGHBOURS)
        middle = np.nanmedian(windows, axis=1)
    n, ordered = len(logs), np.sort(logs)
    before, after = middle[:n], middle[NEIGHBOURS + 1 :]
    equal = np.searchsorted(ordered, logs + far, side="right") - np.searchsorted(ordered, logs - far)
    rare = equal <= 1 + max(1, MOST_LONE * n)  # more of them, wherever they are, are a second mode
    lone: NDArray[np.bool_] = ~(np.abs(logs - before) <= far) & ~(np.abs(logs - after) <= far) & rare
    return lone if lone.sum() <= min(MOST_ASIDE * n, n - 2 * LEAST) else np.zeros(n, dtype=bool)


def _estimate_deviation(logs: Array) -> float:
    """Returns a robust standard deviation from one value to the next, which steps hardly change."""
    return MAD * float(np.median(np.abs(np.diff(logs)))) / math.sqrt(2) if len(logs) > 1 else 0.0


def _find_changes(logs: Array, level: float) -> tuple[list[int], float]:
    """Returns the places before which the level changes, sorted, and the chance of the first one that was found."""
    if len(logs) > MOST:  # the medians of neighbours; then each border goes to its value
        width = -(-len(logs) // MOST)
        whole = len(logs) // width
        medians = np.median(logs[: whole * width].reshape(whole, width), axis=1)
        found, p = _find_changes(medians, level)
        return _refine_borders(logs, [place * width for place in found]), p
    place, p = _find_split(logs)
    if place is None or p > level:
        return [], p
    left, _ = _find_changes(logs[:place], level)
    right, _ = _find_changes(logs[place:], level)
    return _refine_borders(logs, [*left, place, *(place + other for other in right)]), p


def _find_split(logs: Array) -> tuple[int | None, float]:
    """Returns the clearest change of level, and the chance that a random order of the same values has one as clear."""
    n = len(logs)
    if n < 2 * LEAST or np.ptp(logs) == 0:  # a part of a series, or a constant one
        return None, 1.0
    centered = logs - logs.mean()
    contrasts, places = _find_contrasts(centered[None, :])
    least = float(contrasts[0]) * (1 - 1e-9)  # an order whose contrast is the same but for rounding is as clear
    drawn, variance = np.zeros(0), float(centered @ centered) / (n - 1)
    for orders in (FIRST_ORDERS, PERMUTATIONS - FIRST_ORDERS):
        rows = np.random.default_rng((n, orders)).permuted(np.tile(centered, (orders, 1)), axis=1)
        drawn = np.concatenate([drawn, _find_contrasts(rows)[0]])
        as_clear = int(np.count_nonzero(drawn >= least))
        # Beyond the drawn ones, contrasts are no more frequent than those of normal values with the variance of a split.
        tail = TAIL * math.exp(min(0.0, float(np.sort(drawn)[-TAIL]) ** 2 - least**2) / 2 / variance)
        p = (1 + as_clear if as_clear else min(1.0, tail)) / (1 + len(drawn))
        if as_clear >= FIRST_AS_CLEAR or p < CLEAR:
            break
    return int(places[0]), p


def _find_contrasts(orders: Array) -> tuple[Array, Array]:
    """Returns for each row the greatest difference of the means beside a place, over its standard deviation, and the place."""
    sums = np.concatenate([np.zeros((len(orders), 1)), np.cumsum(orders, axis=1)], axis=1)
    greatest, places = np.zeros(len(orders)), np.zeros(len(orders), dtype=int)
    for begin, end in _list_intervals(orders.shape[1]):
        splits = np.arange(begin + LEAST, end - LEAST + 1)
        left, right = splits - begin, end - splits
        means = (sums[:, splits] - sums[:, [begin]]) / left - (sums[:, [end]] - sums[:, splits]) / right
        contrasts = np.abs(means) * np.sqrt(left * right / (end - begin))
        at = np.argmax(contrasts, axis=1)
        found = np.take_along_axis(contrasts, at[:, None], axis=1)[:, 0]
        places = np.where(found > greatest, splits[at], places)
        greatest = np.maximum(greatest, found)
    return greatest, places


def _estimate_dependence(logs: Array, borders: Sequence[int]) -> float:
    """Returns by how much a contrast counts less because each value resembles the one before; 1 if they seem independent."""
    n = len(logs)
    if n < LEAST_FOR_SHAPE:
        return 1.0
    rest = logs - np.repeat(_find_levels(logs, borders), np.diff([0, *borders, n]))
    far = CLIP * MAD * float(np.median(np.abs(rest)))
    rest = np.clip(rest, -far, far)
    correlation = float(rest[1:] @ rest[:-1]) / max(float(rest @ rest), 1e-18)
    correlation = min(correlation + (1 + len(borders)) / n, 0.9)  # each level that is removed makes it lower
    return math.sqrt((1 - correlation) / (1 + correlation)) if correlation > 1.5 / math.sqrt(n) else 1.0


def _keep_clear(logs: Array, borders: Sequence[int], level: float) -> tuple[list[int], float]:
    """Returns the borders that are clear although values resemble those before them, and the least chance of one.

    The order says too little here: Student's t of two levels decides, and any place could be a border.
    """
    from steelyard.statistics.samples.distribution_functions import stdtr

    borders, n, factor = list(borders), len(logs), _estimate_dependence(logs, borders)
    while borders:
        edges, levels = [0, *borders, n], _find_levels(logs, borders)
        rest = np.abs(logs - np.repeat(levels, np.diff(edges)))
        deviation = max(MAD * float(np.median(rest)) * math.sqrt(n / (n - len(levels))), 1e-9)
        sizes = (math.sqrt(1 / (b - a) + 1 / (c - b)) for a, b, c in zip(edges, edges[1:], edges[2:], strict=False))
        errors = [deviation * math.sqrt(math.pi / 2) * size for size in sizes]  # of the difference of two medians
        ratios = [factor * abs(b - a) / error for (a, b), error in zip(itertools.pairwise(levels), errors, strict=True)]
        chances = [min(1.0, 2 * n * float(stdtr(n - len(levels), -ratio))) for ratio in ratios]
        if factor == 1 or max(chances) < level:
            return borders, min(chances)
        del borders[chances.index(max(chances))]
    return [], 1.0


def _list_intervals(n: int) -> Iterator[tuple[int, int]]:
    """Yields the intervals (begin, end) in which one change is looked for: all of the series, then shorter layers."""
    length = float(n)
    while length >= 2 * LEAST:
        count = 2 * math.ceil(n / length) - 1
        shift = (n - length) / (count - 1) if count > 1 else 0.0
        for number in range(count):
            begin = math.floor(number * shift)
            yield begin, min(n, math.ceil(number * shift + length))
        length *= _DECAY


def _refine_borders(logs: Array, borders: Sequence[int]) -> list[int]:
    """Moves each border to where its two neighbouring segments are split best: the least distance from two medians."""
    edges = [0, *borders, len(logs)]
    for number in range(1, len(edges) - 1):
        begin, end = edges[number - 1], edges[number + 1]
        old = edges[number]
        low, high = float(np.median(logs[begin:old])), float(np.median(logs[old:end]))
        # With two known levels, the cost of each split is one cumulative sum.
        gain = np.cumsum(np.abs(logs[begin:end] - low) - np.abs(logs[begin:end] - high))
        allowed = slice(min(LEAST, old - begin) - 1, end - begin - min(LEAST, end - old))
        edges[number] = begin + allowed.start + 1 + int(np.argmin(gain[allowed]))
    return edges[1:-1]


def _join_small_steps(logs: Array, borders: list[int], smallest: float) -> list[int]:
    """Removes borders whose two levels differ by less than the smallest step, the smallest difference first."""
    borders = list(borders)
    while borders:
        levels = _find_levels(logs, borders)
        differences = [abs(b - a) for a, b in itertools.pairwise(levels)]
        least = min(range(len(borders)), key=differences.__getitem__)
        if differences[least] >= math.log1p(smallest):
            break
        del borders[least]
    return borders


def _find_levels(logs: Array, borders: Sequence[int]) -> list[float]:
    edges = [0, *borders, len(logs)]
    return [float(np.median(logs[a:b])) for a, b in itertools.pairwise(edges)]


def _find_drift(logs: Array, borders: Sequence[int]) -> float | None:
    """Returns the change of a straight line over the series, if this explains it better than the levels; None otherwise.

    Better is Schwarz's criterion with absolute distances, which one outlier does not decide.
    """
    n = len(logs)
    if n < LEAST_FOR_SHAPE:
        return None
    levels = np.repeat(_find_levels(logs, borders), np.diff([0, *borders, n]))
    times = np.arange(n, dtype=float)
    slope = _estimate_slope(logs)
    line = slope * times
    line += np.median(logs - line)
    scale = max(_estimate_deviation(logs), 1e-9)
    costs = []
    for fitted, parameters in ((levels, 2 * len(borders) + 1), (line, 2)):
        costs.append(float(np.minimum(np.abs(logs - fitted) / scale, CLIP).sum()) + parameters * math.log(n) / 2)
    return slope * (n - 1) if costs[1] < costs[0] else None


def _estimate_slope(logs: Array) -> float:
    """Returns the median slope of pairs that are half of the series apart."""
    half = len(logs) // 2
    return float(np.median((logs[-half:] - logs[:half]) / (len(logs) - half)))


def _find_lasting_borders(logs: Array, borders: Sequence[int]) -> tuple[list[int], tuple[tuple[int, int], ...]]:
    """Returns the borders of lasting steps, and the spans of levels that ended because an earlier one came back."""
    levels = _find_levels(logs, borders)
    near = max(math.log1p(SMALLEST), 2 * _estimate_deviation(logs) / math.sqrt(LEAST))
    edges = [0, *borders, len(logs)]

    def is_lasting(number: int) -> bool:
        before, after = levels[number - 1], levels[number]
        room = BACK * abs(after - before)
        if _is_at(logs[edges[number] :], before, room) or _is_at(logs[: edges[number]], after, room):
            return False
        return all(abs(a - b) >= near for a in levels[:number] for b in levels[number:])

    lasting = [border for number, border in enumerate(borders, 1) if is_lasting(number)]
    home = [0, *lasting, len(logs)]
    returned = []
    for begin, end in itertools.pairwise(home):
        inside = [n for n in range(len(levels)) if begin <= edges[n] and edges[n + 1] <= end]
        usual = float(np.median(logs[begin:end]))
        returned += [(edges[n], edges[n + 1]) for n in inside if abs(levels[n] - usual) >= near]
    return lasting, tuple(returned)


def _is_at(logs: Array, level: float, room: float) -> bool:
    """Returns whether a tenth of the values are within `room` of a level, each with one beside it that is so, too."""
    near = np.abs(logs - level) <= room
    pairs = near[1:] & near[:-1]
    together = np.append(pairs, False) | np.append(False, pairs)
    return int(together.sum()) > MOST_LONE * len(logs)


def _is_mode(whole: Array, step: Step) -> bool:
    """Returns whether single values, beside none of the same level, show that the only step is a change between two modes."""
    before, after = math.log(step.before), math.log(step.after)
    if abs(after - before) < LONE * _estimate_deviation(whole):
        return False
    room = BACK * abs(after - before)
    early, late = whole[: step.place - 1], whole[step.place + 1 :]
    count = int((np.abs(early - after) <= room).sum() + (np.abs(late - before) <= room).sum())
    return count > MODE * len(whole)


def _find_lone(logs: Array, borders: Sequence[int]) -> tuple[int, ...]:
    rest = logs - np.repeat(_find_levels(logs, borders), np.diff([0, *borders, len(logs)]))
    far = max(LONE * MAD * float(np.median(np.abs(rest))), math.log1p(LEAST_LONE))
    places = tuple(np.flatnonzero(np.abs(rest) > far).tolist())
    return places if len(places) <= max(1, MOST_LONE * len(logs)) else ()


def _describe_steps(logs: Array, borders: Sequence[int], p: float) -> Iterator[Step]:
    edges = [0, *borders, len(logs)]
    for begin, place, end in zip(edges, edges[1:], edges[2:], strict=False):
        before, after = logs[begin:place], logs[place:end]
        difference = float(np.median(after) - np.median(before))
        error = math.hypot(*(_estimate_median_error(part, logs) for part in (before, after)))
        yield Step(
            place=place,
            before=math.exp(float(np.median(before))),
            after=math.exp(float(np.median(after))),
            ratio=math.exp(difference),
            low=math.exp(difference - error),
            high=math.exp(difference + error),
            p=p,
        )


def _estimate_median_error(part: Array, logs: Array) -> float:
    """Returns half of the 95 % interval of the median of a part."""
    from steelyard.statistics.samples.distribution_functions import stdtrit

    scatter = MAD * float(np.median(np.abs(part - np.median(part))))
    deviation = max(scatter, _estimate_deviation(logs))
    return float(stdtrit(max(len(part) - 1, 1), 0.975)) * deviation * math.sqrt(math.pi / 2 / len(part))
