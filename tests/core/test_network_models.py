"""Hockney's lines, the parameters of LogGP, and what one-sided communication makes of its records."""

import random
from typing import Any

import pytest

from builders import machine, message, result
from steelyard.measure.benchmarks.network import model, onesided, pingpong, protocol
from steelyard.measure.plan import EFFORTS, make
from steelyard.model import Machine, Result, Value

SIZES = (0, *(1 << k for k in range(23)))


def protocols(size: float) -> float:
    """Seconds one way: up to 4 KiB at once, beyond after asking."""
    return 1e-6 + size / 1e9 if size <= 4096 else 2e-5 + size / 5e9


def pings(seconds: Any = protocols, **changed: Any) -> tuple[Result, ...]:
    chance = random.Random(7)
    found = []
    for size in SIZES:
        value = seconds(size) * (1 + chance.gauss(0, 0.002))
        made = message(value, size, **changed)
        told = {"latency": Value(value, "s", None, None, "lower")}
        found.append(
            Result(
                benchmark=made.benchmark,
                kernel=made.kernel,
                parameters=made.parameters,
                records=made.records,
                metrics=told,
                verdict=made.verdict,
            )
        )
    return tuple(found)


def test_time_and_bandwidth_of_the_ping_pong_have_a_figure_each() -> None:
    names = [figure.name for figure in pingpong.figures(pings(), machine())]
    assert names[:2] == ["pingpong-time", "pingpong-bandwidth"]
    assert len(names) == 4, "and two of Hockney's lines"


def test_two_protocols_get_a_line_each_and_a_mark_between_them() -> None:
    figure, residuals = protocol.hockney(pings())
    lines = [s for s in figure.series if s.connected]
    assert [s.name.partition(":")[0] for s in lines] == ["0 B to 4 KiB", "8 KiB to 4 MiB"]
    for line in lines:
        assert line.y == pytest.approx([protocols(size) for size in line.x], rel=0.01)
    assert [m.at for m in figure.marks] == [8192]
    (left,) = residuals.series
    assert len(left.x) == len(SIZES) - 1  # the message of 0 bytes has no place on a logarithmic axis
    assert max(abs(y) for y in left.y if y is not None) < 0.02


def test_each_network_has_lines_of_its_own() -> None:
    figure, _ = protocol.hockney((*pings(), *pings(lambda n: 5e-5 + n / 1e8, transport="no shared memory")))
    names = {s.name for s in figure.series if not s.connected}
    assert names == {"default, measured", "no shared memory, measured"}


def test_fresh_buffers_are_left_out_of_the_protocols() -> None:
    figure, residuals = protocol.hockney(pings(buffers="fresh"))
    assert figure.series == residuals.series == ()


def test_pingpong_shows_the_lines() -> None:
    assert {f.name for f in pingpong.figures(pings(), machine())} >= {"hockney", "hockney-residuals"}


# --------------------------------------------------------------------------- LogGP


def train(n: int, delay: float, size: int, latency: float, overhead: float, gap: float, per_byte: float) -> float:
    """PRTT(n, d, s) in the model."""
    each = max(overhead + delay, gap + (size - 1) * per_byte)
    return 2 * (2 * overhead + latency + (size - 1) * per_byte) + (n - 1) * each


def trains(**own: float) -> tuple[Result, ...]:
    """The cases of a quick run in a network with planted parameters; larger messages have another gap."""
    plan = make({"network.model": benchmark()}, small_machine(), EFFORTS["quick"], {}, ["any"], mpis=["openmpi-4.1.4"])
    found = []
    for case in plan.launches[0].cases:
        p = {**case.parameters, "toolchain": "gcc"}
        if case.kernel == "receive":
            told = {"receive": Value(3e-7, "s", None, None, "lower")}
            seconds = 5e-4
        else:
            planted = {"latency": 2e-6, "overhead": 2e-7, "gap": 1e-6, "per_byte": 1e-10, **own}
            if int(p["message_bytes"]) > 4096:
                planted |= {"latency": 1.2e-5, "gap": 8e-6}
            seconds = train(int(p["messages"]), float(p["delay"]), int(p["message_bytes"]), **planted)
            told = {"train": Value(seconds, "s", None, None, "lower")}
        found.append(result("network.model", case.kernel, p, seconds, {"messages": 2.0}, metrics=told, launches=1))
    return tuple(found)


def benchmark() -> Any:
    from steelyard.measure.plan import catalogue

    return catalogue.find()["network.model"]


def small_machine() -> Machine:
    return machine(cores=2)


def test_planted_parameters_are_found_for_each_protocol() -> None:
    (first, small), (second, large) = model.fits(trains())
    assert (first, second) == ("1 B to 4 KiB", "8 KiB to 128 KiB")
    assert small.gap == pytest.approx(1e-6, rel=0.01)
    assert small.gap_per_byte == pytest.approx(1e-10, rel=0.01)
    assert small.overhead == pytest.approx(2e-7, rel=0.01)
    # The sender's and the receiver's overhead of the planted round trip are equal, the receive measured is another.
    assert small.latency == pytest.approx(2e-6 + 2e-7 - 3e-7, rel=0.05)
    assert large.gap == pytest.approx(8e-6, rel=0.01)


def test_the_models_figures_show_points_lines_and_parameters() -> None:
    gaps, residuals, table = model.figures(trains(), small_machine())
    assert sum(s.connected for s in gaps.series) == 2
    assert all(abs(y) < 0.02 for s in residuals.series for y in s.y if y is not None)
    small = dict(zip(table.series[0].x, table.series[0].y, strict=True))
    assert small["g, gap"] == pytest.approx(1e-6, rel=0.01)
    assert small["receiver's overhead"] == pytest.approx(3e-7)
    assert small["G · 1024 B"] == pytest.approx(1024e-10, rel=0.01)


def test_a_delay_is_asked_of_trains_only() -> None:
    for preset in EFFORTS.values():
        plan = make({"network.model": benchmark()}, small_machine(), preset, {}, ["any"], mpis=["any"])
        cases = [c.parameters for launch in plan.launches for c in launch.cases if c.kernel == "trains"]
        assert {p["delay"] for p in cases if p["messages"] == 1} == {0.0}
        covering = {p["message_bytes"] for p in cases if float(p["delay"]) >= 2e-5}
        assert covering == {p["message_bytes"] for p in cases}  # every size can show an overhead


def test_the_metrics_of_the_model_belong_to_their_kernels() -> None:
    alone = result("network.model", "trains", {"messages": 1}, 4e-6, {"messages": 2.0}).records[0]
    many = result("network.model", "trains", {"messages": 16}, 4e-6, {"messages": 17.0}).records[0]
    seen = {"details": {"receive": 1e-7}}
    receive = result("network.model", "receive", {}, 5e-4, {"messages": 2.0}, surroundings=seen).records[0]
    assert (model.latency(4e-6, alone), model.latency(4e-6, many), model.latency(4e-6, receive)) == (2e-6, None, None)
    assert (model.train(4e-6, many), model.train(4e-6, receive)) == (4e-6, None)
    assert (model.receive(5e-4, receive), model.receive(5e-4, many)) == (1e-7, None)


# --------------------------------------------------------------------------- one-sided


def put(origin: float, target: float, count: int = 1, kernel: str = "put", **changed: Any) -> Result:
    """So many seconds that origin and target took for an operation of `count` puts; the slower one is the sample."""
    both = {"ranks": {"seconds": [[origin] * 30, [target] * 30]}}
    work = {"messages": float(count), "bytes": 8.0 * count}
    parameters = {"synchronisation": "flush", "window": count, "message_bytes": 8, **changed}
    return result("network.onesided", kernel, parameters, target, work, surroundings=both, launches=1, spread=0.0)


def test_the_time_of_a_put_is_the_origins() -> None:
    record = put(1e-6, 1.5e-6).records[0]
    assert onesided.latency(1.5e-6, record) == pytest.approx(1e-6)
    assert onesided.bandwidth(1.5e-6, record) == pytest.approx(8e6)
    assert onesided.latency(3e-6, record) == pytest.approx(2e-6)  # the ends of an interval follow


def test_a_fence_ends_when_both_ranks_have_passed_it() -> None:
    record = put(1e-6, 1.5e-6, synchronisation="fence").records[0]
    assert onesided.latency(1.5e-6, record) == pytest.approx(1.5e-6)


def test_several_operations_with_one_synchronisation_have_no_latency() -> None:
    record = put(64e-6, 64e-6, count=64).records[0]
    assert onesided.latency(64e-6, record) is None
    assert onesided.rate(64e-6, record) == pytest.approx(1e6)


def test_an_atomic_operation_has_a_rate_and_no_bandwidth() -> None:
    record = put(1e-6, 1e-6, kernel="fetch_and_op").records[0]
    assert onesided.bandwidth(1e-6, record) is None
    assert onesided.rate(1e-6, record) == pytest.approx(1e6)


@pytest.mark.parametrize("preset", sorted(EFFORTS))
def test_many_large_operations_at_a_time_are_not_asked_for(preset: str) -> None:
    for block in onesided.axes(small_machine(), EFFORTS[preset]):
        assert block.keep
        kept = [s for s in block.values["message_bytes"] if block.keep({"window": 64, "message_bytes": s})]
        assert all(64 * int(s) <= onesided.WINDOW_BYTES for s in kept)
