"""Columns as arrays, and records that are told to be calm: quicker, and the same."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from steelyard.measure.records.compact import LONG, shortened
from steelyard.model.observed import Samples
from steelyard.model.plain import to_plain
from steelyard.statistics.samples.interval import find_median, quantile_of
from steelyard.statistics.validity.observations import Measured
from steelyard.statistics.validity.pace import Bounds, choose, find_exceeded, may_have_waited

numbers = st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), st.none())
columns = st.one_of(st.lists(numbers, max_size=6), st.lists(st.floats(0, 1), max_size=6), st.lists(st.integers(0, 9)))


@given(at=columns, details=columns, deep=columns)
def test_a_record_with_arrays_says_what_it_said_with_lists(at: list, details: list, deep: list) -> None:
    def record():
        kept = {"x": list(details) * LONG, "threads": [{"y": list(deep) * LONG, "z": "word"}]}
        around = builders.seen({"details": kept})
        return replace(builders.triad(1e9).records[0], surroundings=replace(around, samples=Samples(at=list(at))))

    assert to_plain(shortened(record())) == to_plain(record())


readings = st.lists(st.one_of(st.none(), st.floats(0.5, 5)), min_size=1, max_size=8)


@given(issued=readings, before=st.floats(0.5, 5), after=st.one_of(st.none(), st.floats(0.5, 5)), waited=st.booleans())
def test_where_nothing_can_set_a_sample_aside_none_is(issued: list, before: float, after: float, waited: bool) -> None:
    count = len(issued)
    around = {
        "samples": {"issued": issued, "seconds": [1e-3] * count, "waited": [5e-4 if waited else 0] + [0] * (count - 1)},
        "pace": {"before": {"issued": before}, "after": {"issued": after}},
    }
    surroundings, bounds = builders.seen(around), Bounds({"issued": 4.0})
    chosen = choose(Measured(np.ones(count), surroundings), bounds)
    calm = not find_exceeded(surroundings, bounds) and not may_have_waited(surroundings)
    if calm:
        assert not chosen.aside.any()
    if waited:
        assert chosen.aside.any()
        assert not calm


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), st.floats(0, 1))
def test_medians_and_quantiles_are_numpys(row: list[float], share: float) -> None:
    array = np.array(row)
    assert find_median(array) == pytest.approx(float(np.median(array)), rel=1e-12, abs=1e-6)
    assert quantile_of(np.sort(array), share) == pytest.approx(float(np.quantile(array, share)), rel=1e-9, abs=1e-6)
