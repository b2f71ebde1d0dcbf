"""The axis of a value with its range: places keep the order of numbers, and stay within the drawing."""

import math

from hypothesis import given
from hypothesis import strategies as st

from steelyard.show.report.range_axis import make_axis

NUMBERS = st.floats(1e-12, 1e18)


@given(st.lists(NUMBERS, min_size=1, max_size=6), NUMBERS, st.booleans())
def test_places_keep_the_order_within_the_drawing(numbers: list[float], further: float, reverse: bool) -> None:
    axis = make_axis([*numbers, None, 0.0, math.inf], reverse)
    places = [axis.place(number) for number in sorted([*numbers, further])]
    assert all(0 < place < 100 for place in places)
    assert places == sorted(places, reverse=reverse)
    left, right = axis.span(numbers)
    assert left <= axis.place(numbers[0]) <= right


def test_equal_factors_are_equally_long() -> None:
    axis = make_axis([1.0, 4.0])
    assert axis.place(2.0) == 50.0
    assert axis.place(1.0) + axis.place(4.0) == 100.0
