"""Topologies, bisections, basic operations and collectives: who meets whom, what follows from the times, more than two ranks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from builders import bandwidth, evaluation, machine, result
from mpis import mpi
from steelyard.judge.findings.network import steadiest
from steelyard.measure import build
from steelyard.measure.benchmarks.network import bisection, collectives, nettest, operations
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.start import start
from steelyard.measure.plan import EFFORTS, make
from steelyard.model import Benchmark, Case, Host, Launch, Limit, Machine, Result, Scalar, Site, Value
from steelyard.statistics.results.steadiness import steadiness

FAST_ETHERNET = Limit(12.5e6, "B/s", "given by fast.toml")
RANKS = 5  # odd, and more than the halves of a pair: somebody has no partner
Ask = Callable[[str, str], dict[str, Any]]


def where(**changed: Any) -> Machine:
    return machine(**{"hosts": tuple(Host(f"n{i}", 4) for i in range(8)), **changed})


def on(*hosts: str, **more: Any) -> dict[str, Any]:
    """Surroundings of ranks on these hosts."""
    return {"ranks": {"hosts": list(hosts), **more.pop("ranks", {})}, **more}


def topology(
    name: str, ranks: int, rate: float, hosts: int = 1, direction: str = "one-way", size: int = 1024
) -> Result:
    parameters: dict[str, Scalar] = {
        "topology": name, "direction": direction, "ranks": ranks, "message_bytes": size, "outstanding": 256,
    }  # fmt: skip
    seen = on(*(f"n{i % hosts}" for i in range(ranks)))
    told = {"throughput": bandwidth(rate)}
    return result(
        "network.nettest", "nettest", parameters, 1e-3, {"bytes": rate * 1e-3}, surroundings=seen, metrics=told
    )


def planned(name: str, benchmarks: Mapping[str, Benchmark], here: Machine, **settings: Scalar) -> list[Case]:
    asked = {key: (value,) for key, value in settings.items()}
    made = make({name: benchmarks[name]}, here, EFFORTS["quick"], asked, ["any"], mpis=["any"])
    return [case for launch in made.launches if launch.repetition == 1 for case in launch.cases]


# --------------------------------------------------------------------------- nettest


@pytest.mark.parametrize(("name", "most"), [("star", 25e6), ("ring", 100e6), ("chaos", 100e6)])
def test_eight_nodes_on_fast_ethernet_have_these_bounds(name: str, most: float) -> None:
    assert nettest.bound(name, 8, FAST_ETHERNET.value) == most
    limit = nettest.limit(
        "throughput", topology(name, 8, 1e6, hosts=8), where(limits={"network_bandwidth": FAST_ETHERNET})
    )
    assert limit.value == most
    assert "fast.toml" in limit.source


def test_ranks_that_share_a_node_have_no_bound_from_its_link() -> None:
    cluster = where(limits={"network_bandwidth": FAST_ETHERNET})
    assert nettest.limit("throughput", topology("ring", 8, 1e6, hosts=4), cluster) is None
    assert nettest.limit("throughput", topology("ring", 8, 1e6, hosts=8), where()) is None
    assert nettest.limit("time", topology("ring", 8, 1e6, hosts=8), cluster) is None


def test_the_link_is_the_best_that_two_ranks_reached_one_way() -> None:
    found = (
        topology("star", 2, 3e9),
        topology("ring", 2, 4e9, size=4096),
        topology("star", 2, 7e9, direction="two-way"),
        topology("star", 4, 9e9),
    )
    link = nettest.link_of(found, machine(), spread=False)
    assert link[0] == 4e9
    assert "two ranks in this run" in link[1]
    assert nettest.link_of(found, machine(), spread=True) is None, "two ranks of one host tell nothing of the network"
    assert nettest.link_of(found[3:], machine(), spread=False) is None


def test_a_system_files_link_is_believed_between_hosts_and_not_within_one() -> None:
    given = machine(limits={"network_bandwidth": FAST_ETHERNET})
    assert nettest.link_of((topology("star", 2, 3e9),), given, spread=True) == (12.5e6, "given by fast.toml")
    link = nettest.link_of((topology("star", 2, 3e9),), given, spread=False)
    assert link[0] == 3e9


def test_the_figure_of_four_ranks_marks_both_bounds_and_says_where_they_come_from() -> None:
    found = (topology("star", 2, 3e9), topology("star", 4, 4e9), topology("ring", 4, 5e9), topology("chaos", 4, 6e9))
    figures = {f.name: f for f in nettest.figures(found, machine())}
    assert [(m.at, m.label) for m in figures["nettest-4"].marks] == [(6e9, "star: 2 B"), (12e9, "ring and chaos: 4 B")]
    assert len([s for s in figures["nettest-4"].series if not s.published]) == 3
    assert "3.00 GB/s: the best one-way throughput of two ranks in this run" in figures["nettest-4"].caption
    assert [m.at for m in figures["nettest-2"].marks] == [6e9]
    assert "nettest-ranks" in figures


def test_without_two_ranks_no_bound_is_invented() -> None:
    (figure,) = nettest.figures((topology("star", 4, 4e9),), machine())
    assert figure.marks == ()
    assert "There is no bound" in figure.caption


def eight_nodes(wobble: Mapping[str, float]) -> tuple[Result, ...]:
    """Throughputs that climb to 64 KiB, and from there on alternate by ± the topology's wobble."""
    sizes = [1 << k for k in range(10, 22)]
    return tuple(
        topology(name, 8, 1e7 * min(1.0, size / 65536) * (1 + share * (-1) ** i), 8, way, size)
        for name, share in wobble.items()
        for way in ("one-way", "two-way")
        for i, size in enumerate(sizes)
    )


def test_the_steadiest_topology_is_the_one_that_varies_least_with_the_size() -> None:
    results = eight_nodes({"star": 0.1, "ring": 0.02, "chaos": 0.3})
    (found,) = steadiness(results)
    assert [s.topology for s in found] == ["ring", "star", "chaos"]
    assert found[0].variation == pytest.approx(0.02, rel=0.1)
    assert (found[0].first, found[0].last) == (65536, 1 << 21)
    (told,) = steadiest.find(evaluation(results))
    assert told.seen.startswith(
        "The throughput of the ring depends least on the message size (8 ranks). From 64 KiB to 2 MiB, the throughput of the "
        "ring varies by 2.0 %"
    )
    figure = nettest.figures(results, machine())[0]
    assert "the smallest variation first: ring 2.0 %, star 10 %, chaos 30 %" in figure.caption
    level = [s for s in figure.series if s.published]
    assert [(s.name.split(" (")[0], s.y) for s in level] == [("Celeron educational cluster", (30.97e6, 30.97e6))]
    assert "topology chaos, two-way, 8 nodes" in level[0].name


def test_two_topologies_that_vary_alike_are_told_so_and_few_ranks_or_sizes_nothing() -> None:
    (told,) = steadiest.find(evaluation(eight_nodes({"star": 0.1, "ring": 0.1})))
    assert "equally little" in told.seen
    assert steadiness(topology(name, 3, 1e6, size=size) for name in ("star", "ring") for size in (8, 16, 32)) == []
    assert steadiness(topology(name, 8, 1e6, size=size) for name in ("star", "ring") for size in (8, 16)) == []
    assert steadiness([]) == []


def test_of_several_hosts_each_has_one_rank_and_then_all_their_slots(benchmarks: Mapping[str, Benchmark]) -> None:
    cases = planned("network.nettest", benchmarks, where(hosts=tuple(Host(f"n{i}", 4) for i in range(6))))
    starts = {(c.parameters["ranks"], c.parameters.get("ranks_per_node")) for c in cases}
    assert starts == {(2, 1), (4, 1), (6, 1), (24, None)}


@pytest.mark.parametrize("name", ["network.nettest", "network.collectives"])
def test_what_does_not_fit_into_memory_is_not_planned(name: str, benchmarks: Mapping[str, Benchmark]) -> None:
    little = machine(cores=64, memory=1 << 30, memory_available=1 << 30)
    cases = [c for c in planned(name, benchmarks, little, ranks=64) if "message_bytes" in c.parameters]
    assert len(cases) < len(planned(name, benchmarks, machine(cores=64, memory_available=1 << 40), ranks=64))
    for case in cases:
        many = {"nettest": 63} | dict.fromkeys(collectives.MANY_BLOCKS, 64)
        blocks = many.get(case.kernel.removeprefix("i"), 1)
        assert 64 * 2 * blocks * int(case.parameters["message_bytes"]) <= little.memory_available / 4, case


# --------------------------------------------------------------------------- bisection


def exchange(
    kernel: str = "round_trip", hosts: str = "aabb", pairs: int = 2, seconds: float = 1e-3, **more: Any
) -> Result:
    parameters: dict[str, Scalar] = {"ranks": len(hosts), "pairs": pairs, "matching": "halves", "message_bytes": 1000}
    parameters |= more.pop("parameters", {})
    work = {"messages": 2.0 * pairs, "bytes": 2000.0 * pairs}
    return result("network.bisection", kernel, parameters, seconds, work, surroundings=on(*hosts, **more), spread=0)


def test_the_rate_is_mpptests_formula() -> None:
    record = exchange(pairs=8, hosts="a" * 8 + "b" * 8).records[0]
    assert bisection.rate(1e-3, record) == pytest.approx(16 * 1000 / 1e-3)  # P · length / time of a round trip
    assert bisection.message_rate(1e-3, record) == pytest.approx(16 / 1e-3)
    assert bisection.time(1e-3, record) == pytest.approx(0.5e-3)


def test_the_rate_of_rank_0_does_not_see_a_slow_pair_elsewhere() -> None:
    record = exchange(ranks={"seconds": [[1e-2, 3e-2, 1e-2], [4e-2] * 3, [1e-2] * 3, [4e-2] * 3]}).records[0]
    record = replace(record, operations=10)
    assert bisection.rank0_rate(4e-3, record) == pytest.approx(4000 / 1e-3)
    assert bisection.rate(4e-3, record) == pytest.approx(4000 / 4e-3)


def test_without_rank_0_its_rate_is_not_defined() -> None:
    assert bisection.rank0_rate(1e-3, exchange(ranks={"seconds": [[], [1.0]]}).records[0]) is None


@pytest.mark.parametrize(
    ("kernel", "hosts", "pairs", "links"),
    [
        ("round_trip", "aabb", 1, 1),  # one message in flight
        ("head_to_head", "aabb", 1, 2),
        ("round_trip", "aabb", 2, 2),  # both ways of one link
        ("round_trip", "aaaabbbb", 4, 2),
        ("round_trip", "abcd", 2, 2),
        ("head_to_head", "abcd", 2, 4),
        ("round_trip", "abab", 2, None),  # cyclic: no pair leaves its host
    ],
)
def test_the_links_limit_the_rate_where_all_pairs_use_them(
    kernel: str, hosts: str, pairs: int, links: int | None
) -> None:
    cluster = machine(limits={"network_bandwidth": FAST_ETHERNET})
    found = bisection.limit("rate", exchange(kernel, hosts, pairs), cluster)
    assert (found and found.value) == (links and links * FAST_ETHERNET.value)
    assert bisection.limit("rate", exchange(kernel, hosts, pairs), machine()) is None


def test_a_random_matching_is_limited_by_the_pairs_that_met() -> None:
    cluster = machine(limits={"network_bandwidth": FAST_ETHERNET})
    chance = {"matching": 7}
    apart = exchange(hosts="abab", details={"pairs": [[0, 1], [2, 3]]}, parameters=chance)
    within = exchange(hosts="abab", details={"pairs": [[0, 2], [1, 3]]}, parameters=chance)
    found = bisection.limit("rate", apart, cluster)
    assert found.value == 25e6
    assert bisection.limit("rate", within, cluster) is None


def test_the_effective_bisection_bandwidth_is_the_mean_over_the_random_matchings() -> None:
    def matching(name: Scalar, rate: float) -> Result:
        return replace(exchange(parameters={"matching": name}), metrics={"rate": bandwidth(rate)})

    found = (matching("halves", 9e9), matching(1, 1e9), matching(2, 2e9), matching(3, 6e9))
    assert bisection.summarise_matchings(found) == {1000: (3e9, 1e9, 6e9)}
    assert "bisection-effective" in {f.name for f in bisection.figures(found, machine())}
    assert "bisection-effective" not in {f.name for f in bisection.figures(found[:1], machine())}


def test_the_pairs_double_up_to_half_of_the_ranks(benchmarks: Mapping[str, Benchmark]) -> None:
    def pairs(**settings: Scalar) -> set[Scalar]:
        return {c.parameters["pairs"] for c in planned("network.bisection", benchmarks, machine(cores=12), **settings)}

    assert pairs() == {1, 2, 4, 6}
    assert pairs(ranks=4) == {1, 2}


def test_chance_pairs_the_nodes_only_where_there_are_more_than_two(benchmarks: Mapping[str, Benchmark]) -> None:
    def matchings(count: int) -> set[Scalar]:
        cluster = where(hosts=tuple(Host(f"n{i}", 4) for i in range(count)))
        return {c.parameters["matching"] for c in planned("network.bisection", benchmarks, cluster)}

    assert matchings(2) == {"halves"}
    assert matchings(5) == {"halves", 1, 2, 3, 4, 5}


# --------------------------------------------------------------------------- operations


def operation(kernel: str, seconds: float, **parameters: Scalar) -> Result:
    told = {"time": Value(seconds, "s", None, None, "lower")}
    return result("network.operations", kernel, {"ranks": 2, **parameters}, seconds, {"operations": 1}, metrics=told)


def test_what_an_operation_adds_is_the_time_without_the_barriers() -> None:
    found = [operation("barrier", 2e-6), operation("wtime", 2e-8), operation("bcast", 5e-6, integers=10)]
    found.append(operation("send_recv", 1.9e-6, integers=1))
    added = operations.subtract_barrier(found)
    assert added == {("bcast", 10): pytest.approx(3e-6), ("send_recv", 1): None}
    assert operations.subtract_barrier(found[1:]) == {}


def test_the_bars_tell_fast_operations_from_slow_ones() -> None:
    found = (operation("barrier", 2e-6), operation("bcast", 5e-6, integers=10), operation("wtime", 2e-8))
    found += (operation("latency", 1e-6), operation("send_recv", 3e-6, integers=10))
    both, difference = operations.figures(found, machine())
    assert both.series[0].x == (
        "wtime (fast)", "barrier (fast)", "latency (fast)", "send_recv (slow)", "bcast (slow)",
    )  # fmt: skip
    assert [(s.name, s.y) for s in both.series] == [
        ("no data", (2e-8, 2e-6, 1e-6, None, None)),
        ("10 integers", (None, None, None, 3e-6, 5e-6)),
    ]
    assert [(m.at, m.label) for m in both.marks] == [(2e-6, "synchronisation alone")]
    assert difference.series[0].y == (pytest.approx(1e-6), pytest.approx(3e-6))


def test_the_classes_of_operations_are_those_of_mpitest() -> None:
    assert operations.FAST == ("wtime", "barrier", "latency")
    assert {"reduce", "send_recv", "bcast"} < set(operations.SLOW)
    record = operation("latency", 2e-6).records[0]
    assert operations.time(2e-6, replace(record, work={"operations": 2.0})) == 1e-6  # S = T / 2N


# --------------------------------------------------------------------------- collectives


def nonblocking(details: dict[str, float] | None, kernel: str = "ibcast") -> Result:
    seen = {"details": details} if details else None
    return result(
        "network.collectives", kernel, {"ranks": 2, "message_bytes": 8}, 1e-6, {"bytes": 8}, surroundings=seen
    )


def test_no_overlap_is_a_share_of_zero_and_not_undefined() -> None:
    none = nonblocking({"imb": 0.0, "osu": 0.25, "together": 2e-6})
    assert collectives.overlap(none, "imb") == 0
    assert collectives.overlap(none, "osu") == 0.25
    assert collectives.time_together(1e-6, none.records[0]) == 2e-6
    figures = {f.name: f for f in collectives.figures((none,), machine())}
    assert figures["collectives-overlap-imb"].series[0].y == (0,)


def test_a_blocking_operation_has_no_overlap() -> None:
    assert collectives.overlap(nonblocking(None, "bcast"), "imb") is None
    assert collectives.time_together(1e-6, nonblocking(None, "bcast").records[0]) is None


def test_the_map_has_a_row_for_each_number_of_ranks_and_a_figure_for_each_mpi() -> None:
    def measured(ranks: int, size: int, mpi_name: str) -> Result:
        told = {"time": Value(ranks * size * 1e-9, "s", None, None, "lower")}
        parameters: dict[str, Scalar] = {"ranks": ranks, "message_bytes": size, "mpi": mpi_name}
        return result("network.collectives", "allreduce", parameters, 1e-6, {"bytes": 1}, metrics=told)

    found = tuple(measured(p, n, m) for p in (2, 4) for n in (8, 64) for m in ("one", "two"))
    figures = {f.name: f for f in collectives.figures(found, machine())}
    figure = figures["collectives-allreduce-1"]
    assert (figure.rows, figure.columns) == ((2, 4), (8, 64))
    assert figure.z[1] == (pytest.approx(32e-9), pytest.approx(256e-9))
    assert "one" in figure.title
    assert "two" in figures["collectives-allreduce-2"].title


# --------------------------------------------------------------------------- for real, with five ranks


@pytest.fixture(scope="module")
def ask(here: Machine, benchmarks: dict[str, Benchmark]) -> Iterator[Ask]:
    """Asks the named benchmark's program, started once with five ranks."""
    tool = mpi("default", here)
    running: dict[str, Program] = {}

    def asked(name: str, words: str) -> dict[str, Any]:
        if name not in running:
            built = build.build([benchmarks[name]], build.resolve(build.default(here), here), tool)[name]
            launch = Launch(1, name, "any", 1, (Case(name, "any", {"ranks": RANKS, "mpi": "any"}),))
            running[name] = Program(*start(Site({"any": tool}), here, launch, built), RANKS)
        return running[name].ask(f"case=0 ranks={RANKS} seconds=0.002 sample_seconds=2e-5 least=3 most=5 {words}", 60)

    yield asked
    for program in running.values():
        program.close()


@pytest.mark.parametrize(("direction", "outstanding"), [("one-way", 4), ("two-way", 256)])
@pytest.mark.parametrize(("name", "channels"), [("star", 4), ("ring", 5), ("chaos", 10)])
def test_every_channel_carries_a_message_each_way(
    ask: Ask, name: str, channels: int, direction: str, outstanding: int
) -> None:
    words = f"kernel=nettest topology={name} direction={direction} outstanding={outstanding} message_bytes=70000"
    answer = ask("network.nettest", words)
    assert answer["check"]["passed"], answer
    assert answer["work"] == {"messages": 2 * channels, "bytes": 2 * channels * 70000}


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_random_matching_pairs_no_rank_twice(ask: Ask, seed: int) -> None:
    answer = ask("network.bisection", f"kernel=round_trip matching={seed} message_bytes=100")
    assert answer["check"]["passed"], answer
    met = [rank for pair in answer["surroundings"]["details"]["pairs"] for rank in pair]
    assert len(met) == len(set(met)) == RANKS - 1
    assert [len(s) > 0 for s in answer["surroundings"]["ranks"]["seconds"]] == [r in met for r in range(RANKS)]
    again = ask("network.bisection", f"kernel=head_to_head matching={seed} message_bytes=8")
    assert again["surroundings"]["details"] == answer["surroundings"]["details"]


@pytest.mark.long
def test_the_halves_leave_out_the_last_of_an_odd_number(ask: Ask) -> None:
    answer = ask("network.bisection", "kernel=round_trip_nonblocking message_bytes=3000 buffers=fresh")
    assert answer["check"]["passed"], answer
    assert "from rank 2 " in answer["check"]["detail"]
    assert [len(s) > 0 for s in answer["surroundings"]["ranks"]["seconds"]] == [True] * 4 + [False]


@pytest.mark.long
@pytest.mark.parametrize("kernel", [*operations.FAST, *operations.SLOW])
def test_every_basic_operation_is_right_among_five(ask: Ask, kernel: str) -> None:
    answer = ask("network.operations", f"kernel={kernel}" + ("" if kernel in operations.ALONE else " integers=10"))
    assert answer["check"]["passed"], answer


@pytest.mark.parametrize("kernel", ["barrier", *collectives.ROOTED, *collectives.UNROOTED])
def test_every_collective_is_right_among_five_both_ways(ask: Ask, kernel: str) -> None:
    words = "" if kernel == "barrier" else " message_bytes=1004"
    for name in (kernel, f"i{kernel}"):
        answer = ask("network.collectives", f"kernel={name}{words}")
        assert answer["check"]["passed"], answer
        assert answer["declared"]["start"] == "clock"


@pytest.mark.long
@pytest.mark.parametrize(
    ("intervals", "strip", "strips", "of_first"),
    [(1000007, 1000, 1001, 201), (602, 1 << 20, 6, 2), (5000, 1, 5000, 1000)],
)
def test_a_task_is_distributed_and_each_strip_comes_back(
    ask: Ask, intervals: int, strip: int, strips: int, of_first: int
) -> None:
    answer = ask("cluster.flops", f"kernel=task intervals={intervals} strip={strip}")
    assert answer["check"]["passed"], answer
    assert answer["work"] == {"flops": 14 * intervals, "bytes": 0}
    parts = answer["surroundings"]["details"]
    assert min(parts["computing"], parts["communication"]) > 0
    # One number there and one back for each strip of another rank, and the seconds of each other rank.
    assert parts["bytes"] == 8 * (2 * (strips - of_first) + RANKS - 1)


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["flops", "task"])
def test_known_work_that_lost_one_pass_is_found(ask: Ask, kernel: str) -> None:
    words = f"kernel={kernel} intervals=1000007" + (" strip=1000" if kernel == "task" else "")
    answer = ask("cluster.flops", f"{words} plant=wrong")
    assert not answer["check"]["passed"], answer


def test_the_overlap_follows_from_its_parts_by_both_formulas(ask: Ask) -> None:
    told = ask("network.collectives", "kernel=iallreduce message_bytes=65536 tests=3")["surroundings"]["details"]
    pure, compute, together, net = (told[name] for name in ("pure", "compute", "together", "net"))
    assert min(pure, compute, together, net) > 0
    assert told["imb"] == pytest.approx(max(0, min(1, (pure + compute - together) / max(pure, compute))))
    assert told["osu"] == pytest.approx(max(0, 1 - (together - net) / pure))


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("network.nettest", "kernel=nettest outstanding=3", "outstanding='3'"),
        ("network.nettest", "kernel=nettest topology=tree", "star, ring, chaos"),
        pytest.param("network.bisection", "kernel=round_trip pairs=3", "pairs='3'", marks=pytest.mark.long),
        pytest.param(
            "network.bisection", "kernel=round_trip matching=thirds", "matching='thirds'", marks=pytest.mark.long
        ),
        ("network.collectives", "kernel=allreduce message_bytes=7", "message_bytes='7'"),
        ("network.collectives", "kernel=allreduce root=fixed message_bytes=8", "root"),
        ("network.collectives", "kernel=gatherv message_bytes=1000000000", "MPI's int"),
        pytest.param("cluster.flops", "kernel=task intervals=400", "intervals='400'", marks=pytest.mark.long),
        pytest.param("cluster.flops", "kernel=task intervals=1000000000 strip=1", "strip='1'", marks=pytest.mark.long),
    ],
)
def test_what_cannot_be_is_refused_with_its_value(ask: Ask, name: str, words: str, told: str) -> None:
    assert told in ask(name, words)["error"]
