"""Whole machines for the same money: planted speeds and prices, and every mistake in a price."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from golden_runs import copied
from planted_sides import latency, side, stream
from steelyard.compare.compared_sides import MachineFigure
from steelyard.compare.machine_figures import compare_machines, read_machine
from steelyard.compare.prices import Prices, add_prices, choose_prices, explain_unused, read_prices
from steelyard.errors import UsageError
from steelyard.model import Equipment, Value
from steelyard.show.command_line.cli import app
from steelyard.show.report.machine_table import list_machines

NAMES = {"a": {"a", "small"}, "b": {"b", "large", "runs/large=2"}}
PRICES = st.floats(1e-3, 1e3)


def compared(ratio: float) -> tuple[MachineFigure, ...]:
    sides = [
        side("small", 2, [stream(2, 3e10), latency(1e-7)]),
        side("large", 16, [stream(16, 3e10 * ratio), latency(1e-7)]),
    ]
    return compare_machines(sides, ("a", "b"))


@given(st.floats(0.1, 100), PRICES, PRICES)
def test_the_speed_for_the_same_money_follows_from_the_prices(ratio: float, first: float, second: float) -> None:
    figures = {one.name: one for one in add_prices(compared(ratio), {"a": Prices(first), "b": Prices(second)})}
    assert figures["triad"].cells[1].per_price == pytest.approx(ratio * first / second)
    assert [cell.price for cell in figures["triad"].cells] == [first, second]
    assert figures["latency"].cells[1].per_price is None  # more money buys no shorter latency


ALL_PARTS, CARD = ("processors", "memory"), ("accelerator nvidia/gpu0",)


def with_power(
    ratio: float, watts: tuple[float, float], scopes: tuple[tuple[str, ...], ...]
) -> tuple[MachineFigure, ...]:
    """The planted figures, with the power of each side during Triad, known to 10 %."""
    of = [Value(w, "W", w / 1.1, w * 1.1, "lower", scope=s) for w, s in zip(watts, scopes, strict=True)]
    return tuple(
        replace(figure, cells=tuple(replace(c, power=p) for c, p in zip(figure.cells, of, strict=True)))
        for figure in compared(ratio)
    )


@given(st.floats(0.1, 100), st.floats(1, 1e4), st.floats(1, 1e4), st.floats(0.01, 10), st.floats(0.01, 1))
def test_the_price_of_energy_counts_the_measured_joules(
    ratio: float, first: float, second: float, hour: float, kwh: float
) -> None:
    figures = with_power(ratio, (first, second), (ALL_PARTS, ALL_PARTS))
    (triad, *_) = add_prices(figures, {"a": Prices(hour, kwh), "b": Prices(2 * hour, kwh)})
    cell = triad.cells[1]
    joules = (3.6e6 * (hour / kwh) + first * 3600, 3.6e6 * (2 * hour / kwh) + second * 3600)
    assert cell.per_price == pytest.approx(ratio * joules[0] / joules[1])
    assert cell.price_per_kwh == kwh
    ends = cell.span_of(cell.per_price)  # without the uncertainty of the powers
    assert ends is not None
    assert (cell.price_low or 0) <= ends[0] * (1 + 1e-9)
    assert (cell.price_high or 0) >= ends[1] * (1 - 1e-9)
    (triad, *_) = add_prices(figures, {"a": Prices(None, kwh), "b": Prices(None, kwh)})
    assert triad.cells[1].per_price == pytest.approx(ratio * first / second)


@pytest.mark.parametrize("scopes", [(ALL_PARTS, CARD), (ALL_PARTS, ()), ((), ())], ids=str)
def test_energy_of_different_or_unknown_parts_does_not_count(scopes: tuple[tuple[str, ...], ...]) -> None:
    figures = with_power(2.0, (100, 300), scopes)
    (triad, *_) = add_prices(figures, {"a": Prices(1, 0.3), "b": Prices(2, 0.3)})
    assert (triad.cells[1].per_price, triad.cells[1].price_per_kwh) == (pytest.approx(1.0), None)
    texts = ["a=1/h", "b=2/h", "energy=0.3/kWh"]
    assert explain_unused(texts, (triad,)).startswith("The price of energy has no effect here: ")
    only_energy = add_prices(figures, {"a": Prices(None, 0.3), "b": Prices(None, 0.3)})
    assert only_energy[0].cells[1].per_price is None


def test_a_modelled_power_is_no_measured_energy() -> None:
    one = replace(stream(2, 3e10), metrics={**stream(2, 3e10).metrics, "power": Value(5.0, "W", None, None, "lower")})
    measured = side("small", 2, [one])
    modelled = replace(measured, runs=tuple(replace(run, modelled_power=True) for run in measured.runs))
    assert [bool(read_machine(of)["triad"].power) for of in (measured, modelled)] == [True, False]


@pytest.mark.parametrize(
    ("texts", "hours", "currencies", "expected"),
    [
        ([], (0.1, 0.8), ("EUR", "EUR"), {"a": Prices(0.1), "b": Prices(0.8)}),
        ([], (0.1, 0.8), ("EUR", "USD"), {}),
        ([], (0.1, None), ("EUR", "EUR"), {}),
        (["a=1/h", "b=2"], (0.1, 0.8), ("EUR", "EUR"), {"a": Prices(1.0), "b": Prices(2.0)}),
    ],
)
def test_prices_of_system_files_count_if_all_sides_have_one_and_the_user_gives_none(
    texts: list[str], hours: tuple[float, ...], currencies: tuple[str, ...], expected: dict[str, Prices]
) -> None:
    stated = zip("ab", hours, currencies, strict=True)
    equipment = {letter: Equipment(price_per_hour=price, currency=currency) for letter, price, currency in stated}
    assert choose_prices(texts, NAMES, equipment) == expected


def test_prices_that_change_nothing_are_named() -> None:
    priced = add_prices(compared(2.0), {"a": Prices(1.0), "b": Prices(2.0)})
    assert explain_unused(["a=1/h", "b=2/h"], priced) == ""
    assert explain_unused([], ()) == ""
    assert explain_unused(["a=1/h", "b=2/h"], ()).startswith("--price has no effect here: ")


def test_the_table_says_it_in_a_sentence() -> None:
    figures = add_prices(compared(4.0), read_prices(["small=0.1/h", "b=0.8"], NAMES))
    lines = " ".join(" ".join(line.plain for line in list_machines(figures, 80)).split())
    said = "for the same money (a: 0.1, b: 0.8 a node and hour), b has 0.50 (0.47 to 0.54) times the Triad bandwidth."
    assert f"Compared with a {said}" in lines
    figures = add_prices(with_power(4.0, (100, 300), (ALL_PARTS, ALL_PARTS)), read_prices(["energy=0.3/kWh"], NAMES))
    lines = " ".join(" ".join(line.plain for line in list_machines(figures, 80)).split())
    assert "for the same money (0.3 a kWh of the processors and memory), b has 1.33 (" in lines
    assert "same money" not in " ".join(line.plain for line in list_machines(compared(4.0), 80))


@pytest.mark.parametrize(
    ("texts", "prices"),
    [
        ([], {}),
        (["a=1/h", "b=2/h"], {"a": Prices(1), "b": Prices(2)}),
        (["small=.5", "large=3. / h"], {"a": Prices(0.5), "b": Prices(3)}),
        (["runs/large=2=4/h", "a=1"], {"a": Prices(1), "b": Prices(4)}),
        (["energy=0.3/kWh"], {"a": Prices(None, 0.3), "b": Prices(None, 0.3)}),
        (["energy=0.3/kwh", "b=.2/KWH"], {"a": Prices(None, 0.3), "b": Prices(None, 0.2)}),
        (["b=.2/kWh", "energy=0.3/kWh"], {"a": Prices(None, 0.3), "b": Prices(None, 0.2)}),
        (["a=1", "b=2", "a=.1/kWh", "b=.2/kWh"], {"a": Prices(1, 0.1), "b": Prices(2, 0.2)}),
    ],
)
def test_prices_are_read(texts: list[str], prices: dict[str, Prices]) -> None:
    assert read_prices(texts, NAMES) == prices


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a=1/h"], "'b' has no price"), (["a=x", "b=1"], "is no price"), (["a=0", "b=1"], "is no price"),
        (["a=-1/h"], "is no price"), (["a=1/min"], "is no price"), (["a=1e400"], "is no price"), (["1/h"], "names no side"),
        (["smal=1/h", "b=1"], "Did you mean 'small'"), ([f"a={'9' * 400}"], "is no price"),
        (["a=1/kWh"], "'b' has no price per kWh"), (["energy=1/h"], "names no side"), (["energy=0/kWh"], "is no price"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_price_is_a_sentence(texts: list[str], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        read_prices(texts, NAMES)


def test_the_report_of_a_comparison_has_the_same_prices(tmp_path: Path) -> None:
    names, price = ["Raspberry Pi 5", "Raspberry Pi 4"], ["--price", "energy=0.3/kWh"]
    page = tmp_path / "page.html"
    made = CliRunner().invoke(app, ["report", *names, *price, "--output", str(page)])
    assert (made.exit_code, made.stderr) == (0, "")
    sentence = "for the same money (0.3 a kWh of the node), Raspberry Pi 4 has 0.60 times the HPL speed."
    text = page.read_text(encoding="utf-8")
    assert sentence in text
    assert re.search(r"× 0\.34 <b>not judged</b><br>× 0\.60 for the same money", text)
    alone = CliRunner().invoke(app, ["report", str(copied("run-format-2")), *price])
    assert "--price energy=0.3/kWh needs at least two sides." in str(alone.exception)
