"""What all ranks do at once: how large their arrays are, whose bandwidth is told, and what the maps show."""

from dataclasses import replace
from typing import Any

import pytest

from builders import machine, result
from steelyard.measure.benchmarks.cluster import apexmap, stream
from steelyard.measure.benchmarks.cluster.rates import rates_of_ranks
from steelyard.measure.benchmarks.memory.stream import elements
from steelyard.measure.plan import EFFORTS
from steelyard.model import Host, Limit, Machine, Result, Value


def two_hosts(slots: int = 4) -> Machine:
    return replace(machine(cores=slots), hosts=(Host("a", slots), Host("b", slots)))


def triad(times: tuple[float, ...], hosts: tuple[str, ...] = (), count: int = 1000, **changed: Any) -> Result:
    """All ranks' vectors have `count` elements; each rank takes its own time, the slowest is the sample."""
    seen = {"ranks": {"seconds": [[t] * 20 for t in times], "hosts": list(hosts or ["a"] * len(times))}}
    work = {"bytes": 24.0 * count * len(times)}
    parameters = {"ranks": len(times), "stores": "ordinary", "mpi": "openmpi-4.1.4", **changed}
    rate = Value(work["bytes"] / max(times), "B/s", None, None, "higher")
    return result(
        "cluster.stream", "triad", parameters, max(times), work, surroundings=seen, launches=1, spread=0.0,
        metrics={"bandwidth": rate},
    )  # fmt: skip


def test_each_rank_counts_with_its_own_time() -> None:
    record = triad((1e-6, 1e-6, 2e-6)).records[0]
    assert rates_of_ranks(record, "bytes") == pytest.approx((24e9, 24e9, 12e9))
    assert stream.total(2e-6, record) == pytest.approx(60e9)
    assert stream.slowest(2e-6, record) == pytest.approx(12e9)
    assert stream.spread(2e-6, record) == pytest.approx(0.5)
    assert stream.bandwidth(2e-6, record) == pytest.approx(36e9)


def test_ranks_that_are_alike_or_alone_have_no_spread() -> None:
    assert stream.spread(1e-6, triad((1e-6,)).records[0]) is None
    assert stream.spread(1e-6, triad((1e-6, 1e-6)).records[0]) is None


def test_the_ranks_of_a_host_share_the_array_of_the_rule() -> None:
    for here in (machine(cores=4), two_hosts(4)):
        for block in stream.axes(here, EFFORTS["standard"]):
            (ranks,), (each,) = block.values["ranks"], block.values["elements"]
            per_host = (
                int(ranks) if not here.hosts else min(4, int(ranks), int(block.values.get("ranks_per_node", (4,))[0]))
            )
            assert each * per_host <= elements(here)
            assert each * per_host > elements(here) - 8 * per_host


def test_several_nodes_have_several_times_the_limit() -> None:
    peak = Limit(50e9, "B/s", "2 channels")
    of = triad((1e-6, 1e-6))
    alone, both = (replace(here, limits={"memory_bandwidth": peak}) for here in (machine(), two_hosts()))
    one, two = stream.limit("total", of, alone), stream.limit("total", of, both)
    assert one
    assert two
    assert (one.value, two.value) == (50e9, 100e9)
    assert stream.limit("slowest", of, both) is None


def test_bars_name_the_host_of_a_rank_where_there_are_several() -> None:
    _, each = stream.figures((triad((1e-6, 2e-6), hosts=("a", "b")),), two_hosts())
    assert each.series[0].x == ("0 (a)", "1 (b)")
    _, each = stream.figures((triad((1e-6, 2e-6)),), machine())
    assert each.series[0].x == ("0", "1")


def test_most_ranks_are_shown_each() -> None:
    _, each = stream.figures((triad((1e-6,) * 2), triad((1e-6,) * 4)), machine())
    assert [len(s.x) for s in each.series] == [4]


# --------------------------------------------------------------------------- APEX-MAP


def point(L: int, alpha: float, rate: float, hosts: tuple[str, ...], kernel: str = "one_sided") -> Result:  # noqa: N803
    ranks = len(hosts)
    seen = {"ranks": {"hosts": list(hosts)}, "details": {"remote": 0.5, "expected": 0.5}}
    work = {"accesses": 1024.0 * ranks, "bytes": 8192.0 * ranks}
    told = {"bandwidth": Value(rate, "B/s", None, None, "higher")}
    parameters = {"L": L, "alpha": alpha, "ranks": ranks, "mpi": "openmpi-4.1.4"}
    return result("cluster.apexmap", kernel, parameters, 1e-5, work, surroundings=seen, metrics=told, launches=1)


def test_bandwidth_is_counted_per_node() -> None:
    record = point(1, 1.0, 1e9, ("a", "a", "b", "b")).records[0]
    assert apexmap.bandwidth(1e-5, record) == pytest.approx(4 * 8192 / 1e-5 / 2)
    assert apexmap.access_time(1e-5, record) == pytest.approx(1e-5 / 1024)
    assert apexmap.remote(1e-5, record) == 0.5


def test_the_maps_show_most_ranks_and_each_way() -> None:
    small, large = ("a",) * 2, ("a",) * 4
    results = tuple(
        point(L, alpha, 1e9 * L * len(hosts), hosts, kernel)
        for L in (1, 64)
        for alpha in (1.0, 0.01)
        for hosts in (small, large)
        for kernel in apexmap.KERNELS
    )
    one, two, worst, _ = apexmap.figures(results, machine())
    assert (one.columns, one.rows) == ((1.0, 64.0), (0.01, 1.0))
    assert one.z == two.z == ((4e9, 256e9), (4e9, 256e9))
    assert [s.x for s in worst.series] == [(2.0, 4.0)] * 2


@pytest.mark.parametrize("preset", sorted(EFFORTS))
@pytest.mark.parametrize("memory", [1 << 30, 64 << 30])
def test_arrays_fit_into_the_memory_and_blocks_into_the_arrays(preset: str, memory: int) -> None:
    here = machine(cores=16, memory_available=memory)
    for block in apexmap.axes(here, EFFORTS[preset]):
        (each,) = block.values["elements"]
        assert 8 * int(each) * 16 <= memory
        assert 8 * int(each) <= 64 << 20
        assert all(int(each) % int(length) == 0 and int(each) // int(length) >= 2 for length in block.values["L"])


def test_fewer_ranks_measure_the_corners_only() -> None:
    grid, corners = apexmap.axes(machine(cores=8), EFFORTS["standard"])
    assert grid.keep is None
    assert corners.keep
    kept = [(L, a) for L in corners.values["L"] for a in corners.values["alpha"] if corners.keep({"L": L, "alpha": a})]
    assert len(kept) == 2
