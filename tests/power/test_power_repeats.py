"""Sensors that repeat each other, or sum others up, by what they say: counted once; in doubt the interval holds both."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import builders
from steelyard.measure.launch.watch import Outcome
from steelyard.measure.telemetry import overlap
from steelyard.measure.telemetry.energy import course
from steelyard.measure.telemetry.watched import Stretch, cost, courses
from steelyard.model.sensor import Sensor, Trace, Values
from steelyard.power.command_line import command_costs, run_costs, store_tables
from steelyard.power.command_line.sensor_selection import Part
from steelyard.power.command_line.time_ranges import When
from steelyard.power.pages import power as page

SECOND = 10**9
START = 1_790_000_000 * SECOND
READINGS = 120
STEP, UPDATE = 6.1e-5, 1e-3  # of RAPL's counters: J and s


def power(name: str, watts: Values, digits: int = 6, **more: Any) -> Trace:
    """A power that is read each second, printed with so many digits."""
    at = START + np.arange(len(watts)) * SECOND
    return Trace(Sensor(name, "power", "board", **more), at, np.round(watts, digits))


def counters(watts: Values, *names: str, chance: np.random.Generator) -> Iterator[Trace]:
    """One counter that is updated each millisecond (steps of RAPL's), read ten times a second under several names in turn."""
    joules = np.concatenate(([0.0], np.cumsum(np.repeat(watts, 100) * UPDATE)))
    for number, name in enumerate(names):
        at = np.arange(1, len(watts)) * 0.1 + number * 5e-5 + np.abs(chance.normal(0, 1e-4, len(watts) - 1))
        value = np.round(joules[(at / UPDATE).astype(int)] / STEP) * STEP
        sensor = Sensor(name, "energy", "board", resolution=STEP, update=UPDATE, range=262_143.0)
        yield Trace(sensor, START + (at * SECOND).astype(np.int64), value)


def load(chance: np.random.Generator, count: int = READINGS) -> Values:
    """Phases of five readings, each of another load between a third and all."""
    return 1 + np.repeat(chance.uniform(0, 2, count // 5 + 1), 5)[:count]


def noisy(chance: np.random.Generator, watts: Values | float, noise: float, count: int = READINGS) -> Values:
    return watts * (1 + noise * chance.standard_normal(count))


def found(*traces: Trace) -> tuple[float, float, float, list[str]]:
    """Mean power (W) of all with its interval, and the sentences."""
    known = courses({trace.sensor.name: trace for trace in traces})
    begin, end = (int(edge) for edge in (min(t.at[0] for t in traces), max(t.at[-1] for t in traces)))
    (total,) = cost(known, Stretch("all", begin + 2 * SECOND, end - 2 * SECOND)).totals.values()
    return total.power, total.low / total.seconds, total.high / total.seconds, overlap.sentences(known)


def mean(watts: Values) -> float:
    return float(watts[2:-2].mean())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("digits", [6, 2, 0])
def test_two_that_always_say_the_same_count_once(seed: int, digits: int) -> None:
    chance = np.random.default_rng(seed)
    watts = noisy(chance, 100 * load(chance), 0.03)
    middle, low, high, said = found(
        power("a/one", watts, digits), power("a/two", watts, digits), power("a/three", watts, digits)
    )
    assert middle == pytest.approx(mean(watts), rel=0.01)
    assert low < mean(watts) < high < 1.2 * mean(watts)
    assert said == ["a/two and a/three repeat the readings of a/one. They are the same counter and count once."]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("digits", [2, 0])
def test_one_that_is_the_sum_of_others_is_their_whole(seed: int, digits: int) -> None:
    chance = np.random.default_rng(seed)
    loaded = load(chance)
    parts = [noisy(chance, loaded * base, 0.03) for base in (80.0, 45.0, 20.0)]
    other = noisy(chance, loaded * 70, 0.03)
    traces = [power(f"a/{name}", watts, digits) for name, watts in zip("xyz", parts, strict=True)]
    middle, _, _, said = found(
        *traces, power("a/all", sum(parts, np.zeros(READINGS)), digits), power("a/other", other, digits)
    )
    assert middle == pytest.approx(sum(mean(watts) for watts in (*parts, other)), rel=0.01)
    rest = "in all readings. Totals include this sum, but not its parts."
    assert said == [f"a/all is the sum of a/x, a/y and a/z {rest}"]


@pytest.mark.parametrize("seed", range(3))
def test_a_counter_that_is_read_under_two_names_a_moment_apart_counts_once(seed: int) -> None:
    chance = np.random.default_rng(seed)
    watts = noisy(chance, 50 * load(chance, 400), 0.01, 400)
    middle, _, high, said = found(*counters(watts, "rapl/package-0-die-0", "rapl/package-0-die-1", chance=chance))
    assert middle < high < 1.1 * watts.mean()
    assert said == [
        "rapl/package-0-die-1 repeats the readings of rapl/package-0-die-0. It is the same counter and counts once."
    ]


# No false alarms


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("spread", "noise"), [(0.03, 0.01), (0.005, 0.003), (0.0, 0.001)])
@pytest.mark.parametrize("idle", [True, False])
def test_two_sockets_that_draw_nearly_the_same_are_two(seed: int, spread: float, noise: float, idle: bool) -> None:
    chance = np.random.default_rng(seed)
    loaded = np.ones(400) if idle else load(chance, 400)
    sockets = [noisy(chance, 50 * (1 + spread * number) * loaded, noise, 400) for number in (0, 1)]
    traces = [next(counters(watts, f"rapl/package-{n}", chance=chance)) for n, watts in enumerate(sockets)]
    middle, low, _, said = found(*traces)
    assert said == []
    assert low > 0.98 * sum(watts[20:-20].mean() for watts in sockets)
    assert middle == pytest.approx(sum(watts.mean() for watts in sockets), rel=0.02)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("digits", [2, 0])
def test_eight_gpus_of_one_kind_are_eight(seed: int, digits: int) -> None:
    chance = np.random.default_rng(seed)
    loaded = load(chance)
    gpus = [noisy(chance, 60 * (1 + 0.02 * chance.standard_normal()) * loaded, 0.01) for _ in range(8)]
    middle, low, _, said = found(*[power(f"nvidia/gpu{n}/power", watts, digits) for n, watts in enumerate(gpus)])
    assert said == []
    assert low > 0.9 * sum(mean(watts) for watts in gpus)
    assert middle == pytest.approx(sum(mean(watts) for watts in gpus), rel=0.01)


@pytest.mark.parametrize(
    "names", [("rocm/card0/power", "rocm/card1/power"), ("ipmi/psu1-power-in", "ipmi/psu2-power-in")]
)
def test_idle_devices_with_a_number_that_print_the_same_few_digits_are_two(names: tuple[str, str]) -> None:
    watts = np.full(READINGS, 9.0)
    middle, low, high, said = found(*[power(name, watts) for name in names])
    assert (middle, low, high) == pytest.approx((18.0, 18.0, 18.0), rel=0.01)
    assert said == []


def test_models_of_two_sockets_are_never_one() -> None:
    watts = noisy(np.random.default_rng(1), 50.0, 0.1)
    middle, _, _, said = found(power("model/a", watts, modelled=True), power("model/b", watts, modelled=True))
    assert middle == pytest.approx(2 * mean(watts), rel=0.01)
    assert said == []


def test_two_constant_powers_a_digit_apart_are_two() -> None:
    assert found(power("a/one", np.full(READINGS, 100.0)), power("a/two", np.full(READINGS, 100.1)))[
        0
    ] == pytest.approx(200.1)


def test_what_goes_in_is_no_sum_and_no_repetition_of_what_comes_out() -> None:
    chance = np.random.default_rng(3)
    watts = noisy(chance, 200 * load(chance), 0.01)
    assert found(power("b/in", watts * 1.06, 1), power("b/out", watts, 1))[3] == []


# In doubt


@pytest.mark.parametrize(
    ("traces", "once", "twice", "holder", "parts"),
    [
        ([("a/one", 100.0), ("a/two", 100.0)], 100, 200, "a/one", "a/two"),
        ([("a/x", 40.0), ("a/y", 60.0), ("a/all", 100.0)], 100, 200, "a/all", "a/x and a/y"),
        ([("a/one", 100.0), ("a/two", 100.0), ("b/other", 37.0)], 137, 237, "a/one", "a/two"),
        ([("a/x", 50.0), ("a/y", 50.0), ("a/all", 100.0)], 100, 200, "a/all", "a/x and a/y"),
    ],
)
@pytest.mark.parametrize("count", [3, READINGS])
def test_in_doubt_the_interval_holds_both_and_a_sentence_says_what_to_do(
    traces: list[tuple[str, float]], once: float, twice: float, holder: str, parts: str, count: int
) -> None:
    known = courses({name: power(name, np.full(count, watts)) for name, watts in traces})
    (total,) = cost(known, Stretch("all", START, START + (count - 1) * SECOND)).totals.values()
    assert total.low / total.seconds == pytest.approx(once)
    assert total.power == total.high / total.seconds == pytest.approx(twice)
    (said,) = overlap.sentences(known)
    assert holder in said
    assert f"The energy by board includes {parts}; its interval begins at the energy without" in said
    assert said.endswith("Measure for a longer time, while the load changes.")


def test_few_readings_that_vary_are_a_doubt_too() -> None:
    watts = np.array([80.0, 120.0, 100.0, 90.0])
    known = courses({name: power(name, watts) for name in ("a/one", "a/two")})
    (total,) = cost(known, Stretch("all", START, START + 3 * SECOND)).totals.values()
    assert total.low < 0.5 * total.joules < total.joules < total.high
    assert "may be the same counter" in overlap.sentences(known)[0]


def test_what_says_too_little_to_compare_is_left_as_it_is() -> None:
    """One sensor falls silent early; another begins after it has."""
    watts = np.full(READINGS, 100.0)
    early, late = power("a/one", watts[:10]), power("a/two", watts)
    assert overlap.sentences(courses({"a/one": early, "a/two": late})) == []
    apart = Trace(late.sensor, late.at + 10**6 * SECOND, late.value)
    assert overlap.sentences(courses({"a/one": power("a/one", watts), "a/two": apart})) == []


def test_a_whole_that_shows_less_than_its_part_does_not_count() -> None:
    """As a platform domain of RAPL that the firmware fills in by half."""
    sensors = [("rapl/psys", 5.0, ""), ("rapl/package-0", 15.0, "rapl/psys"), ("rapl/package-0/dram", 2.0, "rapl/psys")]
    known = courses({name: power(name, np.full(READINGS, watts), part_of=of) for name, watts, of in sensors})
    total = cost(known, WHOLE).totals["board"]
    assert total.power == pytest.approx(17.0)
    (said,) = overlap.sentences(known)
    assert said.startswith(
        "rapl/package-0 uses more power than rapl/psys, which should include it. One of these sensors is wrong."
    )
    sound = courses({name: power(name, np.full(READINGS, 4.0), part_of=of) for name, _, of in sensors})
    assert cost(sound, WHOLE).totals["board"].power == pytest.approx(4.0)
    assert overlap.sentences(sound) == []


# Wherever power is added up


def mirrored() -> dict[str, Trace]:
    chance = np.random.default_rng(7)
    watts = noisy(chance, 100 * load(chance), 0.03)
    return {name: power(name, watts, 2) for name in ("x/a", "x/b")}


REPEATED = "x/b repeats the readings of x/a. It is the same counter and counts once."
WHOLE = Stretch("all", START + 5 * SECOND, START + 100 * SECOND)


class Store:
    """What a query asks for, of these traces."""

    def trace(self, node: str, sensor: str, start: int, end: int) -> Trace:
        return mirrored()[sensor]


def test_a_watched_command_counts_it_once() -> None:
    shown = command_costs.compute_costs(mirrored(), SimpleNamespace(cost=0.1, failures={}), Outcome(0, WHOLE, ()), None)  # type: ignore[arg-type]
    assert shown.disagreements == (REPEATED,)
    one = command_costs.compute_costs(
        {"x/a": mirrored()["x/a"]}, SimpleNamespace(cost=0.1, failures={}), Outcome(0, WHOLE, ()), None
    )  # type: ignore[arg-type]
    assert shown.stretches[0].totals == one.stretches[0].totals


def test_the_report_of_a_run_says_so() -> None:
    evaluation = builders.evaluation([builders.triad(20e9)])
    assert REPEATED in [*page._sentences(evaluation, courses(mirrored()), None)]


def test_a_query_of_a_job_or_a_node_counts_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    part = Part("c/n1", tuple(trace.sensor for trace in mirrored().values()), (WHOLE,))
    when = When("job 1", (WHOLE,), {"n1": (WHOLE,)})
    (row,), _ = run_costs.list_rows(Store(), [part], when)  # type: ignore[arg-type]
    assert row.spent
    assert row.spent == cost(courses(mirrored()), WHOLE).totals["board"]
    assert f"c/n1: {REPEATED}" in " ".join(capsys.readouterr().err.split())
    rows = store_tables.list_costs(Store(), [part], When("", (WHOLE,)))  # type: ignore[arg-type]
    assert store_tables.disagreements(rows) == [f"c/n1: {REPEATED}"]


def test_a_thinned_course_has_the_same_energies() -> None:
    chance = np.random.default_rng(5)
    whole = course(next(counters(noisy(chance, 50.0, 0.1, 30_000), "a", chance=chance)))
    assert whole
    thin = overlap.thin_out(whole)
    assert len(thin.at) == overlap.RUNS * overlap.RUN < len(whole.at)
    assert (thin.at[0], thin.at[-1], thin.joules[-1]) == (whole.at[0], whole.at[-1], whole.joules[-1])
    for name in ("low", "high", "gap", "scatter"):
        assert getattr(thin, name).sum() == pytest.approx(getattr(whole, name).sum())


def test_of_a_long_time_the_mean_does_not_hide_what_differs() -> None:
    """Two that are alike in the mean of an hour and differ in every reading."""
    chance = np.random.default_rng(6)
    traces = [power(f"a/{name}", noisy(chance, 50.0, 0.01, 100_000), 1) for name in ("x", "y")]
    known = {trace.sensor.name: known for trace in traces if (known := course(trace))}
    assert overlap.sentences(overlap.resolve(known)) == []
    assert overlap.sentences(overlap.resolve({name: overlap.thin_out(each) for name, each in known.items()})) == []


@pytest.mark.parametrize("sure", [True, False])
def test_a_sensor_of_power_beside_the_counter_of_the_same_thing_is_noticed(sure: bool) -> None:
    """As a chip's own joules and watts under names that nobody knows: at least a doubt, and never a sum that stands alone."""
    chance = np.random.default_rng(2)
    watts = np.repeat(noisy(chance, 100.0, 0.2 if sure else 0.0), 20)
    at = START + np.arange(len(watts)) * SECOND
    joules = Trace(Sensor("c/count", "energy", "board"), at, np.cumsum(watts))
    beside = Trace(Sensor("c/now", "power", "board", window=1.0), at, watts)
    _, low, _, said = found(joules, beside)
    assert len(said) == 1
    assert low == pytest.approx(watts.mean(), rel=0.02)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("count", "spread", "digits"), [(40, 5.0, 0), (100, 2.0, 0), (20, 1.0, 2)])
def test_few_readings_that_change_each_time_are_enough(seed: int, count: int, spread: float, digits: int) -> None:
    chance = np.random.default_rng(seed)
    one, other = (60 + spread * chance.standard_normal(count) for _ in range(2))
    same = {name: power(name, one, digits) for name in ("a/one", "a/two")}
    assert [c.sensor.part_of for c in courses(same).values()] == ["", "a/one"]
    parts = {"a/one": power("a/one", one, digits), "a/other": power("a/other", other, digits)}
    whole = Trace(Sensor("a/all", "power", "board"), parts["a/one"].at, sum(trace.value for trace in parts.values()))
    assert [c.sensor.part_of for c in courses({**parts, "a/all": whole}).values()] == ["a/all", "a/all", ""]


def test_a_load_that_comes_and_goes_on_two_sockets_at_once_is_that_of_two() -> None:
    chance = np.random.default_rng(1)
    watts = np.where(np.arange(400) // 20 % 2, 150.0, 50.0)
    sockets = ((number, noisy(chance, watts * (1 + 0.003 * number), 0.001, 400)) for number in (0, 1))
    traces = [next(counters(drawn, f"rapl/package-{number}", chance=chance)) for number, drawn in sockets]
    middle, low, _, said = found(*traces)
    assert middle == pytest.approx(200.0, rel=0.02)
    assert low > 195.0
    assert said == []


def test_a_load_of_two_levels_alone_does_not_make_two_one() -> None:
    """Exactly alike, as only an example is: nothing but two levels in turn."""
    watts = np.where(np.arange(READINGS) // 10 % 2, 150.0, 50.0)
    known = courses({name: power(name, watts) for name in ("a/one", "a/two")})
    assert not any(each.sensor.part_of for each in known.values())
    assert len(overlap.sentences(known)) == 1
