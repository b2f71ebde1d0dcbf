"""Prefixes and units: what is written is read back, and nothing is written oddly."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.model import Scalar, units
from steelyard.model.units import (
    binary_size,
    duration,
    grouped,
    parse_duration,
    parse_size,
    percent,
    quantity,
    significant,
)
from steelyard.model.words import in_words


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3.05e10, "B/s", "30.5 GB/s"),
        (9.996e8, "B/s", "1.00 GB/s"),
        (1.1e-7, "s", "110 ns"),
        (0.951, "%", "95.1 %"),
        (0.998, "%", "99.8 %"),
        (1.17, "cycle", "1.17 cycle"),
        (407, "cycle", "407 cycle"),
        (None, "B/s", "unknown"),
        (0.0, "B/s", "0 B/s"),
        (2250.0, "1/s", "2.25 k/s"),
    ],
)
def test_quantities_carry_a_fitting_prefix(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(("value", "text"), [(2560.4, "2,560"), (651.2, "651"), (0.01234, "0.0123"), (999.96, "1,000")])
def test_thousands_have_commas_and_no_exponent(value: float, text: str) -> None:
    assert grouped(value) == text


def test_a_share_is_written_in_percent_with_a_space_as_quantities_are() -> None:
    assert percent(0.482) == "48 %"
    assert percent(0.0125, 2) == "1.25 %"
    assert [percent(part, 1, signed=True) for part in (0.02, -0.02)] == ["+2.0 %", "-2.0 %"]


@given(st.floats(1e-5, 1e8))
def test_three_digits_lose_no_more_than_half_a_percent(value: float) -> None:
    assert abs(float(significant(value)) / value - 1) <= 0.0051
    assert "e" not in significant(value)


@given(st.integers(1, 1 << 44))
@example(1111)
def test_sizes_of_memory_are_read_back(count: int) -> None:
    # Three digits lose at most half a percent, and bytes come whole.
    assert abs(parse_size(binary_size(count)) - count) <= 0.005 * count + 0.5
    assert "e" not in binary_size(count)


@pytest.mark.parametrize(
    ("count", "text"), [(50331648, "48 MiB"), (1048512, "1024 KiB"), (1536, "1.50 KiB"), (7, "7 B")]
)
def test_sizes_of_memory_say_no_more_than_they_know(count: int, text: str) -> None:
    assert binary_size(count) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("5m", 300),
        ("1h", 3600),
        ("0.5", 0.5),
        ("2 min", 120),
        ("20ms", 0.02),
        ("5minutes", 300),
        ("2 Hours", 7200),
    ],
)
def test_lengths_of_time_are_understood(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@given(st.text(max_size=8))
def test_any_other_text_is_refused_in_words(text: str) -> None:
    for parse in (parse_duration, parse_size):
        try:
            assert parse(text) >= 0
        except ValueError as error:
            assert "is not" in str(error)


@pytest.mark.parametrize(
    ("seconds", "text"), [(4.26, "4.3 s"), (75, "1 min 15 s"), (120, "2 min"), (7260, "2 h 1 min")]
)
def test_durations_are_said_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("threads", 1, "1 thread"),
        ("threads", 2, "2 threads"),
        ("stores", "streaming", "streaming stores"),
        ("alpha", 1.0, "alpha 1"),
        ("ranks_per_node", 2, "ranks per node 2"),
        ("threads", None, "no threads"),
    ],
)
def test_a_parameter_is_said_in_words(name: str, value: Scalar | None, text: str) -> None:
    assert in_words(name, value) == text


@given(st.floats(1e-9, 1e15), st.floats(1.0, 1e4), st.sampled_from(["flop/s", "J", "s", "B/s", "1/s"]))
def test_each_end_of_a_range_is_read_with_its_own_prefix(low: float, factor: float, unit: str) -> None:
    first, last = units.span(low, low * factor, unit).split(" – ")
    name = last.partition(" ")[2]
    ends = [text if " " in text else f"{text} {name}" for text in (first, last)]
    scales = {"": 1.0} | {prefix: scale for scale, prefix in units._PREFIXES}
    bare = unit.removeprefix("1")
    read = [float(number) * scales[rest.removesuffix(bare)] for number, rest in (end.split(" ", 1) for end in ends)]
    assert read == pytest.approx([low, low * factor], rel=0.006)


def test_a_range_over_a_prefix_has_one_unit() -> None:
    assert units.span(537e9, 1.06e12, "flop/s") == "0.537 – 1.06 Tflop/s"
    assert units.span(428e9, 1.09e12, "flop/s", near=683e9) == "428 – 1090 Gflop/s"
    assert units.span(1e9, 2e9, "B/s", near=1.5e9) == "1.00 – 2.00 GB/s"
    assert units.span(3.0, 1e9, "B/s", near=5e5) == "3.00 B/s – 1.00 GB/s"
    assert units.span(28.11e9, 28.12e9, "B/s") == "28.11 – 28.12 GB/s"
    assert units.span(3.0, 1e9, "B/s") == "3.00 B/s – 1.00 GB/s"
    assert units.span(0.0, 5e3, "W", " to ") == "0 to 5.00 kW"


@given(st.floats(1e-8, 1e20), st.sampled_from(["B/s", "s", "flop/s", "W", "1/s", "%", "cycle", "ns/day"]))
def test_a_printed_value_is_read_again(value: float, unit: str) -> None:
    assert units.parse_quantity(units.quantity(value, unit), unit) == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize("text", ["", "B/s", "3", "3 s", "-3 B/s", "0 B/s", "inf B/s", "nan B/s", "3 XB/s", "3 GGB/s"])
def test_a_value_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a value such as"):
        units.parse_quantity(text, "B/s")
