"""What was computed from values that cannot be relied on bears their verdict, whatever the computation was."""

import json
import math
from collections.abc import Callable, Sequence
from statistics import geometric_mean, harmonic_mean, median

import pytest

import builders
import report_fixture
from builders import verdict_of
from steelyard.model import Evidence, Level, Result
from steelyard.model.figure import Axis, Figure, Mark, Point, Series
from steelyard.show.report import doubtful_values, drawing, figures, kernel_bars, values
from steelyard.show.report.derived import derived, with_signs
from steelyard.statistics.results import messages

Computed = Callable[[Sequence[float]], float]
RATES = (2e9, 3e9, 5e9, 8e9)


def run(*levels: Level) -> tuple[Result, ...]:
    """A result of each rate with these verdicts."""
    return tuple(
        report_fixture.result(
            "memory.stream", "triad", {"threads": n}, {"bandwidth": (rate, "B/s", "higher")}, verdict_of(level, "load: x."),
        )
        for n, (rate, level) in enumerate(zip(RATES, levels, strict=True), 1)
    )  # fmt: skip


def drawn(compute: Computed) -> Callable[[tuple[Result, ...]], tuple[Figure, ...]]:
    """A figure with one value that is computed from all rates."""

    def draw(results: tuple[Result, ...]) -> tuple[Figure, ...]:
        found = compute([r.metrics["bandwidth"].value for r in results])
        return (Figure("f", "f", "bars", Axis("what"), Axis("y"), (Series("s", ("all",), (found,)),)),)

    return draw


def verdicts(made: Sequence[Figure]) -> list[Level]:
    """Of all values, in their order."""
    return [doubtful_values.level_of(y) for figure in made for series in figure.series for y in series.y]


def slope(rates: Sequence[float]) -> float:
    """Of a straight line through the four, by least squares."""
    middle = sum(rates) / len(rates)
    return sum((n - 1.5) * (rate - middle) for n, rate in enumerate(rates)) / 5


@pytest.mark.parametrize(
    "compute",
    [
        sum,
        harmonic_mean,
        geometric_mean,
        max,
        slope,
        lambda rates: rates[0] / rates[3],
        lambda rates: rates[2] * 8 / rates[3] - 1,
        lambda rates: math.log2(rates[3]),
        lambda rates: 24 / rates[3],
        lambda rates: median(rates[1:]) + rates[3],
        lambda rates: (rates[3] - rates[0]) ** 2,
        lambda rates: math.hypot(*rates),
    ],
)
def test_what_rests_on_a_disturbed_value_is_disturbed(compute: Computed) -> None:
    # The last and the greatest rate is DISTURBED.
    results = run("CLEAN", "UNSETTLED", "CLEAN", "DISTURBED")
    made = drawn(compute)(results)
    assert verdicts(derived(drawn(compute), results, made)) == ["DISTURBED"]


@pytest.mark.parametrize("compute", [min, lambda rates: rates[2] / rates[0], lambda rates: 4.0, lambda rates: rates[0]])
def test_what_rests_on_clean_values_alone_is_clean(compute: Computed) -> None:
    results = run("CLEAN", "UNSETTLED", "CLEAN", "DISTURBED")
    assert verdicts(derived(drawn(compute), results, drawn(compute)(results))) == ["CLEAN"]


def test_a_ratio_of_two_disturbed_values_is_disturbed_though_both_move_together() -> None:
    results = run(*["DISTURBED"] * 4)
    draw = drawn(lambda rates: rates[0] / rates[3])
    assert verdicts(derived(draw, results, draw(results))) == ["DISTURBED"]


def test_a_value_of_disturbed_and_unsettled_ones_has_the_lesser_verdict() -> None:
    results = run("UNSETTLED", "DISTURBED", "CLEAN", "CLEAN")
    for compute, level in ((sum, "DISTURBED"), (lambda rates: rates[0] * 2, "UNSETTLED")):
        draw = drawn(compute)
        assert verdicts(derived(draw, results, draw(results))) == [level]


def test_times_of_samples_count_as_well_as_metrics() -> None:
    results = run("CLEAN", "CLEAN", "CLEAN", "DISTURBED")

    def draw(found: tuple[Result, ...]) -> tuple[Figure, ...]:
        own = tuple(median(r.records[0].samples) for r in found)
        return (Figure("f", "f", "lines", Axis("x"), Axis("y"), (Series("s", (1.0, 2.0, 3.0, 4.0), own),)),)

    # All samples are the same in the fixture: equal values have verdicts of their own.
    assert verdicts(derived(draw, results, draw(results))) == ["CLEAN", "CLEAN", "CLEAN", "DISTURBED"]


def test_times_of_single_ranks_count_as_well() -> None:
    clean, disturbed = (builders.message(1e-3, 8, ranks=2, level=level, launches=1) for level in ("CLEAN", "DISTURBED"))

    def draw(found: tuple[Result, ...]) -> tuple[Figure, ...]:
        own = tuple(median(messages.rank_seconds(r.records[0])[1]) for r in found)
        return (Figure("f", "f", "bars", Axis("x"), Axis("y"), (Series("s", ("a", "b"), own),)),)

    assert verdicts(derived(draw, (clean, disturbed), draw((clean, disturbed)))) == ["CLEAN", "DISTURBED"]


def test_a_function_that_fails_for_moved_results_makes_all_its_values_doubtful() -> None:
    results = run("CLEAN", "CLEAN", "CLEAN", "DISTURBED")

    def draw(found: tuple[Result, ...]) -> tuple[Figure, ...]:
        if found != results:
            raise KeyError("moved")
        return drawn(sum)(found)

    assert verdicts(derived(draw, results, draw(results))) == ["DISTURBED"]


def test_names_of_places_and_limits_and_computed_lines_bear_the_sign() -> None:
    low, high = doubtful_values.graded(2.5, "UNSETTLED"), doubtful_values.graded(5.0, "DISTURBED")
    own = doubtful_values.graded(3.0, "DISTURBED", (Evidence("steal", "much."),))
    measured = Series("measured", (1.0, 2.0), (own, own))
    figure = Figure(
        "f", "f", "lines", Axis("n"), Axis("y"), (Series("r∞ 3.2 GB/s", (1.0, 2.0), (low, high)), measured),
        marks=(Mark("y", doubtful_values.graded(7.0, "UNSETTLED"), "half"), Mark("x", 1.5, "L1")),
        points=(Point(doubtful_values.graded(12.5, "DISTURBED"), low, "n½ 12"), Point(1.0, 2.5, "G")),
    )  # fmt: skip
    plot = figures.plotly(with_signs(figure))
    assert [trace["name"] for trace in plot["data"]] == ["▲ r∞ 3.2 GB/s", "measured"]
    texts = [note["text"] for note in plot["layout"]["annotations"]]
    assert texts == ["◐ half", "L1", "<b>▲ n½ 12</b>", "<b>G</b>"]


def test_the_constants_of_kernels_are_hatched_where_their_times_were_disturbed() -> None:
    known = builders.known()["core.kernels"]
    machine = builders.machine()
    lengths = (8, 16, 32, 64, 128, 256)

    def timed(elements: int, level: Level) -> Result:
        seconds = 2e-9 * (elements + 20) / 8
        rate, flops = elements / seconds, 2 * elements / seconds
        return report_fixture.result(
            "core.kernels", "triad", {"elements": elements, "vectors": "yes", "threads": 1},
            {"rate": (rate, "1/s", "higher"), "flops": (flops, "flop/s", "higher")}, verdict_of(level, "load: x."),
        )  # fmt: skip

    for level, sign in (("CLEAN", ""), ("DISTURBED", "▲ ")):
        results = tuple(timed(n, level if n == 64 else "CLEAN") for n in lengths)
        shown = {
            figure.anchor.rpartition("-figure-")[2][2:]: figure for figure in drawing.figures(known, results, machine)
        }
        names = [note["text"] for note in json.loads(shown["kernels-length"].plot)["layout"]["annotations"]]
        assert names == [f"<b>{sign}n½ 20</b>"]
        assert shown["kernels-r"].single.endswith(" (triad).")
        assert ("DISTURBED" in shown["kernels-r"].single) is bool(sign)


def test_sums_and_means_of_kernels_bear_the_sign_of_their_weakest_part() -> None:
    quiet, loud = run("CLEAN", "DISTURBED", "CLEAN", "CLEAN")[:2]
    empty = Figure("f", "f", "bars", Axis("kernel"), Axis("ratio", log=True, ratio=True))
    kernels = [kernel_bars.Kernel("a", "", {"1": (quiet, quiet), "2": (loud, quiet)})]
    measure = kernel_bars.Measure("bandwidth", "B/s", "rates", lambda one, other: (1.5, 1.4, 1.6))
    part = kernel_bars.part("", "x", empty, kernels, ("1", "2"), measure)
    assert [text.startswith("▲ ") for text in (*part.sums, *part.means)] == [False, True, False, True]
    assert values.weakest(quiet, loud) == "DISTURBED"
