"""The interval of a median from samples that follow each other in time, for many rows of samples at once."""

import math
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GRID = np.linspace(0.0, 0.99, 200)  # values of the coefficient p for which `_make_tau_table` is computed
# An estimated correlation time is too short by about 4·tau²/n. The second figure lets the noisier estimate
# count less where samples are few. Both were tuned for 93 … 97 % coverage at n = 30, 100, 300
# (tests/core/test_statistics.py).
CORRECTION, CAUTION = 4.0, 15.0


def find_median(row: Array) -> float:
    """Returns the median; NumPy's own takes five times as long for short rows."""
    return quantile_of(np.sort(row), 0.5)


def medians_of(ordered: Array) -> Array:
    """Returns the median of each sorted row (NaN if it has a NaN): bitwise equal to NumPy's, but faster for short rows."""
    half = ordered.shape[-1] // 2
    middles = ordered[..., half] if ordered.shape[-1] % 2 else (ordered[..., half - 1] + ordered[..., half]) / 2
    return np.where(np.isnan(ordered[..., -1]), np.nan, middles)


def quantiles_of(ordered: Array, shares: Array) -> Array:
    """Returns the quantiles of each sorted row, shares × rows: bitwise equal to NumPy's, but faster for short rows."""
    last = ordered.shape[1] - 1
    places = last * shares
    below = places.astype(int)
    part = places - below
    low, high = ordered[:, below], ordered[:, np.minimum(below + 1, last)]
    values: Array = np.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))
    return values.T


def quantile_of(ordered: Array, share: float) -> float:
    """Returns the interpolated quantile of a sorted row."""
    place = (len(ordered) - 1) * share
    below = int(place)
    low = float(ordered[below])
    return low + (place - below) * (float(ordered[below + 1]) - low) if below < place else low


def normal_quantile(confidence: float) -> float:
    """Returns z of a two-sided interval: 0.95 → 1.96."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def median_intervals(
    rows: Array, confidence: float, correlated: tuple[Array, Array] | None = None
) -> tuple[Array, Array]:
    """Returns low and high of the median of each row (samples in the order of time); NaN without an interval.

    `correlated` is their `correlations` if they are known.
    """
    coefficients, effective = correlations(rows) if correlated is None else correlated
    n = rows.shape[1]
    # There is no interval if even least … greatest holds the median too rarely: a Gaussian process of first order
    # stays on one side of its median for n samples with probability (1/2 + asin(p)/π)^(n−1).
    hopeless = (0.5 + np.arcsin(coefficients) / math.pi) ** (n - 1) > 1 - confidence
    low, high = interval_at(np.sort(rows, axis=1), effective, confidence)
    return np.where(hopeless, np.nan, low), np.where(hopeless, np.nan, high)


def interval_at(ordered: Array, effective: Array, confidence: float) -> tuple[Array, Array]:
    """Returns the order statistics of each row at ranks (n+1)/2 ∓ z/2 · n/√effective, limited to 1 … n.

    The ranks are those of Hoefler & Belli (SC'15), interpolated instead of rounded, and widened by
    √(n/effective).
    """
    n = ordered.shape[1]
    half = normal_quantile(confidence) / 2 * n / np.sqrt(effective)
    low = np.maximum(1.0, (n + 1) / 2 - half)
    return _interpolate_rank(ordered, low), _interpolate_rank(ordered, n + 1 - low)


def correlations(rows: Array) -> tuple[Array, Array]:
    """Returns the first-order coefficient of the ranks of each row (0 … 1) and its effective size (1 … n).

    Two estimates, the lesser counts. (1) Neighbours' rank correlation, put right for its bias (M. G. Kendall
    1954), gives p = 2 sin(π r / 6) (K. Pearson 1907); for a Gaussian process the signs around the median then
    correlate by 2/π · asin(p^k) at lag k. (2) The signs' own autocorrelation summed over pairs of lags while
    these are positive and falling (C. J. Geyer 1992, Statist. Sci. 7:473), which also sees slow waves beneath
    fast noise.
    """
    n = rows.shape[1]
    if n < 3:
        return np.zeros(len(rows)), np.full(len(rows), float(n))
    places = np.argsort(rows, axis=1) + n * np.arange(len(rows))[:, np.newaxis]
    ordered = rows.ravel()[places]
    ranks = _compute_mean_ranks(ordered, places) - (n + 1) / 2
    squares = (ranks * ranks).sum(axis=1)
    r = (ranks[:, :-1] * ranks[:, 1:]).sum(axis=1) / np.where(squares > 0, squares, 1.0)
    r = np.where(squares > 0, r + (1 + 4 * r) / n, 0.0)
    p = 2 * np.sin(math.pi / 6 * np.clip(r, 0.0, 1.0))
    p = np.where(r < 1, p, 1.0)  # a series that only rises or falls
    tau = np.interp(p, GRID, _make_tau_table())
    tau = 1 + (tau - 1) * (1 + CORRECTION * tau / n)
    return p, np.clip(
        np.minimum(n / tau, n / _estimate_tau_by_geyer(rows, medians_of(ordered)) * (1 + CAUTION / n)), 1.0, n
    )


def _estimate_tau_by_geyer(rows: Array, medians: Array) -> Array:
    n = rows.shape[1]
    signs = np.sign(rows - medians[:, np.newaxis])
    spectrum = np.fft.rfft(signs, 2 * n, axis=1)
    covariance = np.fft.irfft((spectrum * spectrum.conj()).real, 2 * n, axis=1)[:, : max(2, n // 2 // 2 * 2)]
    power = np.where(covariance[:, :1] > 0.5, covariance[:, :1], np.inf)
    pairs = (covariance[:, 0::2] + covariance[:, 1::2]) / power
    positive = np.logical_and.accumulate(pairs > 0, axis=1)
    falling = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=1)
    tau = np.maximum(1.0, 2 * falling.sum(axis=1) - 1)
    # Each autocorrelation is short by about tau/n, as many times as lags were summed.
    corrected: Array = np.minimum(tau * (1 + 2 * positive.sum(axis=1) / n), n)
    return corrected


@cache
def _make_tau_table() -> Array:
    table = []
    for p in GRID:
        powers = p ** np.arange(1, 2 + (math.ceil(math.log(1e-3) / math.log(p)) if p > 0 else 0))
        table.append(1 + 4 / math.pi * float(np.arcsin(powers).sum()))
    return np.array(table)


def _compute_mean_ranks(ordered: Array, places: NDArray[np.intp]) -> Array:
    """Returns the ranks from 1 in each row; equal samples share their mean rank, so that a constant row has no trend.

    `ordered` are the sorted rows, `places` where each number stands in all rows one after the other.
    """
    n = ordered.shape[1]
    ranks = np.empty(ordered.size)
    alike = ordered[:, 1:] == ordered[:, :-1]
    place = np.arange(n)
    if alike.any():
        first, last = np.zeros(ordered.shape, dtype=int), np.full(ordered.shape, n - 1)
        np.maximum.accumulate(np.where(alike, 0, place[1:]), axis=1, out=first[:, 1:])
        last[:, :-1] = np.minimum.accumulate(np.where(alike, n - 1, place[:-1])[:, ::-1], axis=1)[:, ::-1]
        ranks[places] = (first + last) / 2 + 1
    else:
        ranks[places] = place + 1
    return ranks.reshape(ordered.shape)


def _interpolate_rank(ordered: Array, rank: Array) -> Array:
    n = ordered.shape[1]
    below = np.minimum(rank.astype(int), max(1, n - 1))
    rows = np.arange(len(ordered))
    lower, upper = ordered[rows, below - 1], ordered[rows, np.minimum(below, n - 1)]
    value: Array = np.clip(lower + (rank - below) * (upper - lower), lower, upper)  # rounding stays inside
    return value
