"""Values above a limit: the limit or the value is wrong, so the value is never good, and never first."""

import io
from dataclasses import replace
from typing import Any

import pytest
import test_core_flops as flops
import test_roofline as roofline
from rich.console import Console

import builders
from builders import evaluation, machine, triad
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import Side
from steelyard.compare.verdict import conclude
from steelyard.judge import findings
from steelyard.measure.plan import catalogue
from steelyard.model import Evaluation, Finding, Limit, Value
from steelyard.show.report import headline, screen
from steelyard.show.report.pages import roofline as page
from steelyard.show.report.pages.verdict import make_page
from steelyard.statistics.validity.limits import is_above

LIMIT = Limit(20e9, "B/s", "2 channels")
MEMORY_LIMIT = {"memory_bandwidth": LIMIT}
GIB = 1 << 30


def value(number: float, half: float | None, unit: str = "B/s", better: Any = "higher") -> Value:
    ends = (None, None) if half is None else (number * (1 - half), number * (1 + half))
    return Value(number, unit, *ends, better)


@pytest.mark.parametrize(
    ("given", "limit", "above"),
    [
        (value(1.02, 0.005), Limit(1.0, "B/s", ""), True),
        (value(1.02, 0.03), Limit(1.0, "B/s", ""), False),  # its interval reaches the limit
        (value(1.005, None), Limit(1.0, "B/s", ""), False),
        (value(1.02, 0.001, "flop/s"), Limit(1.0, "flop/s", ""), False),  # a clock is known less well
        (value(1.11, 0.005, "flop/s"), Limit(1.0, "flop/s", ""), True),
        (value(0.9, 0.01, "s", "lower"), Limit(1.0, "s", ""), True),
        (value(1.1, 0.01, "s", "lower"), Limit(1.0, "s", ""), False),
        (value(2.08, None), None, False),
    ],
)
def test_a_value_is_above_its_limit_beyond_both_uncertainties(given: Value, limit: Limit | None, above: bool) -> None:
    assert is_above(given, limit) is above


def all_findings(of: Evaluation) -> list[Finding]:
    return [f for name in ("efficiency", "peak", "above_limit", "roof") for f in findings.load_rule(name).find(of)]


@pytest.mark.parametrize("share", [1.02, 1.11, 2.08])
def test_a_bandwidth_above_its_limit_is_never_good(share: float) -> None:
    high = triad(share * LIMIT.value, threads=4)
    sharp = replace(high, metrics={"bandwidth": value(share * LIMIT.value, 0.001)})
    (finding,) = all_findings(evaluation([sharp], machine(limits=MEMORY_LIMIT)))
    assert (finding.rule, finding.level, finding.reach) == ("above_limit", "notice", "figures")
    assert f"{100 * share:.0f} % of its limit" in finding.seen


def test_a_peak_above_its_limit_is_never_good() -> None:
    of = evaluation(flops.widths(0.99, 0.99, 0.99, 1.11), flops.known())
    of = builders.with_limits(of, {"core.peak": catalogue.find()["core.peak"]})
    assert [(f.rule, f.level) for f in all_findings(of)] == [("above_limit", "notice")]


def test_a_kernel_above_its_roof_is_never_good_and_its_share_says_so() -> None:
    fast = roofline.kernel(2.08 * 1.2e9, roofline.streaming(0.1, GIB))
    of = roofline.judged(fast)
    assert [f.level for f in findings.load_rule("roof").find(of)] == ["notice"]
    made = page.data(of)
    assert [row.share for row in made.parts[0].rows if "above" in row.share] == ["208 % (above its limit)"]


def two_stores(first: float, second: float) -> Evaluation:
    results = [triad(first, threads=4), triad(second, threads=4, stores="streaming")]
    return evaluation(results, machine(limits=MEMORY_LIMIT))


def test_a_main_figure_is_not_a_value_above_its_limit_beside_another_one() -> None:
    both = two_stores(17e9, 25e9)
    main = headline.headlines(both)[0]
    assert (main.shown.above, main.shown.share) == (False, pytest.approx(0.85))


def test_the_screen_says_that_a_main_figure_is_above_its_limit() -> None:
    for rate, said in ((25e9, True), (17e9, False)):
        console = Console(file=io.StringIO(), width=80)
        screen.show(evaluation([triad(rate, threads=4)], machine(limits=MEMORY_LIMIT)), console, None)
        assert ("▲ ABOVE" in console.file.getvalue()) is said  # type: ignore[attr-defined]


def side(name: str, rate: float) -> Side:
    run = evaluation([triad(rate, threads=4)], machine(limits=MEMORY_LIMIT), id=name)
    reduced = replace(reduce_run(run), facts={"machine": {"processor": name}})  # machines alike are no choice
    return Side(name=name, kind="run", runs=(reduced,))


def texts(*sides: Side) -> str:
    return " ".join(sentence.text for sentence in conclude(sides).choices["buyer"])


def test_the_page_of_the_verdict_says_that_a_share_is_above_its_limit() -> None:
    made = make_page([side("a", 25e9), side("b", 17e9)], None)
    assert made is not None
    details = ["".join(str(cell) for cell in summary.cells) for summary in made.sides]
    assert ["125 % of the limit (above its limit)" in text for text in details] == [True, False]
    assert "85 % of the limit" in details[1]


def test_a_side_above_its_limit_is_not_chosen() -> None:
    of_three = texts(side("a", 25e9), side("b", 12e9), side("c", 17e9))
    assert "choose c: 17.0 GB/s against 12.0 GB/s, a factor of 1.4 (a: above its limit)." in of_three
