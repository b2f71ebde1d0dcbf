"""The statistics of samples and launches keep what they promise."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.model.scalars import Call
from steelyard.statistics.difference import sides
from steelyard.statistics.difference.compare import compare, compare_all, compare_in_turn, holm
from steelyard.statistics.difference.sides import Launches
from steelyard.statistics.samples import simulate, stopping
from steelyard.statistics.samples.interval import correlations, medians_of, quantiles_of
from steelyard.statistics.samples.launches import LONE_SPREAD, combine
from steelyard.statistics.samples.shape import find_drift, find_modes
from steelyard.statistics.samples.summary import classic_stream, effective_size, median_interval, summarise

TIMES = st.floats(min_value=1e-9, max_value=1e6, allow_nan=False)
SAMPLES = st.lists(TIMES, min_size=1, max_size=60)
# Powers of two scale without rounding, so that equivariance is exact.
FACTORS = st.sampled_from((0.25, 0.5, 2.0, 1024.0))


# --------------------------------------------------------------------------- the interval of the median


@pytest.mark.sampled(6)
@pytest.mark.parametrize("n", [30, 100, 300])
@pytest.mark.parametrize("process", simulate.PROCESSES)
def test_the_interval_holds_the_truth_in_93_to_97_percent_of_cases(process, n):
    assert 0.93 <= simulate.coverage(process, n, repetitions=3000, seed=11) <= 0.97


@pytest.mark.parametrize("repetitions", [200, pytest.param(600, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("process", "least"),
    [("normal", 0.93), ("heavy", 0.93), ("ar0.3", 0.91), ("ar0.5", 0.88), ("ar0.7", 0.85)],
)
def test_the_interval_loses_little_when_the_stopping_rule_ends_the_samples(process, least, repetitions):
    """Binomial: 200 repetitions find a coverage that is 0.08 below the least with probability 0.99."""
    assert least <= simulate.coverage_when_stopped(process, 0.02, repetitions, seed=5, most=600) <= 0.985


def test_simulated_processes_have_the_median_and_dependence_they_claim():
    rows = simulate.draw("ar0.7", 400, 300, seed=2)
    neighbours = np.corrcoef(rows[:, :-1].ravel(), rows[:, 1:].ravel())[0, 1]
    assert neighbours == pytest.approx(0.7, abs=0.02)
    assert np.median(rows) == pytest.approx(simulate.MEDIAN, abs=0.001)


def test_an_unknown_process_is_refused_by_name():
    with pytest.raises(ValueError, match=r"'ar0\.99' is unknown; expected one of normal"):
        simulate.draw("ar0.99", 1, 1, seed=0)  # type: ignore[arg-type]


@given(st.lists(TIMES, min_size=1, max_size=5))
def test_five_samples_are_too_few_for_a_95_percent_interval(samples):
    assert median_interval(samples) == (None, None)


def test_six_independent_samples_give_an_interval():
    low, high = median_interval([1.0, 6.0, 3.0, 4.0, 2.0, 5.0])
    assert low == pytest.approx(1.0, abs=0.15)
    assert high == pytest.approx(6.0, abs=0.15)


def test_the_ranks_of_independent_samples_are_those_of_the_literature():
    # Hoefler & Belli, SC'15: n = 400 gives (400 − 1.96 · 20) / 2 and 1 + (400 + 1.96 · 20) / 2, rounded.
    samples = [float(i * 247 % 401) for i in range(1, 401)]  # 1 … 400; neighbours lie on either side of the middle
    assert effective_size(samples) == 400
    assert median_interval(samples) == (pytest.approx(180.9, abs=0.01), pytest.approx(220.1, abs=0.01))


def test_a_monotone_series_states_no_interval_however_long():
    assert median_interval([float(i) for i in range(100)]) == (None, None)


def test_a_wider_confidence_gives_a_wider_interval():
    samples = simulate.draw("normal", 1, 100, seed=3)[0].tolist()
    low90, high90 = median_interval(samples, 0.90)
    low99, high99 = median_interval(samples, 0.99)
    assert low99 < low90 < high90 < high99


def test_equal_samples_are_independent_and_their_interval_is_a_point():
    assert effective_size([2.0] * 50) == 50
    assert median_interval([2.0] * 50) == (2.0, 2.0)


def test_dependent_samples_count_for_fewer():
    independent = simulate.draw("normal", 20, 300, seed=1)
    dependent = simulate.draw("ar0.7", 20, 300, seed=1)
    assert statistics.median(effective_size(row.tolist()) for row in independent) > 240
    # The exact correlation time of the signs at 0.7 is 4.1: 300 / 4.1 = 73.
    assert 50 < statistics.median(effective_size(row.tolist()) for row in dependent) < 90


@given(SAMPLES, FACTORS)
def test_the_summary_scales_with_the_samples(samples, factor):
    one, scaled = summarise(samples), summarise([sample * factor for sample in samples])
    for name in ("best", "p5", "p25", "median", "p75", "p95", "worst"):
        assert getattr(scaled, name) == pytest.approx(factor * getattr(one, name), rel=1e-12)
    assert (one.low is None) == (scaled.low is None)
    if one.low is not None:
        assert (scaled.low, scaled.high) == pytest.approx((factor * one.low, factor * one.high), rel=1e-12)
    assert (scaled.count, scaled.effective) == (one.count, one.effective)


@given(SAMPLES)
def test_the_summary_is_ordered_inside_the_range_and_never_not_a_number(samples):
    s = summarise(samples)
    given_numbers = [value for value in vars(s).values() if value is not None]
    assert all(math.isfinite(value) for value in given_numbers)
    assert min(samples) == s.best <= s.p5 <= s.p25 <= s.median <= s.p75 <= s.p95 <= s.worst == max(samples)
    assert s.best <= s.mean <= s.worst
    assert 1 <= s.effective <= s.count == len(samples)
    if s.low is not None:
        assert s.best <= s.low <= s.median * (1 + 1e-12)
        assert s.median * (1 - 1e-12) <= s.high <= s.worst


@given(SAMPLES, st.randoms(use_true_random=False))
def test_what_does_not_depend_on_order_does_not_change_with_it(samples, chance):
    shuffled = samples.copy()
    chance.shuffle(shuffled)
    one, other = summarise(samples), summarise(shuffled)
    for name in ("count", "best", "p5", "p25", "median", "p75", "p95", "worst", "outliers"):
        assert getattr(one, name) == getattr(other, name)
    assert other.mean == pytest.approx(one.mean)


def test_the_summary_agrees_with_numpy_and_counts_outliers():
    samples = [1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.02, 50.0]
    s = summarise(samples)
    assert (s.median, s.mean) == (pytest.approx(np.median(samples)), pytest.approx(np.mean(samples)))
    assert s.variation == pytest.approx(statistics.stdev(samples) / statistics.fmean(samples))
    assert (s.outliers, s.worst) == (1, 50.0)


def test_one_sample_has_no_variation():
    assert summarise([3.0]).variation is None


@pytest.mark.parametrize("samples", [[], [1.0, math.nan], [math.inf]])
def test_no_samples_and_samples_that_are_not_finite_are_refused(samples):
    with pytest.raises(ValueError, match="expected"):
        summarise(samples)


def test_classic_stream_takes_the_best_of_ten_without_the_first():
    samples = [0.1, 5.0, 4.0, 3.0, 6.0, 7.0, 8.0, 9.0, 9.0, 9.0, 0.2]
    assert classic_stream(samples) == 3.0
    assert classic_stream(samples, times=25) == 0.2
    assert classic_stream([1.0]) is None


# --------------------------------------------------------------------------- the stopping rule


def test_enough_samples_are_enough_and_too_few_are_not():
    samples = simulate.draw("normal", 1, 200, seed=9)[0].tolist()  # 2 % of spread
    assert stopping.is_narrow_enough(samples, width=0.01, least=5)
    assert not stopping.is_narrow_enough(samples, width=0.0005, least=5)
    assert not stopping.is_narrow_enough(samples, width=0.01, least=201)


def test_a_handful_of_equal_samples_does_not_stop_the_harness():
    assert not stopping.is_narrow_enough([1.0] * (stopping.LEAST_EFFECTIVE - 1), width=0.02, least=5)
    assert stopping.is_narrow_enough([1.0] * stopping.LEAST_EFFECTIVE, width=0.02, least=5)


def test_dependent_samples_take_longer():
    widths = {
        process: statistics.median(
            stopping.relative_half_width(row.tolist()) for row in simulate.draw(process, 20, 400, seed=2)
        )
        for process in ("normal", "ar0.7")
    }
    assert widths["ar0.7"] > 1.7 * widths["normal"]  # √(correlation time 4.1) = 2.0


@given(st.lists(TIMES, max_size=80), FACTORS)
def test_the_stopping_rule_knows_no_unit(samples, factor):
    one = stopping.relative_half_width(samples)
    assert one >= 0
    assert stopping.relative_half_width([s * factor for s in samples]) == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("sample", [0.0, -1.0, math.nan, math.inf])
def test_impossible_times_never_satisfy_the_stopping_rule(sample):
    assert not stopping.is_narrow_enough([sample] * 100, width=0.02, least=5)


# --------------------------------------------------------------------------- the shape of samples


@pytest.mark.parametrize("process", ["normal", "heavy", "ar0.7"])
def test_samples_of_one_kind_are_seldom_called_bimodal_or_drifting(process):
    rows = 1 + 2.5 * (simulate.draw(process, 300, 60, seed=8) - 1)  # 5 % of spread
    rows = np.maximum(rows, 0.01)
    assert sum(find_modes(row) is not None for row in rows) <= 3
    assert sum(find_drift(row) is not None for row in rows) <= 9  # slow waves of ar0.7 do look like trends


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_two_modes_ten_percent_apart_are_found(share):
    chance = np.random.default_rng(3)
    row = np.where(chance.random(100) < share, 1.1, 1.0) * (1 + 0.01 * chance.standard_normal(100))
    found = find_modes(row)
    assert (found.lower, found.upper) == (pytest.approx(1.0, abs=0.01), pytest.approx(1.1, abs=0.01))
    assert found.upper_share == pytest.approx(share, abs=0.12)


def test_two_modes_closer_than_five_percent_do_not_matter():
    row = np.array([1.0, 1.03] * 50) * (1 + 0.001 * np.random.default_rng(1).standard_normal(100))
    assert find_modes(row) is None


@pytest.mark.parametrize("total", [0.10, -0.10])
def test_a_drift_is_found_with_its_size_and_sign(total):
    noise = 0.02 * np.random.default_rng(6).standard_normal(200)
    found = find_drift(1 + total * np.linspace(-0.5, 0.5, 200) + noise)
    assert found == pytest.approx(total, abs=0.02)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 16, 33])
def test_medians_and_quantiles_are_to_the_last_bit_those_of_numpy(length):
    rows = np.exp(np.random.default_rng(length).standard_normal((50, length)))
    rows[0, length // 2], rows[1], rows[2, 0] = np.nan, 0.1, np.inf
    with np.errstate(invalid="ignore"):
        assert np.array_equal(medians_of(np.sort(rows, axis=1)), np.median(rows, axis=1), equal_nan=True)
    finite, shares = rows[3:], np.array((0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0))
    assert np.array_equal(quantiles_of(np.sort(finite, axis=1), shares), np.quantile(finite, shares, axis=1))


@pytest.mark.parametrize("count", range(1, 9))
def test_the_median_over_columns_is_that_of_numpy(count):
    columns = list(np.random.default_rng(count).standard_normal((count, 3, 200)))
    assert np.array_equal(sides._medians_of_columns(columns.copy()), np.median(np.stack(columns), axis=0))


@settings(max_examples=50)
@given(st.lists(st.lists(st.integers(1, 6), min_size=9, max_size=9), min_size=1, max_size=5))
def test_rows_with_equal_samples_depend_on_each_other_as_each_row_alone(rows):
    found = correlations(np.array(rows, dtype=float))
    for place, row in enumerate(rows):
        alone = correlations(np.array([row], dtype=float))
        assert (found[0][place], found[1][place]) == (alone[0][0], alone[1][0])
        ranks = np.array([np.mean([p for p, x in enumerate(sorted(row), 1) if x == own]) for own in row])
        ranks -= ranks.mean()
        squares = (ranks * ranks).sum()
        r = (ranks[:-1] * ranks[1:]).sum() / squares if squares else 0.0
        r = r + (1 + 4 * r) / 9 if squares else 0.0
        assert found[0][place] == pytest.approx(1.0 if r >= 1 else 2 * math.sin(math.pi / 6 * max(r, 0.0)))


# --------------------------------------------------------------------------- several launches


def launches_of(chance, count, samples, *, between, within, factor=1.0, outlying=False) -> Launches:
    medians = factor * (1 + between * chance.standard_normal(count))
    if outlying:
        medians[chance.integers(count)] *= 1 + chance.uniform(0.03, 0.15)
    return [(median * np.exp(within * chance.standard_normal(samples))).tolist() for median in medians]


def test_the_interval_of_one_launch_includes_the_usual_spread():
    samples = (1 + 0.001 * simulate.draw("normal", 1, 50, seed=1)[0]).tolist()
    spread, (low, high) = combine([samples]), median_interval(samples)
    assert spread.low < low < high < spread.high
    assert spread.high / spread.value - 1 == pytest.approx(4.3 * LONE_SPREAD, rel=0.1)  # t of two degrees of freedom
    assert spread.between is None
    assert spread.value == summarise(samples).median


def test_few_launches_give_the_hull_of_their_intervals():
    rows = [row.tolist() for row in simulate.draw("normal", 3, 50, seed=4)]
    spread, intervals = combine(rows), [median_interval(row) for row in rows]
    assert spread.low == min(low for low, _ in intervals if low is not None)
    assert spread.high == max(high for _, high in intervals if high is not None)
    assert spread.launches == 3


def test_the_interval_of_many_launches_holds_the_truth():
    chance = np.random.default_rng(12)
    held = 0
    for _ in range(300):
        spread = combine(launches_of(chance, 10, 12, between=0.02, within=0.01))
        held += spread.low <= 1.0 <= spread.high
    assert 0.92 <= held / 300 <= 0.99


def test_three_launches_of_too_few_samples_count_with_their_range():
    spread = combine([[1.0, 1.1], [0.9, 1.0], [1.2, 1.3]])
    assert spread.low <= 0.9
    assert spread.high >= 1.3
    assert combine([[1.0], [1.1]]).low is None


@given(st.lists(SAMPLES, min_size=1, max_size=8), FACTORS)
@settings(max_examples=50)
def test_launches_combined_scale_with_the_data(launches, factor):
    spread = combine(launches)
    everything = [sample for samples in launches for sample in samples]
    assert min(everything) <= spread.value <= max(everything)
    if spread.low is not None:
        assert spread.low <= spread.value <= spread.high
    scaled = combine([[factor * sample for sample in samples] for samples in launches])
    assert scaled.value == pytest.approx(factor * spread.value, rel=1e-12)
    assert combine(launches[::-1]).value == spread.value


@pytest.mark.sampled(4)
@pytest.mark.parametrize("draws", [120, pytest.param(600, marks=pytest.mark.long)])
@pytest.mark.parametrize("launches", [1, 2, 3, 5])
@pytest.mark.parametrize("between", [0.0, 0.005, 0.01])
def test_the_interval_of_few_differing_launches_holds_the_truth(launches, between, draws):
    """Launches differ by up to 1 %, samples by 2 %: the next launch's truth is the middle of all.

    Binomial: 120 draws find a coverage of 0.85 with probability 0.99.
    """
    random, held = np.random.default_rng(launches), 0
    for _ in range(draws):
        middles = 1 + between * random.standard_normal(launches)
        spread = combine([(m * (1 + 0.02 * random.standard_normal(40))).tolist() for m in middles])
        held += spread.low <= 1.0 <= spread.high
    assert held / draws >= 0.93


def test_nothing_to_combine_is_refused():
    with pytest.raises(ValueError, match="no launches"):
        combine([])


# --------------------------------------------------------------------------- two sides compared


def calls(repetitions: int, slowdown: float, most_between: float, outlying: float, launches: int = 3) -> list[Call]:
    """What `compare` says of simulated pairs: 8 … 30 samples a launch that vary by 0.5 … 5 %."""
    chance, seen = np.random.default_rng(21), []
    for _ in range(repetitions):
        between, samples = chance.uniform(0, most_between), int(chance.integers(8, 31))
        within = math.exp(chance.uniform(math.log(0.005), math.log(0.05)))
        a, b = (
            launches_of(
                chance,
                launches,
                samples,
                between=between,
                within=within,
                factor=factor,
                outlying=chance.random() < outlying,
            )
            for factor in (1.0, 1 + slowdown)
        )
        seen.append(compare(a, b).call)
    return seen


@pytest.mark.parametrize("draws", [200, pytest.param(400, marks=pytest.mark.long)])
def test_equal_sides_are_called_different_in_at_most_one_of_thirty_cases(draws):
    """Binomial: 200 draws find that 0.07 are called different with probability 0.98."""
    seen = calls(draws, slowdown=0.0, most_between=0.02, outlying=0.1)
    assert seen.count("FASTER") + seen.count("SLOWER") <= draws / 30


@pytest.mark.parametrize("draws", [150, pytest.param(300, marks=pytest.mark.long)])
def test_a_slowdown_of_five_percent_is_found_nine_times_of_ten(draws):
    """Binomial: 150 draws find that 0.8 are found with probability 0.99."""
    assert calls(draws, slowdown=0.05, most_between=0.01, outlying=0.0).count("SLOWER") >= 0.9 * draws


@pytest.mark.parametrize("draws", [100, pytest.param(200, marks=pytest.mark.long)])
def test_equal_sides_with_one_launch_each_are_seldom_called_different(draws):
    """Binomial: 100 draws find that 0.1 are called different with probability 0.97."""
    seen = calls(draws, slowdown=0.0, most_between=0.02, outlying=0.0, launches=1)
    assert seen.count("FASTER") + seen.count("SLOWER") <= draws / 30


def test_many_quiet_launches_are_called_the_same():
    chance = np.random.default_rng(2)
    a, b = (launches_of(chance, 10, 30, between=0.003, within=0.01) for _ in range(2))
    comparison = compare(a, b)
    assert comparison.call == "SAME"
    assert comparison.detail.startswith("The same: the ratio of the times is ")


def test_a_wide_interval_is_called_unclear_and_says_what_would_help():
    chance = np.random.default_rng(5)
    a, b = (launches_of(chance, 3, 10, between=0.05, within=0.01) for _ in range(2))
    comparison = compare(a, b)
    assert comparison.call == "UNCLEAR"
    assert "More launches" in comparison.detail


def test_a_comparison_the_other_way_round_is_its_mirror():
    chance = np.random.default_rng(7)
    a = launches_of(chance, 4, 20, between=0.005, within=0.02)
    b = launches_of(chance, 4, 20, between=0.005, within=0.02, factor=1.2)
    there, back = compare(a, b), compare(b, a)
    assert (there.call, back.call) == ("SLOWER", "FASTER")
    assert there.ratio * back.ratio == pytest.approx(1.0)
    assert there.low * back.high == pytest.approx(1.0, abs=0.01)


@given(st.lists(SAMPLES, min_size=1, max_size=4), st.lists(SAMPLES, min_size=1, max_size=4), FACTORS)
@settings(max_examples=40)
def test_a_comparison_is_finite_holds_its_ratio_and_knows_no_unit(a, b, factor):
    one = compare(a, b)
    assert all(math.isfinite(value) for value in (one.ratio, one.low, one.high))
    assert one.low <= one.ratio * (1 + 1e-9)
    assert one.ratio <= one.high * (1 + 1e-9)
    assert 0 <= one.p <= 1
    scaled = compare(*([[factor * sample for sample in row] for row in side] for side in (a, b)))
    assert (scaled.ratio, scaled.low) == (
        pytest.approx(one.ratio, rel=1e-6),
        pytest.approx(one.low, rel=1e-6),
    )


def test_equal_samples_on_both_sides_do_not_differ():
    assert compare([[1.0] * 10] * 3, [[1.0] * 10] * 3).p == 1.0


@pytest.mark.parametrize("side", [[], [[]], [[1.0, 0.0]], [[math.nan]]])
def test_a_side_without_positive_times_is_refused(side):
    with pytest.raises(ValueError, match="side b"):
        compare([[1.0]], side)


def test_holm_gives_the_known_answer_of_a_worked_example():
    # R 4: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_never_lowers_a_p_and_keeps_the_order(ps):
    adjusted = holm(ps)
    assert all(p <= q <= 1 for p, q in zip(ps, adjusted, strict=True))
    for first in range(len(ps)):
        assert all(adjusted[first] <= adjusted[k] for k in range(len(ps)) if ps[first] < ps[k])


def test_few_of_many_equal_pairs_are_called_different():
    chance = np.random.default_rng(31)
    factors = [1.10 if k == 7 else 1.0 for k in range(30)]
    pairs = [
        tuple(launches_of(chance, 5, 20, between=0.005, within=0.02, factor=f) for f in (1.0, factor))
        for factor in factors
    ]
    different = [k for k, c in enumerate(compare_all(pairs)) if c.call in ("FASTER", "SLOWER")]
    assert different == [7]
    assert all(c.p >= compare(*pair).p for c, pair in zip(compare_all(pairs), pairs, strict=True))


# --------------------------------------------------------------------------- launches in turn


def in_turn(slowdown, pairs=60, seed=1, drift=0.05):
    chance = np.random.default_rng(seed)
    level = np.exp(np.cumsum(drift * chance.standard_normal(pairs)))  # a clock that wanders far more than the effect
    side = [level * factor * (1 + 0.005 * chance.standard_normal((9, pairs))) for factor in (1.0, 1 + slowdown)]
    return [[column.tolist() for column in s.T] for s in side]


@pytest.mark.long
@pytest.mark.parametrize("draws", [50])
def test_two_percent_are_found_in_turn_although_the_clock_wanders(draws):
    """test_compare_in_turn.py finds a coverage of 0.85."""
    found = [compare_in_turn(*in_turn(0.02, seed=seed), smallest=0.01) for seed in range(draws)]
    assert sum(f.call == "SLOWER" for f in found) >= 0.95 * draws
    assert sum(f.low <= 1.02 <= f.high for f in found) >= 0.9 * draws


@pytest.mark.long
def test_equal_sides_in_turn_are_hardly_ever_called_different():
    found = [compare_in_turn(*in_turn(0.0, seed=seed), smallest=0.0) for seed in range(200)]
    assert sum(f.call in ("SLOWER", "FASTER") for f in found) <= 0.08 * 200


def test_sides_in_turn_of_different_length_are_refused():
    with pytest.raises(ValueError, match="same number"):
        compare_in_turn([[1.0]], [[1.0], [1.0]])
