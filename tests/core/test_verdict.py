"""A case that was disturbed is called so, by the name of what disturbed it; a clean one is left alone."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from steelyard.model import Check, Evidence
from steelyard.model.evidence import KINDS, sentence
from steelyard.statistics.validity.observations import Measured
from steelyard.statistics.validity.verdict import judgement, name_disturbance

PASSED = Check(True)
LENGTH = 0.01  # s, of a quiet sample


def quiet(n=100, seed=1, spread=0.01):
    """Samples (with 10 operations each) and surroundings as the harness gives them on an idle machine."""
    chance = np.random.default_rng(seed)
    seconds = LENGTH * (1 + spread * chance.standard_normal(n))
    elapsed = float(seconds.sum()) * 1.02
    surroundings = {
        "clock": {"source": "tsc", "frequency": 2.0e9, "resolution": 1e-8, "overhead": 9e-9},
        "core_clock": {"before": [3.0e9, 3.0e9], "after": [3.001e9, 2.999e9]},
        "samples": {
            "at": np.cumsum(seconds).tolist(),
            "seconds": seconds.tolist(),
            "waited": np.where(chance.random(n) < 0.05, 2e-5, 0.0).tolist(),
            "switches": (chance.random(n) < 0.05).astype(int).tolist(),
            "faults": [0] * n,
            "core_clock": (3.0e9 * (1 - 0.002 * chance.random(n))).tolist(),
        },
        "processor_seconds": {"elapsed": elapsed, "steal": 0.0, "other": 0.01, "interrupts": 0.0},
        "machine_other": 0.05,
        "interrupts": 1200,
        "throttled": 0.0,
        "oversubscribed": False,
        "cpus": [0, 1],
        "pages": {},
    }
    return (seconds / 10).tolist(), surroundings


def delayed(hit, by):
    """A quiet case in which the samples `hit` (a mask) took `by` seconds longer."""
    samples, surroundings = quiet(len(hit))
    surroundings["samples"]["seconds"] = [
        length + by * struck for length, struck in zip(surroundings["samples"]["seconds"], hit, strict=True)
    ]
    return [s + by / 10 * struck for s, struck in zip(samples, hit, strict=True)], surroundings


def judge(samples, surroundings, check, error=None):
    return judgement(samples, builders.seen(surroundings), check, error).verdict


def keyword(samples, surroundings, check=PASSED):
    return name_disturbance(judge(samples, surroundings, check))


# --------------------------------------------------------------------------- clean


def test_quiet_cases_are_clean():
    flagged = [seed for seed in range(200) if keyword(*quiet(seed=seed)) is not None]
    assert len(flagged) <= 2


@pytest.mark.parametrize("n", [1, 5, 12, 25])
@pytest.mark.parametrize("spread", [0.002, 0.05])
def test_quiet_cases_with_few_or_scattered_samples_are_clean(n, spread):
    flagged = [seed for seed in range(100) if keyword(*quiet(n, seed, spread)) is not None]
    assert len(flagged) <= 3


def test_few_disturbed_samples_do_not_change_the_verdict():
    hit = np.arange(100) % 50 == 0
    samples, surroundings = delayed(hit, 0.004)
    surroundings["samples"]["waited"] = (0.004 * hit).tolist()
    verdict = judge(samples, surroundings, PASSED)
    assert verdict.level == "CLEAN"
    (told,) = verdict.evidence
    assert (
        sentence(told) == "set aside: 4 of 100 samples were left out, because they were disturbed (competing load 4)."
    )
    assert told.numbers == {"samples": 4, "of": 100, "competing load": 4}
    assert name_disturbance(verdict) is None


def test_dependent_samples_are_clean_but_told():
    chance, level, samples = np.random.default_rng(1), 0.0, []
    for _ in range(300):
        level = 0.8 * level + chance.standard_normal()
        samples.append(1 + 0.002 * level)
    verdict = judge(samples, {}, PASSED)
    assert verdict.level == "CLEAN"
    (told,) = verdict.evidence
    assert sentence(told).startswith("autocorrelation: the 300 samples depend on each other. They say as much as ")
    assert told.numbers["samples"] == 300
    assert 10 < told.numbers["independent"] < 100


@pytest.mark.parametrize("surroundings", [{}, {"samples": None, "clock": None, "core_clock": None, "cpus": None}])
def test_what_was_not_seen_is_not_judged(surroundings):
    assert judge([1.0, 1.01, 0.99] * 10, surroundings, PASSED).level == "CLEAN"


@pytest.mark.parametrize(
    "name",
    ["clock", "core_clock", "samples", "processor_seconds", "machine_other", "throttled", "cpus", "pages"],
)
def test_any_part_may_be_missing_or_null(name):
    samples, surroundings = quiet()
    assert judge(samples, {k: v for k, v in surroundings.items() if k != name}, PASSED).level == "CLEAN"
    assert judge(samples, surroundings | {name: None}, PASSED).level == "CLEAN"


@pytest.mark.parametrize("name", ["at", "seconds", "waited", "switches", "faults", "core_clock"])
def test_any_list_may_be_missing_hold_nulls_or_be_cut_short(name):
    for values in (None, [], [None] * 100, [1.0]):
        samples, surroundings = quiet()
        surroundings["samples"][name] = values
        assert judge(samples, surroundings, PASSED).level == "CLEAN"


# --------------------------------------------------------------------------- disturbed


def test_a_competing_load_in_half_of_the_samples_is_named():
    hit = np.arange(100) >= 50
    samples, surroundings = delayed(hit, LENGTH)
    surroundings["samples"]["waited"] = (LENGTH * hit).tolist()
    verdict = judge(samples, surroundings, PASSED)
    assert (verdict.level, name_disturbance(verdict)) == ("DISTURBED", "competing load")
    assert "50 of 100 samples" in verdict.evidence[0].text
    numbers = verdict.evidence[0].numbers
    assert (numbers["samples"], numbers["of"]) == (50, 100)
    assert numbers["share"] == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_wait_longer_than_any_machine_stands_is_no_observation():
    samples, surroundings = quiet()
    surroundings["samples"]["waited"][1] = 1e308
    surroundings["ranks"] = {"waited": [1e308, 1e308], "hosts": ["a", "b"], "cpus": [0, 1]}
    assert judge(samples, surroundings, PASSED).level == "CLEAN"


def test_competing_time_slices_that_hit_few_but_long_samples_are_named():
    # 4 ms slices between samples of 0.2 ms: few samples are hit, each many times its length.
    samples, surroundings = quiet()
    surroundings["samples"]["waited"] = [0.02 if k % 20 == 0 else 0.0 for k in range(100)]
    assert keyword(samples, surroundings) == "competing load"


@pytest.mark.parametrize(
    ("waited", "told"),
    [
        ([0.0, 0.4, 0.01, 0.0], "Rank 1 on b (processor 3) had 98 % of the waiting time."),
        ([0.2, 0.2, 0.0, 0.0], None),
        ([None] * 4, None),
        ([0.4], None),
    ],
)
def test_the_rank_that_waited_for_its_processor_is_named_where_it_was_one(waited, told):
    hit = np.arange(100) >= 50
    samples, surroundings = delayed(hit, LENGTH)
    surroundings["samples"]["waited"] = (LENGTH * hit).tolist()
    surroundings["ranks"] = {"waited": waited, "hosts": ["a", "b", "c", "d"], "cpus": [2, 3, 4, 5]}
    evidence = judge(samples, surroundings, PASSED).evidence[0]
    assert evidence.text.endswith(told) if told else "Mostly" not in evidence.text
    assert evidence.numbers.get("rank") == (1 if told else None)


def test_interruptions_count_only_with_an_effect_on_the_median():
    hit = np.arange(100) % 2 == 0
    samples, surroundings = delayed(hit, 0.001)
    surroundings["samples"] |= {"waited": None, "switches": hit.astype(int).tolist()}
    assert keyword(samples, surroundings) == "competing load"
    samples, surroundings = quiet()
    surroundings["samples"] |= {"waited": None, "switches": hit.astype(int).tolist()}
    assert keyword(samples, surroundings) is None


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("processor_seconds", "steal"), 0.1, "steal"),
        (("processor_seconds", "other"), 0.3, "competing load"),
        (("processor_seconds", "interrupts"), 0.2, "interrupts"),
        (("machine_other",), 1.0, "competing load"),
        (("throttled",), 0.05, "throttled"),
        (("oversubscribed",), True, "oversubscribed"),
        (
            ("core_clock",),
            {"before": [3e9], "after": [2.9e9]},
            None,
        ),  # the samples' own clocks say it was steady
        (("samples", "faults"), [1000] * 100, "page faults"),
        (("samples", "faults"), [1000] * 3 + [0] * 97, None),
        (("samples", "faults"), [5] * 100, None),
    ],
)
def test_what_was_seen_around_the_samples_is_named(path, value, named):
    samples, surroundings = quiet()
    part = surroundings
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    assert keyword(samples, surroundings) == named


HALF = np.arange(100) >= 50
CLOCKS = {
    "read at each sample": [3e9] * 50 + [2.4e9] * 50,
    "read now and then": [(3e9 if k < 50 else 2.4e9) if k % 10 == 0 else None for k in range(100)],
}


@pytest.mark.parametrize("clocks", CLOCKS.values(), ids=list(CLOCKS))
def test_a_clock_that_dropped_is_named_where_the_figure_followed_it(clocks):
    samples, surroundings = delayed(HALF, 0.25 * LENGTH)
    surroundings["samples"]["core_clock"] = clocks
    verdict = judge(samples, surroundings, PASSED)
    assert (verdict.level, name_disturbance(verdict)) == ("DISTURBED", "core clock")
    # Of neighbouring readings the highest counts, so that the drop seems to come one reading later than it did.
    numbers = verdict.evidence[0].numbers
    assert 40 <= numbers["samples"] <= 50
    assert (numbers["of"], numbers["core_clock"], numbers["best"]) == (100, 2.4e9, 3e9)
    assert numbers["moved"] > 0.01


@pytest.mark.parametrize("clocks", CLOCKS.values(), ids=list(CLOCKS))
def test_a_clock_that_dropped_is_told_where_the_figure_did_not_follow_it(clocks):
    samples, surroundings = quiet()
    surroundings["samples"]["core_clock"] = clocks
    verdict = judge(samples, surroundings, PASSED)
    assert verdict.level == "CLEAN"
    assert "The result did not change with it" in verdict.evidence[0].text
    assert "moved" not in verdict.evidence[0].numbers


@pytest.mark.parametrize("clocks", [[2.4e9 if k % 4 == 0 else 3e9 for k in range(100)], [2.4e9] * 100])
def test_an_interrupted_reading_is_no_drop_of_the_clock(clocks):
    samples, surroundings = quiet()
    surroundings["samples"]["core_clock"] = clocks
    assert judge(samples, surroundings, PASSED).level == "CLEAN"


@pytest.mark.parametrize(("after", "word"), [(2.9e9, "dropped by 3.3 %"), (3.1e9, "rose by 3.3 %")])
def test_a_change_of_the_clock_over_the_case_is_named(after, word):
    for samples, surroundings, level in ((*delayed(HALF, 0.033 * LENGTH), "DISTURBED"), (*quiet(), "CLEAN")):
        surroundings["samples"]["core_clock"] = [None] * 100
        surroundings["core_clock"] = {"before": [3e9, 3e9], "after": [after, after]}
        verdict = judge(samples, surroundings, PASSED)
        assert verdict.level == level
        (told,) = (e for e in verdict.evidence if word in e.text)
        assert told.numbers["change"] == pytest.approx(after / 3e9 - 1)
        assert (told.numbers["before"], told.numbers["after"]) == (3e9, after)


def test_a_tick_of_the_processor_accounts_is_no_evidence():
    samples, surroundings = quiet(10)  # 0.1 s: one tick is 10 % of it
    surroundings["processor_seconds"] |= {"steal": 0.01, "other": 0.02, "interrupts": 0.01}
    assert judge(samples, surroundings, PASSED).level == "CLEAN"


def test_other_load_weighs_more_where_waiting_is_not_told():
    samples, surroundings = quiet()
    surroundings["processor_seconds"]["other"] = 0.12  # of 2.04 s of two processors
    assert keyword(samples, surroundings) is None
    surroundings["samples"]["waited"] = None
    surroundings["samples"]["switches"] = None
    assert keyword(samples, surroundings) == "competing load"


def test_cores_of_two_kinds_read_by_turns_are_no_other_thread():
    samples, around = quiet(60)
    issued = ([5.0] * 10 + [4.0] * 20) * 2
    around["samples"]["issued"] = issued
    steady = judge(samples, around, PASSED)
    assert steady.level == "CLEAN"
    assert "hardware thread" not in str(steady.evidence)
    followed = judge([s * (1.25 if rate < 5 else 1) for s, rate in zip(samples, issued, strict=True)], around, PASSED)
    assert "because another hardware thread used the core. This changed the median" in str(followed.evidence)


def test_two_modes_are_named():
    chance = np.random.default_rng(2)
    samples = np.where(chance.random(100) < 0.4, 1.2, 1.0) * (1 + 0.01 * chance.standard_normal(100))
    verdict = judge(samples.tolist(), {}, PASSED)
    assert (verdict.level, name_disturbance(verdict)) == ("DISTURBED", "bimodal")


def test_a_drift_is_named():
    samples = np.linspace(1.0, 1.1, 100) * (1 + 0.01 * np.random.default_rng(2).standard_normal(100))
    verdict = judge(samples.tolist(), {}, PASSED)
    assert name_disturbance(verdict) == "drift"
    assert "rose by" in verdict.evidence[0].text
    assert verdict.evidence[0].numbers["change"] == pytest.approx(0.1, abs=0.02)


def test_a_disturbed_case_names_the_cause_before_its_shape():
    hit = np.arange(100) >= 50
    samples, surroundings = delayed(hit, LENGTH)
    surroundings["samples"]["waited"] = (LENGTH * hit).tolist()
    kinds = [e.kind for e in judge(samples, surroundings, PASSED).evidence]
    assert kinds == ["competing load", "range", "set aside"]  # without those samples there are no two modes


def test_a_disturbed_case_gives_the_range_of_its_samples():
    samples, surroundings = quiet(100)
    surroundings["oversubscribed"] = True
    samples = [1.0] * 80 + [0.5] * 10 + [3.0] * 10
    told = judge(samples, surroundings, PASSED).evidence
    (told,) = (e for e in told if e.kind == "range")
    assert sentence(told) == "range: the middle 90 % of the samples took 0.50 to 3.00 times their median."
    assert told.numbers == {"low": 0.5, "high": 3.0}
    quiet_samples, quiet_surroundings = quiet(100)
    assert not any(e.kind == "range" for e in judge(quiet_samples, quiet_surroundings, PASSED).evidence)


@given(st.floats(0.0, 1.0), st.floats(0.05, 1.0), st.integers(0, 100))
def test_competing_load_is_flagged_or_the_median_holds(share, weight, seed):
    """The promise of the self-check: the threads lose `weight` of their speed in `share` of the samples."""
    samples, surroundings = quiet(80, seed)
    hit = np.random.default_rng(seed).random(80) < share
    extra = np.where(hit, weight * LENGTH, 0.0)
    truth = np.median(samples)
    seconds = np.array(surroundings["samples"]["seconds"]) + extra
    surroundings["samples"] |= {"seconds": seconds.tolist(), "waited": extra.tolist()}
    verdict = judge((seconds / 10).tolist(), surroundings, PASSED)
    assert verdict.level == "DISTURBED" or abs(np.median(seconds / 10) / truth - 1) <= 0.02


# --------------------------------------------------------------------------- invalid


def test_a_failed_check_is_invalid_and_tells_its_detail():
    samples, surroundings = quiet()
    verdict = judge(samples, surroundings, Check(False, "a[0] is 1, expected 3"))
    assert verdict.level == "INVALID"
    assert sentence(verdict.evidence[0]) == "check: the result is wrong: a[0] is 1, expected 3"
    assert name_disturbance(verdict) == "check"


def test_an_error_is_invalid_and_is_all_there_is_to_say():
    verdict = judge([], {}, Check(False), "not enough memory for 4 GiB")
    assert (verdict.level, verdict.evidence) == ("INVALID", (Evidence("error", "not enough memory for 4 GiB"),))


@pytest.mark.parametrize("samples", [[], [0.0, 1.0], [-1.0], [math.nan] * 30, [math.inf, 1.0]])
def test_no_times_and_impossible_times_are_invalid(samples):
    verdict = judge(samples, {}, PASSED)
    assert (verdict.level, name_disturbance(verdict)) == ("INVALID", "samples")


@pytest.mark.parametrize(
    ("resolution", "level", "told"), [(1e-6, "CLEAN", False), (5e-5, "CLEAN", True), (2e-4, "INVALID", True)]
)
def test_a_coarse_clock_is_noted_and_invalid_above_one_percent(resolution, level, told):
    samples, surroundings = quiet()
    surroundings["clock"]["resolution"] = resolution
    verdict = judge(samples, surroundings, PASSED)
    assert verdict.level == level
    numbers = [e.numbers for e in verdict.evidence if e.kind == "clock resolution"]
    assert len(numbers) == told
    assert all(
        n["resolution"] == resolution and n["share"] == pytest.approx(resolution / LENGTH, rel=0.1) for n in numbers
    )


PARTS = ("clock", "core_clock", "samples", "processor_seconds", "machine_other", "throttled", "cpus")
KEYS = (
    "seconds",
    "waited",
    "switches",
    "faults",
    "core_clock",
    "before",
    "after",
    "elapsed",
    "other",
    "resolution",
)
NUMBERS = st.none() | st.sampled_from((0.0, 1e-9, 0.5, -1.0, 1e300, math.nan, math.inf))
ANYTHING = NUMBERS | st.just("text") | st.lists(NUMBERS, min_size=4, max_size=4)


@given(
    st.lists(st.sampled_from((0.01, 0.02, 1.0, 1e-9)), min_size=4, max_size=4),
    st.dictionaries(st.sampled_from(PARTS), ANYTHING | st.dictionaries(st.sampled_from(KEYS), ANYTHING)),
)
def test_no_nonsense_from_a_foreign_harness_breaks_the_judge(samples, surroundings):
    try:
        verdict = judge(samples, surroundings, PASSED)
    except ValueError:
        return  # such a record is not read
    assert verdict.level in ("CLEAN", "DISTURBED", "INVALID")
    assert all(e.kind in KINDS and "nan" not in e.text for e in verdict.evidence)
    assert all(math.isfinite(x) for e in verdict.evidence for x in e.numbers.values())


def test_some_of_some_samples_have_their_own_observations():
    faults, switches = [0, None, 2, 1e30, 4, 5, 6, 7], [1, 2]
    whole = Measured(np.arange(1.0, 9.0), builders.seen({"samples": {"faults": faults, "switches": switches}}))
    some = whole.only(whole.row > 2).only(np.array([True, False, True, True, False, True]))
    samples = whole.surroundings.samples
    assert some.row.tolist() == [3, 5, 6, 8]
    assert some.column(samples.faults).tolist() == [2, 4, 5, 7]
    assert whole.only(whole.row == 2).column(samples.faults) is None
    assert some.column(samples.switches) is some.lengths is None
    assert whole.only(whole.row > 0) is whole
