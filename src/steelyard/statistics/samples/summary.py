"""Summary of samples: quantiles, the median with its interval, spread and outliers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.statistics.samples.interval import Array, correlations, median_intervals, medians_of, quantiles_of

Samples = Sequence[float] | Array
AT_ONCE = 1 << 18  # samples that are summarised together: some ten times as many numbers are held meanwhile


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Samples in short, in their own unit (seconds, where lower is better).

    `effective` is the number of independent samples that would tell as much about the median. `low` … `high`
    is the 95 % interval of the median, None where too few samples can state one. `variation` is the
    coefficient of variation (standard deviation / mean), None for one sample. `outliers` counts the samples
    beyond Tukey's fences (1.5 interquartile ranges); they are counted, never dropped.
    """

    count: int
    effective: float
    best: float
    p5: float
    p25: float
    median: float
    p75: float
    p95: float
    worst: float
    mean: float
    variation: float | None
    low: float | None
    high: float | None
    outliers: int


def summarise(samples: Samples) -> Summary:
    """Summarises `samples` in the order of time. Raises ValueError if there are none or one is not finite."""
    return summarise_all([samples])[0]


def summarise_all(rows: Sequence[Samples]) -> list[Summary]:
    """Summarises many rows; it computes rows of equal length together for speed."""
    summaries: dict[int, Summary] = {}
    for places, block in _list_blocks([_make_row(samples) for samples in rows]):
        summaries.update(zip(places, _summarise_rows(block), strict=True))
    return [summaries[place] for place in range(len(rows))]


def medians(rows: Sequence[Array]) -> Array:
    """Returns the median of each row."""
    middles = np.empty(len(rows))
    for places, block in _list_blocks(rows):
        middles[places] = medians_of(np.sort(block, axis=1))
    return middles


def quantiles(rows: Sequence[Array], shares: Sequence[float]) -> Array:
    """Returns the interpolated quantiles of each row: rows × shares."""
    found = np.empty((len(rows), len(shares)))
    for places, block in _list_blocks(rows):
        found[places] = np.quantile(block, shares, axis=1).T
    return found


def effective_sizes(rows: Sequence[Array]) -> Array:
    """Returns the `effective_size` of each row."""
    sizes = np.empty(len(rows))
    for places, block in _list_blocks([_make_row(row) for row in rows]):
        sizes[places] = correlations(block)[1]
    return sizes


def _list_blocks(rows: Sequence[Array]) -> Iterator[tuple[list[int], Array]]:
    """Yields blocks of rows of equal length, with their places."""
    lengths: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        lengths.setdefault(len(row), []).append(place)
    for length, places in lengths.items():
        step = max(1, AT_ONCE // length)
        for some in (places[first : first + step] for first in range(0, len(places), step)):
            yield some, np.stack([rows[place] for place in some])


def _summarise_rows(rows: Array) -> Iterator[Summary]:
    count = rows.shape[1]
    p5, p25, median, p75, p95 = quantiles_of(np.sort(rows, axis=1), np.array((5, 25, 50, 75, 95)) / 100)
    fence = 1.5 * (p75 - p25)
    best, worst = rows.min(axis=1), rows.max(axis=1)
    mean = np.clip(rows.mean(axis=1), best, worst)  # rounding must not carry it out of its range
    correlated = correlations(rows)
    low, high = median_intervals(rows, 0.95, correlated)
    spread = rows.std(axis=1, ddof=1) if count > 1 else None
    beyond = (rows < (p25 - fence)[:, np.newaxis]) | (rows > (p75 + fence)[:, np.newaxis])
    for i, outliers in enumerate(np.count_nonzero(beyond, axis=1)):
        stated = not np.isnan(low[i])
        yield Summary(
            count=count,
            effective=float(correlated[1][i]),
            best=float(best[i]),
            p5=float(p5[i]),
            p25=float(p25[i]),
            median=float(median[i]),
            p75=float(p75[i]),
            p95=float(p95[i]),
            worst=float(worst[i]),
            mean=float(mean[i]),
            variation=float(spread[i]) / abs(float(mean[i])) if spread is not None and mean[i] != 0 else None,
            low=float(low[i]) if stated else None,
            high=float(high[i]) if stated else None,
            outliers=int(outliers),
        )


def median_interval(samples: Samples, confidence: float = 0.95) -> tuple[float | None, float | None]:
    """Returns the nonparametric interval of the median of `samples` (in the order of time), or (None, None).

    Order statistics around the middle, the further out the more the samples depend on each other (see
    `interval.correlations`). None is stated where even least … greatest is not sure enough: for independent
    samples and 95 % that is n < 6 (2 · 0.5^n > 0.05), and n grows with the dependence.

    Simulated coverage of 95 % intervals (see `simulate.coverage`; 4000 repetitions, ± 0.8): normal, lognormal
    and heavy-tailed independent samples 95 … 97 %; first-order dependence with coefficient 0.3, 0.5, 0.7:
    93.5 … 96.5 %, at n = 30, 100 and 300. Where samples are too few for their correlation time it holds less
    often, since the dependence itself cannot be observed: at n = 30 84 % for 0.9; at n = 10 94 %, 87 %, 75 % for
    0.3, 0.5, 0.7. Slow waves beneath noise (half of the variance a process with 0.9): 75, 83, 89 % at n = 30,
    100, 300. Raises ValueError if there are no samples or one is not finite.
    """
    low, high = median_intervals(_make_row(samples)[np.newaxis, :], confidence)
    return (None, None) if np.isnan(low[0]) else (float(low[0]), float(high[0]))


def effective_size(samples: Samples) -> float:
    """Returns the number of independent samples (1 … n) with the same information on the median as `samples`.

    Raises ValueError if there are no samples or one is not finite.
    """
    return float(correlations(_make_row(samples)[np.newaxis, :])[1][0])


def classic_stream(samples: Samples, times: int = 10) -> float | None:
    """Returns STREAM's own figure: the least of the first `times` samples without the first; None with fewer than two.

    Source: J. D. McCalpin, stream.c 5.10 (NTIMES = 10, minimum over k = 1 … NTIMES−1).
    """
    return min(samples[1:times], default=None)


def best_by_copy(copy: Samples, triad: Samples, times: int = 25) -> float | None:
    """Returns the seconds of Triad in the run with the fastest Copy of the last `times` runs; None if there were fewer.

    Source: the evaluation of AMD nodes by NICEVT (2008), which ran STREAM 25 times and kept the run with the best Copy.
    """
    runs = list(zip(copy, triad, strict=False))[-times:]
    return min(runs)[1] if len(runs) == times else None


def _make_row(samples: Samples) -> Array:
    row = np.asarray(samples, dtype=np.float64)
    if row.ndim != 1 or row.size == 0:
        raise ValueError("no samples to summarise: expected a list of at least one number")
    if not np.isfinite(row).all():
        raise ValueError(f"sample {int(np.argmin(np.isfinite(row)))} is not finite; expected seconds")
    return row
