"""The ranges in which the value of another run will lie: right after this run, and at another hour.

Two launches of a case cannot show how much times differ, but the launches of a group of benchmarks can together (random effects):
the first and the second half of a run differ as two runs do. The differences of all cases, each divided by the scale of its case
(from the scatter of its samples and of its launches), have one distribution for a group. No shape is assumed, since times have
several modes on a shared machine: the range follows from a quantile of the differences that were observed.

The value uses the clean launches of a case, if there are any. Another run differs from it as clean launches differ, unless that
run has no clean launch of the case. As often as this happened in this run, it differs as disturbed launches differ from clean
ones.

At another hour the pace of cores and memory may be another one. How times follow the pace is estimated from launches of the same
case at different paces. The range then extends from the full pace to the slow one that earlier runs of this machine had.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.model import Record
from steelyard.model.observed import Kind
from steelyard.model.record import Span
from steelyard.statistics.samples.interval import Array, normal_quantile
from steelyard.statistics.samples.launches import CONFIDENCE, RUN_SPREAD, add_run_spread
from steelyard.statistics.validity.measures import MEASURES
from steelyard.statistics.validity.pace import Mask

SCATTER_FLOOR = 0.01  # added to the scatter of samples: launches differ by some percent even where samples do not
EXTREME = 0.04  # by which the extreme launches of two runs differ at most (logarithm), where times have two modes
OWN_SHARE = 0.5  # weight of the differences of the benchmark itself; the others are those of its whole group
# Weight of the group in the variance of the launches of a case, in launches: few launches may agree by chance, above all if times
# have two modes. With 2, simulated neighbours were held in 91 % of the cases, with 5 in 94 to 97 %.
GROUP_WEIGHT = 5
# Exponents of pace before anything is known: time ∝ (best / pace)^exponent. Programs follow the rate of the core more or less.
EXPONENTS = np.array([0.5 if kind == "issued" else 0.0 for kind in MEASURES])
DEVIATIONS = np.array([0.25 if kind == "issued" else 0.2 for kind in MEASURES])
STEEPEST = 1.2  # a larger exponent is an artefact of few launches
# Loss of pace on a virtual machine if another guest takes half of a core, even if none did in this run.
SHARED_CORE: Mapping[Kind, float] = {"issued": math.log(2)}


@dataclass(frozen=True, kw_only=True)
class Paces:
    """The paces of a machine. `losses(record)`: log(best of the machine / pace beside the record), of each kind; 0 if it is
    unknown or within the bound of an undisturbed reading.

    `slowdown(record)`: the greatest factor by which the pace beside the record explains a longer time.
    `slow` has the loss of each kind at a slow hour of earlier runs. `unknown`: other guests may share the machine, and too few
    earlier runs say how much they take.
    """

    losses: Callable[[Record], Array]
    slowdown: Callable[[Record], float]
    slow: Array
    unknown: bool


def paces_lost(shares: Mapping[Kind, float] | Mapping[str, float]) -> Array:
    """Returns the losses (see `Paces`) from the shares of the best pace by kind."""
    read = ((shares.get(kind, 1.0), measure.loss) for kind, measure in MEASURES.items())
    return np.array([-math.log(share) if 0 < share < 1 - loss else 0.0 for share, loss in read])


UNKNOWN_PACES = Paces(
    losses=lambda record: np.zeros(len(MEASURES)),
    slowdown=lambda record: math.inf,
    slow=np.zeros(len(MEASURES)),
    unknown=False,
)


@dataclass(frozen=True, kw_only=True)
class Launched:
    """The launches of a case. `medians`: seconds of each; `scatter`: log of the ninth tenth of its samples over the first tenth.

    `losses` has a row for each launch and a column for each kind of pace (see `Paces`). `scatter` is None if its launches have
    too few samples. `clean` says which launches nothing disturbed.
    """

    benchmark: str
    medians: Array
    scatter: float | None
    losses: Array
    clean: Mask

    @cached_property
    def has_clean(self) -> bool:
        """Returns whether nothing disturbed at least one launch."""
        return bool(self.clean.any())

    @cached_property
    def used(self) -> Mask:
        """Returns the launches that the value uses: the clean ones, or all if none is."""
        return self.clean if self.has_clean else np.ones_like(self.clean)

    @cached_property
    def logs(self) -> Array:
        """Returns the logarithms of the medians of the launches that the value uses."""
        return np.log(self.medians[self.used])

    @cached_property
    def lost(self) -> float | None:
        """Returns by how much (log) the disturbed launches took longer than the clean ones; None without both."""
        return None if self.used.all() else float(np.log(self.medians[~self.used]).mean() - self.logs.mean())


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """Seconds in which the value of another run lies with 95 %, right after this run (`now`) and at another hour (`later`)."""

    now: Span
    later: Span


@dataclass(frozen=True, kw_only=True)
class _Model:
    """The launches of one benchmark: exponents of pace, and the differences between the halves of the run.

    `plain` are the differences as measured, `paced` those that the pace does not explain, both without sign and in scales.
    `clean` says which of them are between clean launches. `lost` are those of disturbed launches from clean ones of a case.
    """

    cases: Sequence[int]
    exponents: Array
    covariance: Array  # covariance of the exponents
    plain: Array
    paced: Array
    clean: Mask
    lost: Array

    def of_kind(self, clean: bool) -> Array:
        """Returns the differences as measured between clean launches, or between disturbed ones."""
        return np.asarray(self.plain[self.clean == clean])

    def shift(self, losses: Array, half: float) -> float:
        """Returns how much longer (log) such losses of pace make a case at most, if it is known to `half` at a known pace."""
        exponent = max(0.0, float(losses @ self.exponents))
        error = normal_quantile(CONFIDENCE) * math.sqrt(float(losses @ self.covariance @ losses))
        return min(exponent + error, STEEPEST * float(losses.sum())) + add_run_spread(half)


def find_ranges(cases: Sequence[Launched], paces: Paces) -> list[Ranges | None]:
    """Returns the ranges of each case; None for all if no case has two launches."""
    scales = _find_scales(cases)
    models = {
        name: _fit_model(cases, members, scales) for name, members in _group(cases, lambda case: case.benchmark).items()
    }
    feared = np.array([SHARED_CORE.get(kind, 0.0) if paces.unknown else 0.0 for kind in MEASURES])
    slow = np.maximum(feared, paces.slow)
    found: list[Ranges | None] = [None] * len(cases)
    for name, model in models.items():
        family = [m for other, m in models.items() if _name_family(other) == _name_family(name)]
        if not any(m.plain.size for m in family):
            family = list(models.values())
        if not any(m.plain.size for m in family):
            continue
        paced = _find_quantile(model.paced, np.concatenate([m.paced for m in family]))
        disturbed = [not cases[i].has_clean for m in family for i in m.cases]
        share = (sum(disturbed) + 0.5) / (len(disturbed) + 1)
        of_kind = {clean: _find_differences(model, family, clean, share) for clean in (True, False)}
        for i in model.cases:
            plain = of_kind[cases[i].has_clean].ends(scales[i])
            found[i] = _find_ranges(cases[i], model, plain, scales[i] * paced, slow)
    return found


@dataclass(frozen=True, kw_only=True)
class _Differences:
    """The differences of another run (log), with weights. `scaled` are in scales of a case, and count with both signs."""

    scaled: Array
    lost: Array
    weights: Array  # of the scaled ones, slower; of these, faster; and of the lost ones

    def ends(self, scale: float) -> Span:
        """Returns by how much (log) another run of a case is faster and slower at most."""
        values = np.concatenate([scale * self.scaled, -scale * self.scaled, self.lost])
        low, high = _find_weighted_quantiles(values, self.weights, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
        return max(0.0, -low), max(0.0, high)


def _find_differences(model: _Model, family: Sequence[_Model], clean: bool, disturbed: float) -> _Differences:
    """Returns the differences for cases with clean launches, or for those without any.

    `disturbed` is the share of the cases without a clean launch.
    """
    own, pool = model.of_kind(clean), np.concatenate([m.of_kind(clean) for m in family])
    if not pool.size:
        own, pool = model.plain, np.concatenate([m.plain for m in family])
    sign, other = (1, disturbed) if clean else (-1, 1 - disturbed)
    lost, all_lost = sign * model.lost, sign * np.concatenate([m.lost for m in family])
    if not all_lost.size:
        other = 0.0
    either = _weigh_differences(own, pool, (1 - other) / 2)
    return _Differences(
        scaled=np.concatenate([own, pool]),
        lost=np.concatenate([lost, all_lost]),
        weights=np.concatenate([either, either, _weigh_differences(lost, all_lost, other)]),
    )


def _find_ranges(case: Launched, model: _Model, plain: Span, paced: float, slow: Array) -> Ranges:
    """Returns the ranges of a case (log). `plain`: how much faster and slower another run is, as measured; `paced` is half of the
    width at a known pace.

    `slow` has the losses of pace at a slow hour, of each kind alone.
    """
    center, losses = float(case.logs.mean()), case.losses[case.used].mean(axis=0)
    # Launches of one run share its level, so that their differences do not contain it: it is added as a whole.
    level = normal_quantile(CONFIDENCE) * RUN_SPREAD
    low = min(center - plain[0] - level, float(case.logs.min()) - min(EXTREME, plain[0]))
    high = max(center + plain[1] + level, float(case.logs.max()) + min(EXTREME, plain[1]))
    least = center - model.shift(losses, paced)
    slower = (np.maximum(0.0, row - losses) for row in np.diag(slow))
    most = center + max((model.shift(row, paced) for row in slower), default=0.0)
    later = math.exp(min(least, low)), math.exp(max(most, high))
    return Ranges(now=(math.exp(low), math.exp(high)), later=later)


def _group(cases: Sequence[Launched], key: Callable[[Launched], str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for i, case in enumerate(cases):
        groups.setdefault(key(case), []).append(i)
    return groups


def _name_family(benchmark: str) -> str:
    return benchmark.partition(".")[0]


def _find_scales(cases: Sequence[Launched]) -> Array:
    """Returns the scale of each case: from the scatter of its samples, and from how its launches differ among each other.

    Few launches say little, so that their variance is moderated by that of the group (G. K. Smyth 2004).
    """
    scales = np.empty(len(cases))
    for members in _group(cases, lambda case: case.benchmark).values():
        scatters = [s for i in members if (s := cases[i].scatter) is not None]
        usual = float(np.median(scatters)) if scatters else SCATTER_FLOOR
        scales[members] = [usual if (s := cases[i].scatter) is None else s for i in members]
    scales = np.sqrt(scales + SCATTER_FLOOR)
    squares = np.array([float(((case.logs - case.logs.mean()) ** 2).sum()) for case in cases]) / scales**2
    freedom = np.array([len(case.logs) - 1 for case in cases])
    for members in _group(cases, lambda case: _name_family(case.benchmark)).values():
        known = [i for i in members if freedom[i]]
        usual = float(np.mean(squares[known] / freedom[known])) if known else 0.0
        if usual > 0:
            of_group = (GROUP_WEIGHT * usual + squares[known]) / (GROUP_WEIGHT + freedom[known])
            scales[known] *= np.sqrt(of_group / usual)
    return scales


def _fit_model(cases: Sequence[Launched], members: Sequence[int], scales: Array) -> _Model:
    repeated = [i for i in members if len(cases[i].logs) > 1]
    logs = np.array([_average_second_half(cases[i].logs) - _average_second_half(cases[i].logs[::-1]) for i in repeated])
    used = [cases[i].losses[cases[i].used] for i in repeated]
    losses = np.array([_average_second_half(rows) - _average_second_half(rows[::-1]) for rows in used])
    losses = losses.reshape(len(repeated), len(MEASURES))
    exponents, covariance = _fit_exponents(logs, losses)
    return _Model(
        cases=members,
        exponents=exponents,
        covariance=covariance,
        plain=np.abs(logs) / scales[repeated],
        paced=np.abs(logs - losses @ exponents) / scales[repeated],
        clean=np.array([cases[i].has_clean for i in repeated], dtype=bool),
        lost=np.array([lost for i in members if (lost := cases[i].lost) is not None]),
    )


def _average_second_half(launches: Array) -> Array:
    """Returns the mean of the launches in the second half of the run."""
    later: Array = launches[-(len(launches) // 2) :].mean(axis=0)
    return later


def _fit_exponents(logs: Array, losses: Array) -> tuple[Array, Array]:
    """Returns how the time follows each kind of pace, and the covariance of these exponents: Bayesian linear regression."""
    noise = (
        float(np.mean((logs - losses @ np.linalg.lstsq(losses, logs, rcond=None)[0]) ** 2)) + SCATTER_FLOOR**2
        if len(logs)
        else 1.0
    )
    covariance = np.linalg.inv(np.diag(1 / DEVIATIONS**2) + losses.T @ losses / noise)
    exponents: Array = covariance @ (EXPONENTS / DEVIATIONS**2 + losses.T @ logs / noise)
    return exponents, np.asarray(covariance)


def _find_quantile(own: Array, pool: Array) -> float:
    """Returns the weighted quantile of the differences."""
    (found,) = _find_weighted_quantiles(np.concatenate([own, pool]), _weigh_differences(own, pool, 1.0), (CONFIDENCE,))
    return found


def _weigh_differences(own: Array, pool: Array, whole: float) -> Array:
    """Returns the weights of the differences of the benchmark and of its group; `whole` is their sum."""
    share = OWN_SHARE if own.size else 0.0
    parts = (own.size, share), (pool.size, 1 - share)
    return whole * np.concatenate([np.full(size, part / max(1, size)) for size, part in parts])


def _find_weighted_quantiles(values: Array, weights: Array, shares: Sequence[float]) -> list[float]:
    order = np.argsort(values)
    places = np.searchsorted(np.cumsum(weights[order]), shares)
    return [float(values[order][min(int(place), len(values) - 1)]) for place in places]
