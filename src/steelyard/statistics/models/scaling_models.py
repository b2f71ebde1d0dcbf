"""Laws of scaling fitted to measured times: Amdahl's, Gustafson's, and the universal scalability law."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.statistics.samples.interval import Array

SPARE = 2  # counts beyond the number of parameters: with fewer, any law passes through every point
REACH = 2.0  # times the greatest measured count: a law is used up to here
CLOSE = 0.05  # a law that misses a time by more, and by more than three times its error, does not describe the program
DRAWS, SEED = 1000, 2  # fixed, so that the same samples always give the same answer


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval; an end that cannot be stated is None."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Law:
    """A law whose curve is linear in its coefficients.

    `columns(p)` (counts × coefficients) times the coefficients is what it describes: the cost of a unit of work (s), or with
    `rates` the speed (1/s). `parameters(x)` turns coefficients (… × coefficients) into the law's own (… × parameters).
    """

    name: str
    formula: str
    names: tuple[str, ...]
    columns: Callable[[Array], Array]
    parameters: Callable[[Array], Array]
    rates: bool = False


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A law as it fits best. `deviation`: root mean square of its relative misses of the times; `follows`: none is gross.

    It may be believed from the least to the greatest of `counts`, which it was fitted to, and with care up to `furthest`.
    `peak` is the count at which the universal scalability law is fastest; None if it has no peak within that range.
    """

    law: str
    formula: str
    parameters: Mapping[str, Estimate]
    deviation: float
    follows: bool
    counts: tuple[int, ...]
    furthest: int
    peak: Estimate | None = None


@dataclass(frozen=True)
class Costs:
    """Seconds of a unit of work by count: logarithms, their standard errors, and so many draws of them (draws × counts)."""

    counts: tuple[int, ...]
    logs: Array
    errors: Array
    scatter: Array  # draws × counts: Student's t, by which each draw departs, in standard errors


def _make_columns(*made: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda p: np.stack([column(p) for column in made], axis=-1)


def _compute_first_share(first: Array) -> Array:
    """Returns the first of two coefficients over both."""
    whole = first.sum(axis=-1, keepdims=True)
    share: Array = first[..., :1] / np.where(whole > 0, whole, np.nan)
    return share


def _divide_by_first(x: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(x[..., 1:] / x[..., :1], dtype=np.float64)


# G. Amdahl, AFIPS 1967: T(p) = T(1) · (s + (1 − s)/p).
AMDAHL = Law(
    name="Amdahl",
    formula="S(p) = 1 / (s + (1 − s)/p)",
    names=("s",),
    columns=_make_columns(np.ones_like, lambda p: 1 / p),
    parameters=_compute_first_share,
)
# J. Gustafson, CACM 31:532, 1988: the speed is that of one, times s + (1 − s)·p.
GUSTAFSON = Law(
    name="Gustafson",
    formula="S(p) = p − s·(p − 1)",
    names=("s",),
    columns=_make_columns(np.ones_like, lambda p: p),
    parameters=_compute_first_share,
    rates=True,
)
# N. Gunther, Guerrilla Capacity Planning, 2007: a is contention for what is shared, b the cost of keeping it alike.
USL = Law(
    name="USL",
    formula="S(p) = p / (1 + a·(p − 1) + b·p·(p − 1))",
    names=("a", "b"),
    columns=_make_columns(lambda p: 1 / p, lambda p: (p - 1) / p, lambda p: p - 1),
    parameters=_divide_by_first,
)
LAWS = {law.name: law for law in (AMDAHL, GUSTAFSON, USL)}


def speedup(fit: Fit, count: float) -> float:
    """Returns the speed-up of `count` over one by the law: S(p) of its formula."""
    p = float(count)
    if fit.law == "USL":
        a, b = fit.parameters["a"].value, fit.parameters["b"].value
        return p / (1 + a * (p - 1) + b * p * (p - 1))
    s = fit.parameters["s"].value
    return p - s * (p - 1) if fit.law == "Gustafson" else 1 / (s + (1 - s) / p)


def explain_refusal(law: Law, counts: Sequence[int]) -> str:
    """Why the law is not fitted to so few counts; '' where there are enough."""
    least = len(law.names) + SPARE
    if len(counts) >= least:
        return ""
    many = "one parameter" if len(law.names) == 1 else f"{len(law.names)} parameters"
    return (
        f"it has {many} and needs at least {least} different counts with a processor for each; "
        f"{len(counts)} {'was' if len(counts) == 1 else 'were'} measured"
    )


def fit(law: Law, costs: Costs) -> Fit:
    """Returns the law with the least relative misses, its coefficients held at 0 or more.

    Intervals: the fit is repeated for draws of the times, each moved by its standard error times Student's t. Where the law
    misses by more than these errors, they are widened to the misses (R. T. Birge, Phys. Rev. 40:207, 1932): a law that does
    not hold is not known exactly either. Raises ValueError for too few counts.
    """
    if why := explain_refusal(law, costs.counts):
        raise ValueError(f"{law.name} cannot be fitted: {why}")
    best, drawn_coefficients, missed = _solve_law(law, costs)
    drawn = law.parameters(drawn_coefficients)
    values = law.parameters(best)[0]
    estimates = {name: _make_estimate(float(values[i]), drawn[:, i]) for i, name in enumerate(law.names)}
    furthest = int(REACH * max(costs.counts))
    return Fit(
        law=law.name,
        formula=law.formula,
        parameters=estimates,
        deviation=float(np.sqrt(np.mean(missed**2))),
        follows=_follows_law(missed, costs) and bool(np.isfinite(values).all()),
        counts=costs.counts,
        furthest=furthest,
        peak=_find_peak(values, drawn, furthest) if law is USL else None,
    )


def predict(law: Law, costs: Costs, counts: Array) -> tuple[Array, Array] | None:
    """Returns the logarithm of the cost by the law at `counts`, and one row of them for each draw (draws × counts).

    None if there are too few measured counts, or if the law does not describe the measured costs.
    """
    if explain_refusal(law, costs.counts):
        return None
    best, drawn, missed = _solve_law(law, costs)
    if not _follows_law(missed, costs):
        return None
    columns, sign = law.columns(counts), -1.0 if law.rates else 1.0
    with np.errstate(divide="ignore"):
        return sign * np.log(columns @ best[0]), sign * np.log(drawn @ columns.T)


def _solve_law(law: Law, costs: Costs) -> tuple[Array, Array, Array]:
    """Returns the best coefficients (1 × coefficients), those of each draw, and the relative misses of the measured times."""
    columns = law.columns(np.array(costs.counts, dtype=np.float64))
    sign = -1.0 if law.rates else 1.0
    best = _fit_least_squares(columns, sign * costs.logs[np.newaxis, :])
    missed = (columns @ best[0]) * np.exp(-sign * costs.logs) - 1
    freedom = max(1, len(costs.counts) - columns.shape[1])
    widened = math.sqrt(max(1.0, float(((missed / costs.errors) ** 2).sum()) / freedom))
    draws = costs.logs + widened * costs.errors * costs.scatter
    return best, _fit_least_squares(columns, sign * draws), missed


def _follows_law(missed: Array, costs: Costs) -> bool:
    return bool((np.abs(missed) <= np.maximum(CLOSE, 3 * costs.errors)).all())


def _fit_least_squares(columns: Array, logs: Array) -> Array:
    """Returns coefficients ≥ 0 (rows × coefficients) that minimise Σ (columns · x / exp(logs) − 1)² for each row of `logs`.

    With three coefficients at most, every choice of those that are not 0 is tried: of the solutions without a negative
    one the best is the constrained one (C. Lawson and R. Hanson, Solving Least Squares Problems, 1974, chapter 23).
    """
    rows, many = len(logs), columns.shape[1]
    # Divided by a common scale, so that exp neither under- nor overflows; each column by its own greatest element.
    middle = logs.mean(axis=1, keepdims=True)
    weighted = columns[np.newaxis, :, :] * np.exp(-(logs - middle))[:, :, np.newaxis]
    scales = np.abs(weighted).max(axis=1, keepdims=True)
    weighted = weighted / scales
    best, least = np.zeros((rows, many)), np.full(rows, float(columns.shape[0]))
    for size in range(1, many + 1):
        for chosen in itertools.combinations(range(many), size):
            part = weighted[:, :, list(chosen)]
            x = np.linalg.pinv(part).sum(axis=2)
            missed = ((np.einsum("rnk,rk->rn", part, x) - 1) ** 2).sum(axis=1)
            better = (x >= 0).all(axis=1) & (missed < least)
            least = np.where(better, missed, least)
            full = np.zeros((rows, many))
            full[:, list(chosen)] = x
            best = np.where(better[:, np.newaxis], full, best)
    coefficients: Array = best / scales[:, 0, :] * np.exp(middle)
    return coefficients


def _make_estimate(value: float, drawn: Array) -> Estimate:
    defined = drawn[~np.isnan(drawn)]
    if defined.size < 0.9 * drawn.size:
        return Estimate(value)
    low, high = (float(v) for v in np.quantile(defined, (0.025, 0.975), method="nearest"))
    return Estimate(value, min(low, value), max(high, value) if math.isfinite(high) else None)


def _find_peak(values: Array, drawn: Array, furthest: int) -> Estimate | None:
    """Returns the count where dS/dp = 0: p = √((1 − a)/b)."""
    a, b = float(values[0]), float(values[1])
    if not b > 0 or not math.isfinite(b):
        return None
    at = math.sqrt(max(0.0, 1 - a) / b)
    if at > furthest:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        peaks = np.sqrt(np.maximum(0.0, 1 - drawn[:, 0]) / drawn[:, 1])
    return _make_estimate(max(1.0, at), np.maximum(1.0, np.where(np.isnan(peaks), np.inf, peaks)))
