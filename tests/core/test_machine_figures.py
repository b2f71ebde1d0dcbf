"""Whole machines beside each other, each at its best use: planted ratios, any order of sides, and no value of another kind."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planted_sides import latency, peak, side, stream, value
from steelyard.compare.compared_sides import MachineCell, MachineFigure
from steelyard.compare.machine_figures import compare_machines
from steelyard.compare.published_side import find_side
from steelyard.compare.side import Side, SideCase
from steelyard.compare.sides import compare_sides
from steelyard.compare.verdict import conclude
from steelyard.model import Scalar, Value
from steelyard.model.machine import Device
from steelyard.show.report import machine_table, sides_screen
from steelyard.statistics.results import applications


def figure(figures: tuple[MachineFigure, ...], name: str) -> MachineFigure:
    return next(one for one in figures if one.name == name)


def compare(*sides: Side) -> tuple[MachineFigure, ...]:
    return compare_machines(sides, "abcdefghij"[: len(sides)])


def other(figures: tuple[MachineFigure, ...], name: str) -> MachineCell:
    return figure(figures, name).cells[1]


@given(st.floats(0.5, 20.0), st.integers(1, 64), st.integers(1, 64))
def test_a_planted_ratio_is_found_whatever_the_cores(ratio: float, few: int, many: int) -> None:
    a = side("a", few, [stream(few, 1e10), peak(few, 1e11)])
    b = side("b", many + 64, [stream(threads, 1e10 * ratio * threads / many) for threads in {1, many}])
    cell = other(compare(a, b), "triad")
    assert cell.speed == pytest.approx(ratio)
    assert cell.per_core == pytest.approx(ratio * few / (many + 64))
    assert (cell.low or 0.0) < ratio < (cell.high or 0.0)
    wanted = "FASTER" if ratio > 1.2 else "SLOWER" if ratio < 1 / 1.2 else None
    assert wanted is None or cell.call == wanted
    turned = other(compare(b, a), "triad")
    assert turned.speed == pytest.approx(1 / ratio)
    assert turned.call == {"FASTER": "SLOWER", "SLOWER": "FASTER"}.get(cell.call or "", cell.call)


def test_the_note_says_why_an_interval_without_1_is_unclear() -> None:
    cell = MachineCell(letter="b", value=value(2.9e9, "B/s"), speed=0.45, low=0.19, high=0.89, call="UNCLEAR")
    first = MachineCell(letter="a", value=value(6.4e9, "B/s"))

    def note(other: MachineCell) -> str:
        figures = (MachineFigure(name="triad", title="Triad bandwidth", cells=(first, other)),)
        return " ".join(str(line) for line in machine_table.list_machines(figures, 100))

    assert "unclear beside an interval without 1: among 1 value," in note(cell)
    assert "unclear beside" not in note(replace(cell, high=1.1))
    assert "unclear beside" not in note(replace(cell, call="SLOWER"))


def test_the_best_number_of_threads_counts_and_not_the_greatest() -> None:
    a, b = side("a", 2, [stream(2, 1e10)]), side("b", 16, [stream(8, 9e10), stream(16, 6e10)])
    cell = other(compare(a, b), "triad")
    assert cell.value
    assert (cell.value.value, cell.condition) == (9e10, "8 threads")


def device_case(kernel: str, number: float, door: str = "cuda", **parameters: Scalar) -> SideCase:
    of = {"elements": 1 << 27, "precision": "double"} if kernel == "triad" else {"memory": "pinned", "bytes": 1 << 28}
    return SideCase(
        benchmark="device.stream" if kernel == "triad" else "device.transfer", kernel=kernel, kind="memory", level="CLEAN",
        parameters={"door": door, "device": 0, **of, **parameters}, metrics={"bandwidth": value(number, "B/s")},
    )  # fmt: skip


def test_devices_are_compared_by_their_best_use() -> None:
    smaller = device_case("triad", 9e12, elements=1 << 20)  # of the last cache
    a = side("a", 8, [device_case("triad", 2e12), smaller, device_case("to_device", 25e9)])
    b = side("b", 16, [device_case("triad", 4e12, "hip", device=3), device_case("to_device", 50e9, memory="pageable")])
    figures = compare(a, b)
    assert other(figures, "device_triad").speed == pytest.approx(2)
    assert other(figures, "device_triad").call == "FASTER"
    assert [one.name for one in figures] == ["device_triad"], "only one side has copies of pinned memory"


def test_a_processor_behind_opencl_is_no_device_of_a_machine() -> None:
    a = side("a", 8, [device_case("triad", 2e10, "opencl")])
    (run,) = a.runs
    processor = replace(run.machine, devices=(Device(0, "pthread", "CPU", 1 << 34, True),))
    assert [one.name for one in compare(a, a)] == []
    b = side("b", 16, [device_case("triad", 4e12)])
    assert [one.name for one in compare(a, b)] == ["device_triad"]
    assert compare(replace(a, runs=(replace(run, machine=processor),)), b) == ()


def test_a_latency_is_a_speed_by_its_inverse() -> None:
    a, b = side("a", 2, [latency(1e-7)]), side("b", 16, [latency(2e-7)])
    cell = other(compare(a, b), "latency")
    assert (cell.speed, cell.call, cell.per_core) == (pytest.approx(0.5), "SLOWER", None)


def test_a_value_above_its_limit_stands_for_no_machine() -> None:
    a, b = side("a", 2, [peak(2, 1e11)]), side("b", 16, [peak(16, 9e11, limit=5e11), peak(8, 4e11, limit=5e11)])
    cell = other(compare(a, b), "peak")
    assert cell.value
    assert cell.value.value == 4e11
    alone = other(compare(a, side("c", 16, [peak(16, 9e11, limit=5e11)])), "peak")
    assert (alone.call, alone.low) == ("NOT JUDGED", None)


@given(st.floats(0.8, 1.25), st.floats(0.8, 1.25), st.booleans())
def test_the_verdict_and_the_comparison_never_contradict_each_other(triad: float, access: float, turned: bool) -> None:
    a = side("a", 2, [stream(2, 1e10), latency(1e-7), peak(2, 1e11)])
    b = side("b", 16, [stream(16, 1e10 * triad), latency(1e-7 / access), peak(16, 1e11)])
    sides = [b, a] if turned else [a, b]
    calls = {one.name: one.cells[1].call for one in compare(*sides)}
    choices = conclude(sides).choices
    works = (("triad", "buyer", "memory-bound programs"), ("latency", "programmer", "programs with random accesses"))
    for quantity, reader, work in works:
        text = next(sentence.text for sentence in choices[reader] if work in sentence.text)  # type: ignore[index]
        better = {"FASTER": sides[1].name, "SLOWER": sides[0].name}.get(calls[quantity] or "")
        assert f"choose {better}:" in text if better else text.startswith("No choice")


def test_the_interval_of_a_group_follows_from_the_spread_of_its_runs() -> None:
    runs = [side(f"r{n}", 2, [stream(2, 1e10 * rate)]).runs[0] for n, rate in enumerate((0.999, 1.0, 1.001, 1.0))]
    a, b = Side(name="a", kind="group", runs=tuple(runs)), side("b", 16, [stream(16, 1.2e10)])
    group = Side(name="b", kind="group", runs=tuple(replace(b.runs[0], run=f"b{n}") for n in range(3)))
    cell = other(compare(a, group), "triad")
    assert (cell.low or 0.0) > 1.19
    assert (cell.speed, cell.call) == (pytest.approx(1.2, rel=0.001), "FASTER")


@pytest.mark.parametrize("seconds", [0.04, 0.4])
def test_the_shortest_time_of_a_program_counts_however_short_it_is(seconds: float) -> None:
    a = side("a", 2, [program(2, 1.5 * seconds), program(1, 3 * seconds)])
    b = side("b", 4, [program(4, seconds), program(1, 4 * seconds)])
    (one,) = compare(a, b)
    assert one.cells[1].speed == pytest.approx(1.5)
    assert compare(a, side("b", 4, [program(4, seconds, "S")])) == ()


def program(threads: int, seconds: float, letter: str = "A") -> SideCase:
    time = Value(seconds, "s", 0.99 * seconds, 1.01 * seconds, "lower")
    parameters = {"threads": threads, "class": letter}
    timed = seconds >= applications.LEAST_SECONDS and letter != "S"
    return replace(stream(threads, 1.0), benchmark="application.npb_ep", kernel="ep", parameters=parameters,
                   metrics={"time": time}, timed=timed)  # fmt: skip


def test_programs_of_published_systems_on_several_nodes_have_no_speed_per_core() -> None:
    sides = [find_side(name) for name in ("MareNostrum III", "Mont-Blanc system")]
    cells = [one.cells[1] for one in compare(*filter(None, sides)) if one.is_program]
    assert [(cell.per_core, round(cell.speed or 0.0, 2)) for cell in cells] == [(None, 1.04), (None, 0.99)]


def test_a_measured_speed_of_linpack_proves_a_peak_of_at_least_as_much() -> None:
    published = find_side("2x EPYC 9654")
    assert published
    sides = [side("a", 2, [peak(2, 1e11)]), side("b", 4, [peak(4, 2e11)]), published]
    for some in (sides, sides[1:]):
        text = next(s.text for s in conclude(some).choices["buyer"] if "compute-bound" in s.text)
        assert text.startswith(
            "For compute-bound programs choose 2x EPYC 9654: at least 7.46 Tflop/s against 200 Gflop/s"
        )


def test_a_published_variant_stands_beside_the_variant_of_the_run_with_its_name() -> None:
    given = {"ranks": 2, "message_bytes": 0, "placement": "other node", "buffers": "reused", "hosts": 2}
    named = {None: 157e-6, "vendor driver": 87e-6, "Open-MX": 65e-6}
    cases = tuple(
        SideCase(
            benchmark="network.pingpong", kernel="pingpong", kind="short messages", level="CLEAN", hosts=2,
            parameters=given if name is None else {**given, "variant": name},
            metrics={"latency": value(seconds, "s", "lower")},
        )
        for name, seconds in named.items()
    )  # fmt: skip
    published = find_side("Mont-Blanc system")
    assert published is not None
    one = side("m", 2, cases)
    message = figure(compare(published, one), "message")
    assert [cell.value.value for cell in message.cells if cell.value] == [88e-6, 87e-6]
    plain = figure(compare(published, side("m", 2, cases[:1])), "message")
    assert [cell.value.value for cell in plain.cells if cell.value] == [88e-6, 157e-6]
    both = figure(compare(one, published, replace(one, name="n")), "message")
    assert both.cells[0].value == both.cells[2].value
    assert both.cells[0].value is not None
    assert both.cells[0].value.value == 157e-6


def test_equal_machines_have_no_figure_and_equal_copies_no_call() -> None:
    a = side("a", 4, [stream(4, 1e10), peak(4, 1e11)])
    assert compare(a, side("b", 4, [stream(4, 2e10)])) == ()
    copy = side("c", 8, [stream(4, 1e10), peak(4, 1e11)])
    assert {cell.call for one in compare(a, copy) for cell in one.cells[1:]} <= {"SAME", "UNCLEAR", "NOT JUDGED"}


def test_a_measured_value_is_not_compared_with_a_data_sheet() -> None:
    published = find_side("MareNostrum III node")
    assert published
    a = side("a", 2, [peak(2, 1e11)])
    figures = compare(a, published)
    assert "peak" not in {one.name for one in figures}
    assert all("data sheet" in one.title for one in figures if one.name.startswith("sheet_"))


def test_a_further_side_changes_no_figure_of_two_others() -> None:
    sides = [side(str(n), n, [stream(n, 1e10 * n), peak(n, 1e11 * n)]) for n in (2, 4, 8, 16)]
    alone, among = compare(*sides[:2]), compare(*sides)
    for one in alone:
        assert figure(among, one.name).cells[:2] == one.cells


@pytest.mark.parametrize("count", [2, 3, 4, 5, 9])
def test_the_screen_shows_whole_machines_first(count: int) -> None:
    sides = [side(f"m{n}", n, [stream(n, 1e10 * n), peak(n, 1e11 * n)]) for n in range(2, 2 + count)]
    lines = [line.plain for line in sides_screen.screen(compare_sides(sides), 80)]
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    triad = next(line for line in lines if line.startswith("Triad bandwidth"))
    assert "20.0 GB/s" in triad


@pytest.mark.long
def test_the_ratio_of_noisy_machines_is_within_its_interval_in_95_of_100() -> None:
    """1 to 256 cores, ratios of 0.5 to 20, noise of 0.5 to 15 %; more threads than half of the cores gain 1 to 3 %."""
    chance = random.Random(5)

    def measure(name: str, cores: int, bandwidth: float) -> Side:
        noise = chance.uniform(0.005, 0.15)
        cases = [stream(max(1, cores // 2), bandwidth * chance.uniform(0.97, 0.99)), stream(cores, bandwidth)]
        return side(name, cores, [disturb(case, noise) for case in cases])

    def disturb(case: SideCase, noise: float) -> SideCase:
        measured, width = case.metrics["bandwidth"].value * math.exp(chance.gauss(0, noise)), math.exp(1.96 * noise)
        span = (measured / width, measured * width)
        made = Value(measured, "B/s", *span, "higher", now=span, best_seen=measured * math.exp(0.3 * noise))
        return replace(case, metrics={"bandwidth": made})

    inside = 0
    for _ in range(400):
        ratio = math.exp(chance.uniform(math.log(0.5), math.log(20)))
        a = measure("a", chance.choice((1, 2, 8, 64)), 1e10)
        b = measure("b", chance.choice((4, 16, 96, 256)) + 1, 1e10 * ratio)
        cell = other(compare(a, b), "triad")
        inside += (cell.low or 0.0) <= ratio <= (cell.high or 0.0)
        assert (cell.call, ratio > 1) not in (("FASTER", False), ("SLOWER", True))
    assert inside >= 0.95 * 400


def placed(placement: str, threads: int, bandwidth: float) -> SideCase:
    case = stream(threads, bandwidth)
    return replace(case, benchmark="memory.placement", parameters={"threads": threads, "placement": placement})


def test_a_memory_node_is_not_compared_with_a_whole_socket() -> None:
    """Cluster-on-Die off and on (seed 002): a memory node is a whole socket, then half of one."""
    off = side("off", 28, [placed("full system", 28, 112e9), placed("local socket", 14, 55.9e9)])
    on = side(
        "on", 28,
        [placed("full system", 28, 116e9), placed("local socket", 14, 57.9e9), placed("local memory node", 7, 28e9)],
    )  # fmt: skip
    (run,) = on.runs
    on = replace(on, runs=(replace(run, facts={"machine": {"nodes": "4"}}),))
    values = {f.name: [cell.value and cell.value.value for cell in f.cells] for f in compare_machines([off, on], "ab")}
    assert values == {"triad": [112e9, 116e9], "socket": [55.9e9, 57.9e9]}
