"""Where one machine lies among many: places, certain differences, and the drawing of all."""

from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.compare.compared_sides import MachineCell, MachineFigure
from steelyard.model import Value
from steelyard.show.report.positions import LEAST, count_place, find_positions

CALLS = ("FASTER", "SLOWER", "UNCLEAR")


def figure(speeds: list[float | None], calls: list[str] | None = None, value: float | None = 1e9) -> MachineFigure:
    """A bandwidth of a baseline and of others with these speeds; None: without a value."""
    given_calls = calls or ["UNCLEAR"] * len(speeds)
    cells = [
        MachineCell(letter=f"s{n}", value=Value(1e9 * speed, "B/s", None, None, "higher"), speed=speed, call=call)
        if speed
        else MachineCell(letter=f"s{n}")
        for n, (speed, call) in enumerate(zip(speeds, given_calls, strict=True), 1)
    ]
    base = MachineCell(letter="s0", value=Value(value, "B/s", None, None, "higher") if value else None)
    return MachineFigure(name="bandwidth", title="Bandwidth", cells=(base, *cells))


def names(one: MachineFigure) -> dict[str, str]:
    return {cell.letter: cell.letter for cell in one.cells}


@given(st.lists(st.one_of(st.none(), st.floats(0.01, 100)), min_size=LEAST - 1, max_size=40))
def test_the_place_counts_the_faster_ones_and_every_side_has_its_dot(speeds: list[float | None]) -> None:
    one = figure(speeds)
    known = [speed for speed in speeds if speed]
    found = find_positions([one], names(one))
    if len(known) + 1 < LEAST:
        assert (found, count_place(one)) == ((), "")
        return
    (position,) = found
    assert position.place == f"{1 + sum(speed > 1 for speed in known)} of {len(known) + 1}"
    assert count_place(one) == f"rank {position.place}"
    at = {dot.side: dot.at for dot in position.dots}
    assert at.keys() == {0, *(n for n, speed in enumerate(speeds, 1) if speed)}
    assert position.here == at[0]
    ordered = sorted(at, key=lambda n: 1.0 if n == 0 else speeds[n - 1] or 0)
    assert [at[n] for n in ordered] == sorted(at.values())
    assert position.half[0] <= position.half[1]
    assert all(0 <= place <= 100 for place in at.values())
    assert float(position.middle.removeprefix("× ")) == pytest.approx(1 / median([1.0, *known]), rel=0.06)


def test_only_certain_differences_are_counted_beside_the_place() -> None:
    one = figure([0.5, 0.6, 0.7, 2.0, 3.0, 0.9], ["SLOWER", "SLOWER", "UNCLEAR", "FASTER", "UNCLEAR", "UNCLEAR"])
    (position,) = find_positions([one], names(one))
    assert (position.place, position.certain) == ("3 of 7", ("certainly faster than 2", "certainly slower than 1"))
    (position,) = find_positions([figure([0.5] * 6)], names(one))
    assert position.certain == ()


def test_a_quantity_that_the_baseline_lacks_has_no_place() -> None:
    one = figure([0.5] * 9, value=None)
    assert find_positions([one], names(one)) == ()
    assert count_place(one) == ""
