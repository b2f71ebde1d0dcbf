"""A machine has one value of each quantity: on its screen, its first page, in JSON, and wherever it is compared."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from builders import chase, evaluation, machine, message, result, triad
from steelyard.compare.quantities import Reading, find_quantity, read
from steelyard.compare.reduced_run import reduce_result, reduce_run
from steelyard.compare.runs import RunComparison, compare
from steelyard.compare.side import Side
from steelyard.compare.sides import compare_sides
from steelyard.compare.verdict import conclude
from steelyard.model import Evaluation, Level, Result, Value
from steelyard.model.units import quantity
from steelyard.show.report import comparison_document, screen, side_by_side, sides_screen, summarised_run, summary
from steelyard.show.report.headline import Headline, headlines
from steelyard.show.report.pages import overview
from steelyard.show.report.pages.sides import describe
from steelyard.show.report.usable import TITLES

LEVELS: tuple[Level, ...] = ("CLEAN", "UNSETTLED", "DISTURBED")


def flops(rate: float, threads: int, level: Level = "CLEAN") -> Result:
    value = Value(rate, "flop/s", rate * 0.97, rate * 1.03, "higher")
    given = {"threads": threads, "pinning": "compact", "precision": "double", "operation": "fma", "vector_width": 512}
    return result("core.peak", "peak", given, 1e9 / rate, {"flops": 1e9}, metrics={"flops": value}, level=level)


def wait(seconds: float, **changed: object) -> Result:
    made = chase(seconds, **changed)  # type: ignore[arg-type]
    return replace(made, metrics={"latency": Value(seconds, "s", seconds * 0.98, seconds * 1.02, "lower")})


def draw(number: int) -> Evaluation:
    """A run on a shared machine: each case has lost a part of its speed, so that more threads are not always faster."""
    chance = random.Random(number)

    def disturbed(value: float) -> float:
        return value * chance.choice([0.6, 0.9, 0.97, 1.0])

    def level() -> Level:
        return chance.choice(LEVELS)

    stores, sizes = ("ordinary", "streaming"), (4096, 512 << 20)
    results = [
        *(triad(disturbed(1e10 * n**0.3), threads=n, stores=s, level=level()) for n in (1, 2, 4) for s in stores),
        *(flops(disturbed(4e10 * n), n, level()) for n in (1, 2, 4)),
        *(wait(1e-7 / disturbed(1.0), size=size, chains=n, level=level()) for size in sizes for n in (1, 4)),
        *(message(size / disturbed(5e9), size=size, buffers="fresh", level=level()) for size in (256 << 10, 1 << 20, 4 << 20)),
    ]  # fmt: skip
    return evaluation(results, machine(host=f"m{number}", system=f"m{number}"), id=f"m{number}")


@pytest.fixture(scope="module")
def runs() -> list[Evaluation]:
    return [draw(number) for number in range(25)]


def side(one: Evaluation) -> Side:
    return Side(name=one.run.id, kind="run", runs=(reduce_run(one),))


def name_of(one: Headline) -> str | None:
    found = find_quantity(reduce_result(one.result), one.metric)
    return found.name if found else None


def main(one: Evaluation) -> dict[str, Headline]:
    return {name: h for h in headlines(one) if (name := name_of(h))}


def test_screen_json_and_first_page_show_the_value_that_is_compared(
    runs: list[Evaluation],
) -> None:
    others = set()
    for one in runs:
        engine, figures = read(side(one)), main(one)
        assert {"triad", "peak", "latency", "inner_link"} <= figures.keys()
        json = {figure["title"]: figure for figure in summary.figures_as_json(summarised_run.summarised(one))}
        lines = [line.plain for line in screen.screen(one, 80, None)]
        page = {h.title: h.value for h in overview.data(one).headlines}
        for name, figure in figures.items():
            reading = engine[name]
            assert reading.is_of(reduce_result(figure.result)), (one.run.id, name)
            assert json[figure.title]["value"]["value"] == reading.number
            assert page[figure.title] == reading.value
            title = TITLES.get(figure.name, figure.title)
            assert any(
                line.startswith(title) and quantity(reading.number, reading.value.unit) in line for line in lines
            )
            others |= {(name, reading.parameters.get("threads"), reading.parameters.get("message_bytes"))}
    assert len(others) > 5, "the best use is not always that of all threads"


def test_a_comparison_shows_the_value_of_each_runs_screen(runs: list[Evaluation]) -> None:
    for a, b in pairwise(runs):
        compared, pair = compare_sides([side(a), side(b)]), compare(a, b)
        for machines in (compared.machines, pair.machines):
            cells = {f.name: f.cells for f in machines}
            for one, place in ((a, 0), (b, 1)):
                for name, figure in main(one).items():
                    assert cells[name][place].value == figure.value, (one.run.id, name)
                    assert cells[name][place].condition


def test_a_comparison_of_equal_cases_names_the_better_case_of_the_other_run() -> None:
    """On a disturbed machine two runs are at their best with other threads: 13.2 and 14.0 GB/s of one machine."""
    first, second = ([triad(x * 1e9, threads=1), triad(y * 1e9, threads=2)] for x, y in ((12.0, 13.2), (14.0, 12.1)))
    a, b = evaluation(first, id="a"), evaluation(second, id="b")
    lines = " ".join(line.plain.strip() for line in side_by_side.screen(a, b, compare(a, b), 80))
    assert "13.2 GB/s     12.1 GB/s" in lines
    assert "with 2 threads; the best of b: 14.0 GB/s with 1 thread" in lines
    itself = " ".join(line.plain for line in side_by_side.screen(a, a, compare(a, replace(a)), 80))
    assert "the best of b" not in itself


# --------------------------------------------------------------------------- the same case on two machines

WIDE = 0.5  # half the range of another hour, while the launches of a run differ by 0.2 %


def one_case(name: str, rate: float, half_width: float = WIDE) -> Evaluation:
    results = [triad(rate, threads=4, half_width=half_width, launches=5), wait(1e-7, launches=5)]
    return evaluation(results, machine(host=name, system=name), id=name)


def pair_of(ratio: float, half_width: float = WIDE) -> tuple[Evaluation, Evaluation, RunComparison]:
    a, b = one_case("m1", 2e10, half_width), one_case("m2", 2e10 * ratio, half_width)
    return a, b, compare(a, b)


@pytest.mark.parametrize(
    ("ratio", "call", "word"), [(0.85, "SLOWER", "slower"), (1.2, "FASTER", "faster"), (1.0, "SAME", "same")]
)
def test_whole_machines_do_not_hide_what_their_equal_cases_show(ratio: float, call: str, word: str) -> None:
    a, b, pair = pair_of(ratio)
    compared = compare_sides([side(a), side(b)], with_rows=True)
    (row,) = [row for row in pair.rows if row.kernel == "triad"]
    assert row.call == call
    for machines in (pair.machines, compared.machines):
        (cell,) = [f.cells[1] for f in machines if f.name == "triad"]
        assert (cell.call, cell.now) == ("UNCLEAR", call)
    for shown in (side_by_side.screen(a, b, pair, 80), sides_screen.screen(compared, 80)):
        lines = [line.plain.rstrip() for line in shown]
        assert any(line.startswith("Triad bandwidth") and line.endswith(f"{word}†") for line in lines)
    (speeds, *_) = describe(compared).speeds
    said = "whole machines are equally fast" if call == "SAME" else f"m2 is {word} than m1"
    assert f"n these runs, {said} at Triad" in speeds
    assert "no certain difference at Triad" not in speeds
    assert f"{word} in these runs" in comparison_document.markdown(compared)


@pytest.mark.parametrize("ratio", [0.85, 1.0, 1.2])
def test_the_verdict_is_as_sure_as_the_comparison(ratio: float) -> None:
    a, b, _ = pair_of(ratio)
    for sides in ([side(a), side(b)], [side(b), side(a)]):
        (sentence,) = [s.text for s in conclude(sides).choices["buyer"] if "memory-bound" in s.text]
        if ratio == 1.0:
            assert "may be equal" in sentence
        else:
            best = "m1" if ratio < 1 else "m2"
            assert f"memory-bound programs, choose {best}: " in sentence
            assert sentence.endswith("in these runs.")


def test_a_call_for_another_hour_needs_no_call_of_these_runs() -> None:
    _, _, pair = pair_of(0.7, half_width=0.02)
    (cell,) = [f.cells[1] for f in pair.machines if f.name == "triad"]
    assert (cell.call, cell.now) == ("SLOWER", None)


def test_values_of_other_cases_have_no_call_of_these_runs() -> None:
    """The best of the second machine has two threads: the equal case of four threads says nothing of it."""
    a = one_case("m1", 2e10)
    more = [
        triad(1.7e10, threads=4, half_width=WIDE, launches=5),
        triad(2.1e10, threads=2, half_width=WIDE, launches=5),
    ]
    b = evaluation(more, machine(host="m2", system="m2"), id="m2")
    (cell,) = [f.cells[1] for f in compare(a, b).machines if f.name == "triad"]
    assert (cell.call, cell.now) == ("UNCLEAR", None)


def test_a_reading_knows_its_case() -> None:
    case = reduce_result(triad(1e10, threads=4))
    one = Reading(
        quantity="triad", title="", value=case.metrics["bandwidth"], condition="", benchmark=case.benchmark,
        kernel="triad", parameters=case.parameters, level="CLEAN",
    )  # fmt: skip
    assert one.is_of(case)
    assert not one.is_of(replace(case, kernel="copy"))
    assert not one.is_of(replace(case, parameters={**case.parameters, "threads": 2}))
