"""The rank test against SciPy's, and against what can be counted by hand."""

import numpy as np
import pytest
import scipy
from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard.statistics.difference.rank_test import mann_whitney

ROWS = st.lists(st.integers(-30, 30), min_size=1, max_size=25)


@given(ROWS, ROWS)
def test_it_is_scipys_p(a: list[int], b: list[int]) -> None:
    assume(len({*a, *b}) > 1)
    assert mann_whitney(np.array(a, float), np.array(b, float)) == pytest.approx(
        scipy.stats.mannwhitneyu(a, b).pvalue, rel=1e-9
    )


@given(st.permutations(range(20)), st.integers(1, 19))
def test_it_is_scipys_p_without_ties_too(values: list[int], size: int) -> None:
    a, b = values[:size], values[size:]
    assert mann_whitney(np.array(a, float), np.array(b, float)) == pytest.approx(
        scipy.stats.mannwhitneyu(a, b).pvalue, rel=1e-9
    )


def test_of_three_and_three_apart_two_of_twenty_orders_are_as_far() -> None:
    assert mann_whitney(np.array([1.0, 2, 3]), np.array([4.0, 5, 6])) == pytest.approx(0.1)


def test_one_of_thousands_is_counted_out_quickly() -> None:
    assert mann_whitney(np.array([-1.0]), np.arange(2000.0)) == pytest.approx(2 / 2001)
