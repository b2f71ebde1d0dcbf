"""Whole machines for the same money: planted speeds and prices, and every mistake in a price."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planted_sides import latency, side, stream
from steelyard.compare.compared_sides import MachineFigure
from steelyard.compare.machine_figures import compare_machines
from steelyard.compare.prices import add_prices, choose_prices, explain_unused, read_prices
from steelyard.errors import UsageError
from steelyard.model import Equipment
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
    figures = {one.name: one for one in add_prices(compared(ratio), {"a": first, "b": second})}
    assert figures["triad"].cells[1].per_price == pytest.approx(ratio * first / second)
    assert [cell.price for cell in figures["triad"].cells] == [first, second]
    assert figures["latency"].cells[1].per_price is None  # more money buys no shorter latency


@pytest.mark.parametrize(
    ("texts", "hours", "currencies", "expected"),
    [
        ([], (0.1, 0.8), ("EUR", "EUR"), {"a": 0.1, "b": 0.8}),
        ([], (0.1, 0.8), ("EUR", "USD"), {}),
        ([], (0.1, None), ("EUR", "EUR"), {}),
        (["a=1/h", "b=2"], (0.1, 0.8), ("EUR", "EUR"), {"a": 1.0, "b": 2.0}),
    ],
)
def test_prices_of_system_files_count_if_all_sides_have_one_and_the_user_gives_none(
    texts: list[str], hours: tuple[float, ...], currencies: tuple[str, ...], expected: dict[str, float]
) -> None:
    stated = zip("ab", hours, currencies, strict=True)
    equipment = {letter: Equipment(price_per_hour=price, currency=currency) for letter, price, currency in stated}
    assert choose_prices(texts, NAMES, equipment) == expected


def test_prices_that_change_nothing_are_named() -> None:
    priced = add_prices(compared(2.0), {"a": 1.0, "b": 2.0})
    assert explain_unused(["a=1/h", "b=2/h"], priced) == ""
    assert explain_unused([], ()) == ""
    assert explain_unused(["a=1/h", "b=2/h"], ()).startswith("--price has no effect here: ")


def test_the_table_says_it_in_a_sentence() -> None:
    figures = add_prices(compared(4.0), read_prices(["small=0.1/h", "b=0.8"], NAMES))
    lines = " ".join(" ".join(line.plain for line in list_machines(figures, 80)).split())
    said = "for the same money (a: 0.1, b: 0.8 a node and hour), b has 0.50 (0.47 to 0.54) times the Triad bandwidth."
    assert f"Compared with a {said}" in lines
    assert "same money" not in " ".join(line.plain for line in list_machines(compared(4.0), 80))


@pytest.mark.parametrize(
    ("texts", "prices"),
    [
        ([], {}), (["a=1/h", "b=2/h"], {"a": 1, "b": 2}), (["small=.5", "large=3. / h"], {"a": 0.5, "b": 3}),
        (["runs/large=2=4/h", "a=1"], {"a": 1, "b": 4}),
    ],
)  # fmt: skip
def test_prices_are_read(texts: list[str], prices: dict[str, float]) -> None:
    assert read_prices(texts, NAMES) == prices


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a=1/h"], "'b' has no price"), (["a=x", "b=1"], "is no price"), (["a=0", "b=1"], "is no price"),
        (["a=-1/h"], "is no price"), (["a=1/min"], "is no price"), (["a=1e400"], "is no price"), (["1/h"], "names no side"),
        (["smal=1/h", "b=1"], "Did you mean 'small'"), ([f"a={'9' * 400}"], "is no price"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_price_is_a_sentence(texts: list[str], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        read_prices(texts, NAMES)
