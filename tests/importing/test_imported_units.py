"""Units that users of other tools write in their own words."""

import re

import pytest

from steelyard.importing.values import expect_plausible, make, make_printed, number, spell
from steelyard.model import Scalar

SPELLINGS = {
    "Mbytes/sec": "MB/s", "MBps": "MB/s", "MiB/sec": "MiB/s", "Gbits/sec": "Gbit/s", "Mb/s": "Mbit/s", "GFLOPS": "Gflop/s",
    "Gflops/seconds": "Gflop/s", "t[usec]": "us", "Total Mop/s": "Mop/s", "Seconds": "s", "": "", "Ns Per Day": "ns/day",
    "Frames Per Second": None, "Mflop/s per node": None, "hour/ns": None, "mb/s": None, "QB/s": None,
}  # fmt: skip
DIRECTIONS = {
    "days/ns": "lower", "hours per ns": "lower", "ms/step": "lower", "seconds per iteration": "lower", "ns/day": "higher",
    "us/day": "none", "ms/sec": "none", "frames/s": "none",
}  # fmt: skip


def test_the_spelling_of_a_unit_is_known_or_refused() -> None:
    assert {printed: spell(printed) for printed in SPELLINGS} == SPELLINGS


def test_a_time_for_each_thing_is_better_if_it_is_lower() -> None:
    found = {unit: make_printed("b", "k", "result", "61.5", unit, "mean").better for unit in DIRECTIONS}
    assert found == DIRECTIONS


def test_a_value_in_an_unknown_unit_keeps_the_unit_as_printed() -> None:
    frames = make_printed("b", "k", "result", "61.5", "Frames Per Second", "mean")
    assert (frames.value, frames.unit, frames.better) == (61.5, "Frames Per Second", "none")
    rate = make_printed("b", "k", "result", "61.5", "Mbytes/sec", "mean")
    assert (rate.value, rate.unit, rate.better) == (61.5e6, "B/s", "higher")


@pytest.mark.parametrize(
    ("value", "parameters", "reason"),
    [
        (-1, {}, "time is negative"),
        (1, {"ranks": "4x2"}, "the parameter ranks cannot be '4x2'"),
        (1, {"message_bytes": -8}, "the parameter message_bytes cannot be '-8'"),
        (1, {"iterations": 10**30}, "the parameter iterations cannot be"),
        (1, {"ratio": float("nan")}, "the parameter ratio cannot be 'nan'"),
        (1, {"device": "x" * 5000}, "the parameter device cannot be"),
    ],
)
def test_what_no_measurement_has_is_refused(value: float, parameters: dict[str, Scalar], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        expect_plausible(make("x.y", "y", "time", value, "s", "mean", parameters))
    expect_plausible(make("x.y", "y", "time", 1, "s", "mean", {"ranks": 2, "ratio": -0.5, "device": "mlx5_0"}))


def test_what_is_no_number_of_c_is_refused() -> None:
    for word in ("1,5", "1.234,5", "\u0663", "0x10", "nan", "inf", "1e", "--", "", "1_000", "12.3.4"):
        with pytest.raises(ValueError, match=f"'{re.escape(word)}' is not a number"):
            number(word)
