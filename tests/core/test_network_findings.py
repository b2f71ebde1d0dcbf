"""The rules on the network: where each must speak, where it must be silent, what it says, and odd data."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from builders import evaluation, machine, measured, message, result, seen, verdict_of
from steelyard.judge import findings
from steelyard.judge.findings.network import _nodes, _peer_groups
from steelyard.judge.findings.remedies import describe
from steelyard.measure import plan
from steelyard.measure.benchmarks.network.pairs_tolerance import tolerance_figure
from steelyard.measure.plan import catalogue
from steelyard.model import (
    Cluster,
    Enclosure,
    Evaluation,
    Finding,
    Host,
    Level,
    Limit,
    Machine,
    Record,
    Result,
    Scalar,
    Setting,
    Switch,
    Value,
)
from steelyard.show.report.pages import machine as machine_page
from steelyard.statistics.difference.matrix import rounds
from steelyard.statistics.results import messages, node_table

KIB, MIB = 1 << 10, 1 << 20
FOUR = ("a", "b", "c", "d")
LINK = {"network_bandwidth": Limit(1e9, "B/s", "the system file")}


def found(rule: str, seen: Evaluation) -> list[Finding]:
    return findings.load_rule(rule).find(seen)


# --------------------------------------------------------------------------- what was measured


def curve(rate: Callable[[int], float], **changed: Any) -> list[Result]:
    """Ping-pongs from 1 KiB to 4 MiB, each of so many bytes a second at its size."""
    sizes = [KIB << k for k in range(13)]
    return [message(size / rate(size), size, **changed) for size in sizes]


def cached(factor: float, **changed: Any) -> list[Result]:
    """Reused buffers that are faster than fresh ones by `factor` where two of them fit into the L2 of 1 MiB."""
    reused = curve(lambda size: 4e9 * (factor if 2 * size < MIB else 1), **changed)
    return [*reused, *curve(lambda size: 4e9, buffers="fresh", **changed)]


def switching(at: int, question: float, **changed: Any) -> list[Result]:
    """A message of n bytes takes 1 µs + n / (4 GB/s), from `at` bytes on `question` seconds more."""
    sizes = [16 << k for k in range(20)]
    return [message(1e-6 + n / 4e9 + question * (n >= at), n, **changed) for n in sizes]


def both_ways(gain: float, **changed: Any) -> list[Result]:
    """Two-way exchanges that reach `gain` times the bandwidth of one way, at four sizes."""
    name: dict[str, Any] = {"benchmark": "network.transfer", "kernel": "transfer", "partner": 1, **changed}
    sizes = [64 * KIB << 2 * k for k in range(4)]
    one = [message(n / 1e9, n, direction="one-way", **name) for n in sizes]
    return [*one, *(message(n / 1e9 / gain, n, direction="two-way", **name) for n in sizes)]


def nettest(star: float, ring: float, chaos: float, ranks: int = 8, **changed: Any) -> list[Result]:
    """The three topologies with 1 MiB, so many bytes a second together, and a ping-pong of 1 GB/s between two hosts."""
    hosts = [f"n{i}" for i in range(ranks)]
    name: dict[str, Any] = {
        "benchmark": "network.nettest",
        "kernel": "nettest",
        "ranks": ranks,
        "hosts": hosts,
        **changed,
    }
    rates = {"star": star, "ring": ring, "chaos": chaos}
    told = [message(MIB / rate, MIB, topology=t, direction="two-way", **name) for t, rate in rates.items()]
    told = [
        replace(r, metrics={"throughput": Value(rate, "B/s", rate, rate, "higher")})
        for r, rate in zip(told, rates.values(), strict=True)
    ]
    return [*told, message(MIB / 1e9, MIB, placement="other node", hosts=("n0", "n1"))]


def all_pairs(
    slow: Mapping[int, float] | None = None,
    links: Mapping[tuple[int, int], float] | None = None,
    hosts: Sequence[str] = FOUR,
    size: int = MIB,
    launches: int = 4,
    spread: float = 0.003,
    seed: int = 7,
    **changed: Any,
) -> list[Result]:
    """A tournament of `hosts`: a pair's time is 1 ms times the factors of its `slow` ranks and of its link."""
    chance, count = random.Random(seed + size), len(hosts)
    told = []
    for number, pairs in enumerate(rounds(count)):
        name: dict[str, Any] = {"benchmark": "network.transfer", "kernel": "pairs", "round": number, "together": "yes"}
        one = message(1e-3, size, hosts=hosts, ranks=count, launches=launches, **{**name, **changed})
        records = []
        for record in one.records:
            seconds: list[list[float]] = [[] for _ in hosts]
            for a, b in pairs:
                factor = (slow or {}).get(a, 1) * (slow or {}).get(b, 1) * (links or {}).get((a, b), 1)
                # Shared by the samples of a launch, as what differs between launches is.
                whole = 2e-3 * factor * (1 + chance.gauss(0, spread))
                seconds[a] = seconds[b] = [whole] * len(record.samples)
            records.append(with_ranks(record, seconds=seconds))
        told.append(measured(one, records=tuple(records)))
    return told


def with_ranks(record: Record, **changed: Any) -> Record:
    """The record with other facts of its ranks."""
    return replace(
        record, surroundings=seen(record.surroundings, ranks={**record.surroundings.ranks.given(), **changed})
    )


def streams(factors: Sequence[float], hosts: Sequence[str], launches: int = 3, **changed: Any) -> list[Result]:
    """cluster.stream on ranks that take 10 ms times their factor, each a little by chance."""
    chance = random.Random(3)
    name: dict[str, Any] = {"benchmark": "cluster.stream", "kernel": "triad", "hosts": hosts, "ranks": len(hosts)}
    cpus = [hosts[:r].count(host) for r, host in enumerate(hosts)]
    one = message(5e-3, 0, launches=launches, **{**name, "cpus": cpus, **changed})
    one = replace(one, parameters={k: v for k, v in one.parameters.items() if k != "message_bytes"})
    records = [
        with_ranks(r, seconds=[[1e-2 * f * (1 + chance.gauss(0, 0.002)) for _ in r.samples] for f in factors])
        for r in one.records
    ]
    return [measured(one, records=tuple(records))]


def quanta(detour: float, period: float | None = 4e-3, level: Any = "CLEAN", wall: float = 1.0) -> Result:
    """10 000 quanta of 100 µs on two threads; each `period` one takes `detour` seconds longer. `wall`: of the samples."""
    chance = random.Random(5)
    threads = []
    for _ in range(2):
        over, starts, now = [], [], 0.0
        following = 0.3e-3
        for number in range(10_000):
            if number % 100 == 0:
                starts.append(round(now * 1e9))
            seconds = 1e-4 + 2e-8 * chance.random()
            if period and now + seconds >= following:
                seconds += detour
                following += period
            over.append(round((seconds - 1e-4) * 1e9))
            now += seconds
        threads.append({"base": 100_000, "over": over, "starts": starts, "lengths": [100] * 100})
    details = {"unit": 1e-9, "additions": 300_000, "threads": threads}
    parameters: dict[str, Scalar] = {"threads": 2, "pinning": "compact", "quantum": 1e-4, "quanta": 100}
    work = {"quanta": 200.0}
    around = {"details": details}
    return result(
        "noise.quanta", "fixed_work", parameters, 1e-2 * wall, work, level=level, surroundings=around, launches=1
    )


def two_mpis(factor: float, **changed: Any) -> Evaluation:
    other = [message(factor * 1e-6, n, mpi="mpich-5.0.2", **changed) for n in (8, KIB, MIB)]
    return evaluation([*(message(1e-6, n, **changed) for n in (8, KIB, MIB)), *other])


def transports(usual: float, without: float) -> Evaluation:
    """Small ping-pongs within a machine, with shared memory and without."""
    told = [message(usual, n) for n in (0, 8)]
    return evaluation([*told, *(message(without, n, transport="no shared memory") for n in (0, 8))])


def crowded(seconds: float, **changed: Any) -> Result:
    """Four ranks on two processors."""
    name: dict[str, Any] = {"ranks": 4, "crowded": True, "hosts": ("bench",) * 4, "cpus": (0, 1, 0, 1)}
    return message(seconds, **{**name, **changed})


def waiting(one: Result, share: float) -> Result:
    """Ranks waited for a processor for that share of each sample."""
    samples = {"seconds": [1.0, 1.0], "waited": [share, share]}
    records = tuple(replace(r, surroundings=seen(r.surroundings, samples=samples)) for r in one.records)
    return measured(one, records=records)


def partners(*latencies: float) -> list[Result]:
    """Empty messages from rank 0 to each other."""
    name: dict[str, Any] = {"benchmark": "network.transfer", "kernel": "transfer", "direction": "one-way"}
    return [message(t, 0, partner=i, ranks=4, **name) for i, t in enumerate(latencies, 1)]


def topologies(wobble: Mapping[str, float], ranks: int = 8) -> list[Result]:
    """Throughputs of topologies that alternate by their wobble from size to size."""
    name: dict[str, Any] = {"benchmark": "network.nettest", "kernel": "nettest", "ranks": ranks, "direction": "two-way"}
    found = []
    for topology, share in wobble.items():
        for i, size in enumerate((KIB, 4 * KIB, 16 * KIB, 64 * KIB)):
            rate = Value(1e9 * (1 + share * (-1) ** i), "B/s", None, None, "higher")
            found.append(replace(message(1e-5, size, topology=topology, **name), metrics={"throughput": rate}))
    return found


def pairs_at_once(efficiency: float, benchmark: str = "network.bisection", **changed: Any) -> list[Result]:
    """1, 2 and 4 pairs whose rate grows with `efficiency`: 1 is n times that of one; at three sizes."""
    kernel = {"network.bisection": "round_trip", "network.rate": "one_way"}[benchmark]
    found = []
    for size in (8, 16 * KIB, MIB):
        for pairs in (1, 2, 4):
            gain = 1 + (pairs - 1) * efficiency
            name: dict[str, Any] = {"benchmark": benchmark, "kernel": kernel, "ranks": 8, "pairs": pairs, **changed}
            one = message(1e-5 / gain, size, hosts=("a",) * 4 + ("b",) * 4, **name)
            found.append(one)
    return found


SPEAKS: dict[str, Callable[[], Evaluation]] = {
    "message_cache": lambda: evaluation(cached(3.0)),
    "protocol_switch": lambda: evaluation(switching(8 * KIB, 4e-6)),
    "partners_spread": lambda: evaluation(partners(1e-6, 1.4e-6)),
    "steadiest": lambda: evaluation(topologies({"star": 0.3, "ring": 0.02})),
    "network_tolerance": lambda: evaluation(pairs_at_once(0.2)),
    "slow_node": lambda: evaluation(all_pairs({2: 3.0})),
    "star_master": lambda: evaluation(nettest(1.9e9, 7e9, 6e9)),
    "two_way": lambda: evaluation(both_ways(1.1, hosts=("a", "b"))),
    "noise": lambda: evaluation([quanta(4e-4)]),
    "ranks_oversubscribed": lambda: evaluation([crowded(1e-3), message(1e-6)]),
    "busy_waiting": lambda: evaluation([crowded(3e-3), message(1e-6)]),
    "slow_transport": lambda: transports(5e-6, 5.1e-6),
    "common_clock": lambda: evaluation([message(1e-6, clock=(3e-6, 1e-6, None))]),
    "colocated": lambda: evaluation([message(1e-6, hosts=("a", "b"), colocated=True)]),
    "mpi_compared": lambda: two_mpis(1.5),
}

SILENT: dict[str, Callable[[], Evaluation]] = {
    # A pair over TCP: both kinds of buffers are as fast.
    "message_cache": lambda: evaluation(cached(1.0)),
    "protocol_switch": lambda: evaluation(switching(8 * KIB, 0.0)),
    "partners_spread": lambda: evaluation(partners(1e-6)),
    "steadiest": lambda: evaluation(topologies({"star": 0.3, "ring": 0.02}, ranks=2)),
    "network_tolerance": lambda: evaluation(pairs_at_once(0.2)[:1]),
    "slow_node": lambda: evaluation([message(1e-6), *all_pairs({1: 3.0}, hosts=("a", "b"))]),
    "star_master": lambda: evaluation(nettest(1.9e9, 2.0e9, 2.1e9)),
    "two_way": lambda: evaluation([r for r in both_ways(1.1) if r.parameters["direction"] == "one-way"]),
    "noise": lambda: evaluation([message(1e-6)]),
    "ranks_oversubscribed": lambda: evaluation([message(1e-6)]),
    "busy_waiting": lambda: evaluation([crowded(3e-6), message(1e-6)]),
    "slow_transport": lambda: evaluation([message(1e-6)]),
    "common_clock": lambda: evaluation([result("memory.stream", "triad", {"threads": 2}, 1e-3, {"bytes": 1.0})]),
    "colocated": lambda: evaluation([message(1e-6, hosts=("a", "b"))]),
    "mpi_compared": lambda: evaluation([message(1e-6), message(2e-6, 64, mpi="mpich-5.0.2")]),
}

# Where the news is good, the finding says so, and asks for nothing.
GOOD: dict[str, Callable[[], Evaluation]] = {
    "partners_spread": lambda: evaluation(partners(1e-6, 1.05e-6)),
    "steadiest": lambda: evaluation(topologies({"star": 0.3, "ring": 0.02})),
    "network_tolerance": lambda: evaluation(pairs_at_once(1.0)),
    "slow_node": lambda: evaluation(all_pairs()),
    "two_way": lambda: evaluation(both_ways(1.9)),
    "noise": lambda: evaluation([quanta(2e-6)]),
    "slow_transport": lambda: transports(4e-7, 5e-6),
    "common_clock": lambda: evaluation([message(1e-6)]),
    "mpi_compared": lambda: two_mpis(1.0),
}


def only(rule: str, seen: Evaluation) -> Finding:
    told = found(rule, seen)
    assert len(told) == 1, [f.seen for f in told]
    return told[0]


# --------------------------------------------------------------------------- what the sentences say


def test_the_artefact_names_its_cache_and_what_an_application_gets() -> None:
    told = only("message_cache", evaluation(cached(3.0)))
    assert "messages of 1 KiB to 256 KiB appear up to 3.0 times faster" in told.seen
    assert "an application gets 4.00 GB/s" in told.seen
    assert "not 12.0 GB/s" in told.seen
    assert any("the 2 buffers of a rank stay in the cache of its core (1 MiB)" in line for line in told.evidence)
    # Exchange has two buffers each way: its messages outgrow the same cache at half the size.
    four = [r for kernel in ("exchange",) for r in cached(3.0, benchmark="network.sendrecv", kernel=kernel)]
    last = only("message_cache", evaluation(four))
    assert any("1 KiB to 128 KiB: the 4 buffers" in line for line in last.evidence)
    assert any("256 KiB: the 4 buffers of a rank do not fit the cache of its core" in line for line in last.evidence)


def test_the_artefact_is_told_by_placement_and_mpi_with_the_greatest_first() -> None:
    both = [*cached(2.0), *cached(3.0, placement="other socket", mpi="mpich-5.0.2")]
    told = only("message_cache", evaluation(both))
    assert "other socket, mpich-5.0.2" in told.seen
    assert any("same cache, openmpi-4.1.4" in line for line in told.evidence)


def test_the_artefact_is_no_matter_of_other_transports_or_of_crowded_ranks() -> None:
    assert found("message_cache", evaluation(cached(3.0, transport="no shared memory"))) == []
    assert found("message_cache", evaluation(cached(3.0, crowded=True))) == []


def test_a_switch_of_protocol_tells_the_sizes_the_factor_and_both_lines() -> None:
    told = only("protocol_switch", evaluation(switching(8 * KIB, 4e-6)))
    assert "A message of 8 KiB takes 2.3 times as long" in told.seen
    assert "above 4 KiB" in told.seen
    assert "16 B to 4 KiB: 1.00 µs + n / (4.00 GB/s)" in told.evidence[1]
    assert "8 KiB to 8 MiB: 5.00 µs + n / (4.00 GB/s)" in told.evidence[1]


def test_reused_buffers_that_exceed_a_cache_are_no_protocol_switch() -> None:
    outgrowing = switching(512 * KIB, 4e-4)  # two of them are as large as the L2 of the machine
    assert found("protocol_switch", evaluation(outgrowing)) == []
    fresh = switching(512 * KIB, 4e-4, buffers="fresh")
    assert "fresh buffers" in only("protocol_switch", evaluation([*outgrowing, *fresh])).seen


def test_the_kind_of_buffers_that_shows_a_switch_more_clearly_is_told() -> None:
    told = only("protocol_switch", evaluation([*switching(8 * KIB, 2e-6, buffers="fresh"), *switching(8 * KIB, 6e-6)]))
    assert "reused buffers" in told.seen
    assert not any("fresh" in line for line in told.evidence)


def test_a_switch_is_judged_by_sendrecv_and_transfer_too() -> None:
    send = switching(8 * KIB, 4e-6, benchmark="network.sendrecv", kernel="sendrecv", buffers="fresh")
    moved = switching(8 * KIB, 4e-6, benchmark="network.transfer", kernel="transfer", direction="one-way", partner=1)
    told = only("protocol_switch", evaluation(send))
    assert told.benchmark == "network.sendrecv"
    assert "(Sendrecv, same cache, openmpi-4.1.4, fresh buffers)" in told.seen
    told = only("protocol_switch", evaluation([*moved, *send, *switching(8 * KIB, 3e-6)]))
    assert told.benchmark == "network.pingpong"
    assert any(line.startswith("transfer, same cache, openmpi-4.1.4, one-way, with rank 1") for line in told.evidence)
    told = only("protocol_switch", evaluation([*send, *switching(8 * KIB, 0.0)]))
    assert {"Sendrecv: 1 of 1 curves show a switch.", "ping-pong: none of 1 curves show a switch."} <= set(
        told.evidence
    )


def test_more_pairs_judge_the_network_with_small_and_large_messages() -> None:
    good = only("network_tolerance", evaluation(pairs_at_once(1.0)))
    assert good.seen == (
        "More pairs of ranks hide the latency of the network (bisection bandwidth; 8 B, 4 pairs: 4.00 times one pair; 1 MiB, "
        "4 pairs: 4.00 times one pair)."
    )
    assert len(good.evidence) == 6
    poor = only("network_tolerance", evaluation(pairs_at_once(0.02, "network.rate")))
    assert poor.level == "notice"
    assert poor.seen.startswith("More pairs of ranks hardly hide the latency of the network (message rate; 8 B")
    assert "1.3 times" not in poor.seen
    crowded_ = pairs_at_once(1.0, crowded=True)
    assert found("network_tolerance", evaluation(crowded_)) == []


def test_the_tolerance_of_the_network_is_drawn_beside_the_ideal() -> None:
    (figure,) = tolerance_figure(pairs_at_once(0.5), "network.bisection")
    assert [line.name for line in figure.series] == ["8 B", "16 KiB", "1 MiB", "ideal"]
    assert figure.series[0].x == (1.0, 2.0, 4.0)
    assert figure.series[0].y == (1.0, pytest.approx(1.5, rel=0.01), pytest.approx(2.5, rel=0.01))
    assert figure.series[-1].y == (1.0, 4.0)
    assert tolerance_figure(pairs_at_once(0.5)[:1], "network.bisection") == ()


def test_every_placement_is_measured_without_shared_memory() -> None:
    here = machine(nodes=2, cores=8)
    for name in ("network.pingpong", "network.sendrecv"):
        made = plan.make({name: catalogue.find()[name]}, here, plan.EFFORTS["quick"], {}, ["gcc"], mpis=["any"])
        cases_ = [c for launch in made.launches for c in launch.cases if c.parameters["ranks"] == 2]
        placed = {
            way: {c.parameters["placement"] for c in cases_ if c.parameters["transport"] == way}
            for way in ("default", "no shared memory")
        }
        assert placed["default"] == placed["no shared memory"] == {"same cache", "other socket"}


def test_a_slow_node_is_named_with_host_rank_size_and_factor() -> None:
    results = [*all_pairs({2: 3.0}), *all_pairs(size=8)]
    told = only("slow_node", evaluation(results))
    assert told.level == "serious"
    assert "Node c (rank 2) is slow: it takes 3.0 times as long as its peers with messages of 1 MiB" in told.seen
    assert any("does not differ from its peers in: all pairs, 8 B" in line for line in told.evidence)


@pytest.mark.parametrize(
    ("kinds", "level", "cause"),
    [
        ("AAAB", "notice", "It has another processor (B) than most hosts (A)."),
        ("AAAA", "serious", "The cause is in this node alone"),
        ("", "serious", "The cause is in this node alone"),
    ],
)
def test_a_node_with_a_slower_kind_of_processor_is_not_to_be_repaired(kinds: str, level: str, cause: str) -> None:
    hosts = tuple(Host(f"{name}.cluster", 1, kind) for name, kind in zip(FOUR, kinds or [""] * 4, strict=True))
    (told,) = found("slow_node", evaluation(all_pairs({3: 1.5}), machine(hosts=hosts)))
    assert told.seen.startswith("Node d (rank 3) is slow: it takes 1.5")
    assert (told.level, told.cause.startswith(cause)) == (level, True)
    assert ("repaired" in str(told.remedy)) == (level == "serious")


def test_a_slow_link_is_named_by_both_its_ends() -> None:
    told = only("slow_node", evaluation(all_pairs(links={(1, 3): 2.0}, hosts=("a", "b", "c", "d", "e", "f"))))
    assert told.level == "serious"
    assert "The link between b (rank 1) and d (rank 3) is slow: it takes 2.0 times" in told.seen


SIXTEEN = tuple(f"n{number}" for number in range(1, 17))


def with_switches() -> Machine:
    """A machine whose system file names four leaf switches of four nodes each."""
    racks = tuple(Enclosure("rack", SIXTEEN[first : first + 4]) for first in range(0, 16, 4))
    return machine(enclosures=racks, cluster=Cluster(switches=(Switch(name="leaf switch", each="rack"),)))


def of_switch(number: int, factor: float, *, within: bool) -> dict[tuple[int, int], float]:
    """The factor of each pair that leaves one of the switches, and `within` it, too."""
    return {
        (a, b): factor
        for a, b in combinations(range(16), 2)
        if number in (a // 4, b // 4) and (within or a // 4 != b // 4)
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("within", [True, False])
def test_a_slow_switch_is_named_and_none_of_its_nodes(number: int, within: bool) -> None:
    told = only(
        "slow_node", evaluation(all_pairs(links=of_switch(number, 1.2, within=within), hosts=SIXTEEN), with_switches())
    )
    first, last = SIXTEEN[4 * number], SIXTEEN[4 * number + 3]
    assert told.seen.startswith(
        f"The leaf switch of {first} to {last} is slow: messages of all its nodes take 1.2 times as long as those of other"
    )
    assert ("within the switch" in str(told.evidence)) is within
    assert (told.level, told.cause.startswith("All its nodes are slow in the same way")) == ("serious", True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("node", range(0, 16, 3))
def test_a_slow_node_is_named_and_not_its_switch(node: int) -> None:
    told = only("slow_node", evaluation(all_pairs({node: 1.2}, hosts=SIXTEEN), with_switches()))
    assert told.seen.startswith(f"Node {SIXTEEN[node]} (rank {node}) is slow: it takes 1.2 times")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("first", "second"), [*combinations(range(4), 2)])
def test_a_slow_connection_of_two_switches_is_named(first: int, second: int) -> None:
    links = {(a, b): 1.3 for a, b in combinations(range(16), 2) if (a // 4, b // 4) == (first, second)}
    told = only("slow_node", evaluation(all_pairs(links=links, hosts=SIXTEEN), with_switches()))
    assert told.seen.startswith(
        f"The connection between the leaf switch of n{4 * first + 1} to n{4 * first + 4} and the leaf switch of n{4 * second + 1}"
    )


def test_without_a_system_file_the_nodes_of_a_slow_switch_are_named() -> None:
    told = found("slow_node", evaluation(all_pairs(links=of_switch(1, 1.2, within=True), hosts=SIXTEEN)))
    assert {"Node n5 (rank 4) is slow", "Node n8 (rank 7) is slow"} <= {t.seen.partition(":")[0] for t in told}


def test_ranks_of_one_host_are_taken_together_as_a_node() -> None:
    hosts = ("a", "a", "b", "b", "c", "c", "d", "d")
    told = only("slow_node", evaluation(all_pairs({4: 2.0, 5: 2.0}, hosts=hosts)))
    assert "Node c (ranks 4 to 5) is slow: it takes 2.0 times" in told.seen
    calm = only("slow_node", evaluation(all_pairs(hosts=hosts)))
    assert calm.seen == "No node and no link among 4 is slower than the others."


def test_ranks_of_one_machine_are_no_nodes_and_no_reason_to_fail() -> None:
    told = only("slow_node", evaluation(all_pairs({2: 1.5}, hosts=("bench",) * 4)))
    assert told.level == "notice"
    assert told.seen.startswith("Rank 2 (processor 2) is slow: it takes 1.5 times")
    assert (
        only("slow_node", evaluation(all_pairs(hosts=("bench",) * 4))).seen
        == "No rank among 4 is slower than the others."
    )


def test_a_node_with_slow_ranks_is_named_once() -> None:
    hosts = ("a", "a", "b", "b", "c", "c", "d", "d")
    told = only("slow_node", evaluation(streams((1, 1, 1, 1, 1, 1, 1.3, 1.3), hosts)))
    assert "Node d (ranks 6 to 7) is slow: it takes 1.3 times" in told.seen
    assert "cluster.stream triad" in told.seen


def test_of_two_nodes_the_slower_one_is_named_but_not_blamed() -> None:
    hosts = ("a", "a", "b", "b")
    told = only("slow_node", evaluation(streams((1, 1, 1.3, 1.3), hosts)))
    assert told.level == "notice"
    assert "Node b (ranks 2 to 3) takes 1.3 times as long as node a (ranks 0 to 1)" in told.seen
    assert "do not show which of them is unusual" in told.seen
    assert "steelyard run --only cluster" in describe(told.remedy)
    assert only("slow_node", evaluation(streams((1, 1, 1.03, 1.03), hosts))).level == "good", "too little to matter"
    assert (
        "do not show"
        not in only("slow_node", evaluation(streams((1, 1, 1, 1, 1.3, 1.3), ("a", "a", "b", "b", "c", "c")))).seen
    )


def test_the_table_of_nodes_has_the_rate_of_each_beside_the_median() -> None:
    hosts = ("a", "a", "b", "b", "c", "c")
    (stream,) = streams((1, 1, 1, 1, 2, 2), hosts)
    records = tuple(replace(r, work={"bytes": 24e6}, operations=1) for r in stream.records)
    (triad,) = node_table.node_columns([measured(stream, records=records)])
    assert (triad.title, triad.unit) == ("Triad", "B/s")
    # Each of six ranks moves 4 MB in 10 ms, those of c in 20 ms.
    assert triad.values == pytest.approx({"a": 8e8, "b": 8e8, "c": 4e8}, rel=0.01)
    shown = machine_page.data(evaluation([measured(stream, records=records)]))
    assert shown.host_columns == ("Triad",)
    assert [row[0] for row in shown.hosts] == ["a", "b", "c"]
    assert shown.hosts[2][1].endswith("(-50 %)")
    assert node_table.node_columns(streams((1, 1), ("a", "a"))) == []


def test_the_table_of_nodes_has_the_memory_of_each_and_its_latency() -> None:
    hosts = ("a", "a", "b", "b", "c", "c")
    (stream,) = streams((1,) * 6, hosts)
    # One rank of each node reads the latency. A module of b is missing.
    told = {"memory": [64e9] * 2 + [48e9] * 2 + [64e9] * 2, "chase": [9e-8, None, 9e-8, None, 1.35e-7, None]}
    made = [measured(stream, records=tuple(with_ranks(r, **told) for r in stream.records))]
    size, latency = node_table.node_columns(made)
    assert (size.title, size.unit, size.values) == ("memory", "B", {"a": 64e9, "b": 48e9, "c": 64e9})
    assert (latency.title, latency.values) == ("memory latency", {"a": 9e-8, "b": 9e-8, "c": 1.35e-7})
    shown = machine_page.data(evaluation(made)).hosts
    assert shown[1][1].endswith("(-25 %)")
    assert shown[2][2] == "135 ns (+50 %)"


def test_one_slow_rank_of_a_good_node_is_named_by_itself() -> None:
    hosts = ("a", "a", "a", "b", "b", "b", "c", "c", "c")
    told = only("slow_node", evaluation(streams((1, 1, 1, 1, 1.5, 1, 1, 1, 1), hosts)))
    assert told.seen.startswith("Rank 4 on b is slow: it takes 1.5 times")


def test_partners_of_rank_0_show_a_slow_one_over_the_launches() -> None:
    name: dict[str, Any] = {"benchmark": "network.transfer", "kernel": "transfer", "direction": "one-way", "ranks": 6}
    hosts = ("a", "b", "c", "d", "e", "f")

    def partners(factor: float) -> Evaluation:
        slow = {4: factor}
        return evaluation([message(1e-5 * slow.get(p, 1), MIB, partner=p, hosts=hosts, **name) for p in range(1, 6)])

    assert "Node e (rank 4) is slow: it takes 1.6 times" in only("slow_node", partners(1.6)).seen
    assert only("slow_node", partners(1.0)).seen == "No node among the 5 partners of rank 0 is slower than the others."


ONE_HOST = ("bench",) * 8


def beside(results: Sequence[Result], issued: Sequence[float]) -> list[Result]:
    """The results with what the core of each rank issued beside the samples."""
    return [measured(r, records=tuple(with_ranks(x, issued=list(issued)) for x in r.records)) for r in results]


@pytest.mark.parametrize(
    ("launches", "level", "issued", "accused"),
    [
        (1, "DISTURBED", (4.0,) * 8, False),
        (1, "CLEAN", (4.0,) * 8, False),
        (3, "DISTURBED", (4.0,) * 8, False),
        (3, "CLEAN", (4.0, 4.0, 2.4, *(4.0,) * 5), False),  # its core was shared
        (2, "CLEAN", (4.0,) * 8, True),
        (3, "CLEAN", (4.0, 4.0, 3.9, *(4.0,) * 5), True),
    ],
)
def test_a_processor_is_slow_only_if_undisturbed_launches_agree(
    launches: int, level: Level, issued: Sequence[float], accused: bool
) -> None:
    ranks = streams((1, 1, 1.7, 1, 1, 1, 1, 1), ONE_HOST, launches, level=level)
    told = only("slow_node", evaluation(beside(ranks, issued)))
    assert told.level == ("notice" if accused else "undecided")
    if accused:
        assert told.seen.startswith("Rank 2 (processor 2) is slow")
    else:
        assert told.seen.startswith("In this launch, rank 2" if launches == 1 else "In these launches, rank 2")
        assert f"its core issued {issued[2]:.2f} additions per cycle, those of its peers 4.00" in told.evidence[0]
        assert describe(told.remedy).startswith("A second launch decides.")


def test_a_node_is_not_slow_by_one_disturbed_launch() -> None:
    hosts = ("a", "b", "c", "d", "e", "f")
    ranks = streams((1, 1, 1.7, 1, 1, 1), hosts, 1, level="DISTURBED")
    assert only("slow_node", evaluation(ranks)).level == "undecided"
    assert only("slow_node", evaluation(streams((1, 1, 1.7, 1, 1, 1), hosts))).level == "serious"


def test_oversubscribed_ranks_show_only_very_slow_nodes() -> None:
    shared: dict[str, Any] = {"cpus": (0, 1, 0, 1), "crowded": True, "colocated": True}
    slow = only("slow_node", evaluation(all_pairs({2: 20.0}, **shared)))
    assert "Node c (rank 2)" in slow.seen
    assert any("Pairs of ranks that shared a processor are left out" in line for line in slow.evidence)
    # A pair on one processor is slower since it takes turns, and ranks of one machine tell nothing then.
    assert found("slow_node", evaluation(all_pairs(links={(0, 2): 20.0, (1, 3): 20.0}, **shared))) == []
    assert found("slow_node", evaluation(all_pairs({2: 20.0}, hosts=("bench",) * 4, crowded=True))) == []
    uneven: dict[str, Any] = {"cpus": (0, 1, 0, 0), "crowded": True, "colocated": True}
    assert found("slow_node", evaluation(all_pairs({2: 20.0}, **uneven))) == []


def test_nobody_is_called_well_where_the_launches_differ_too_much() -> None:
    assert found("slow_node", evaluation(all_pairs(spread=0.6))) == []


def test_the_link_rate_of_the_star_is_from_a_file_or_from_two_ranks() -> None:
    told = only("star_master", evaluation(nettest(1.9e9, 7e9, 6e9)))
    assert (
        "All 8 ranks together reach 1.90 GB/s, which is 95 % of the two directions of its link (1.00 GB/s each)."
        in told.seen
    )
    assert "In a ring they reach 7.00 GB/s." in told.seen
    assert "network.pingpong with 1 MiB" in told.evidence[-1]
    given = only("star_master", evaluation(nettest(1.9e9, 7e9, 6e9)[:3], machine(limits=LINK)))
    assert given.evidence[-1] == "The link rate: the system file."
    assert found("star_master", evaluation(nettest(1.9e9, 7e9, 6e9)[:3])) == []
    assert found("star_master", evaluation(nettest(1.9e9, 7e9, 6e9, ranks=3))) == []


def test_two_ways_within_a_machine_and_between_two_have_different_causes() -> None:
    within = only("two_way", evaluation(both_ways(1.1)))
    between = only("two_way", evaluation(both_ways(1.1, hosts=("a", "b"))))
    assert "copies" in within.cause
    assert "duplex" in between.cause
    assert "1.10 times the bandwidth of one" in between.seen
    shared = only("two_way", evaluation(both_ways(1.1, hosts=("a", "b"), colocated=True)))
    assert "copies" in shared.cause, "hosts that share a machine have no link between them"


def test_two_ways_within_a_machine_are_not_among_what_matters() -> None:
    within, between = (only("two_way", evaluation(both_ways(1.1, hosts=h))) for h in (("a", "a"), ("a", "b")))
    assert (within.effect, within.remedy) == (None, "")
    assert "This is no fault." in within.cause
    assert [kind.finding for kind in findings.select_foremost([within, between])] == [between]
    assert findings.select_foremost([within]) == ()


def test_the_gain_of_more_pairs_stands_in_the_first_sentence() -> None:
    told = only("network_tolerance", evaluation(pairs_at_once(0.2)))
    assert told.seen == (
        "More pairs of ranks hide only a part of the latency of the network (bisection bandwidth; 8 B, 4 pairs: 1.60 times one "
        "pair; 1 MiB, 4 pairs: 1.60 times one pair)."
    )


def test_more_than_twice_in_both_directions_is_a_doubt_and_no_good_news() -> None:
    told = only("two_way", evaluation(both_ways(3.6)))
    assert (told.level, told.reach, told.benchmark) == ("notice", "figures", "network.transfer")
    assert "3.60 times the bandwidth of one" in told.seen
    assert "More than twice is impossible, so one of the two figures is wrong" in told.seen
    assert told.effect == pytest.approx(1.8, rel=0.01)
    assert only("two_way", evaluation(both_ways(2.05))).level == "good", "within what launches differ by"


def test_windows_of_messages_are_compared_in_both_directions_too() -> None:
    name: dict[str, Any] = {"benchmark": "network.rate", "pairs": 2, "window": 64, "ranks": 4}
    results = [message(1e-4, MIB, kernel="one_way", **name), message(0.9e-4, MIB, kernel="both_ways", **name)]
    assert "2 pairs" in only("two_way", evaluation(results)).seen


def test_noise_tells_its_rhythm_and_what_it_costs_many_ranks() -> None:
    told = only("noise", evaluation([quanta(4e-4)], machine(hosts=(Host("a", 32), Host("b", 32)))))
    assert told.level == "notice"
    assert told.seen.startswith(
        "The operating system takes 10 % of a processor's time, in 250 interruptions (detours) per second of up to "
    )
    assert "Detours come at 250 Hz, every 4.00 ms: the timer tick of the kernel." in told.evidence
    assert any(line.startswith("Expected slowdown of 1024 ranks") for line in told.evidence)
    assert "the timer tick of the kernel" in told.cause


def test_a_rhythm_that_the_quanta_hardly_resolve_is_not_told() -> None:
    told = only("noise", evaluation([quanta(4e-6, period=2.7e-4)]))
    assert not any("Detours come at" in line for line in told.evidence)


def test_measured_losses_stand_beside_the_expected_ones() -> None:
    allreduce = message(5e-7, 8, benchmark="network.collectives", kernel="allreduce", ranks=4, hosts=("bench",) * 4)
    # The kernel's 10 ms of quanta took 10.4 ms.
    told = only("noise", evaluation([quanta(4e-4, wall=1.04), allreduce]))
    assert any(
        "Measured: 2 threads that synchronised after each 10.0 ms took 4.0 % longer" in line for line in told.evidence
    )
    assert any(
        "network.collectives allreduce of 4 ranks that synchronised after each 1.00 µs" in line
        for line in told.evidence
    )


def test_noise_names_only_observed_causes() -> None:
    virtual = machine(settings=(Setting("hypervisor", "KVM", "/proc/cpuinfo"),))
    assert "the hypervisor" in only("noise", evaluation([quanta(4e-4)], virtual)).cause
    alone = only(
        "noise", evaluation([quanta(4e-4)], machine(settings=(Setting("hypervisor", "none", "/proc/cpuinfo"),)))
    )
    assert "hypervisor" not in alone.cause
    assert "other programs" not in alone.cause
    busy = only("noise", evaluation([quanta(4e-4, level="DISTURBED")]))
    assert "other programs" in busy.cause
    assert "take this with care" in busy.seen


def test_crowded_results_are_counted_by_benchmark_with_their_processors() -> None:
    told = only("ranks_oversubscribed", evaluation([crowded(1e-3), crowded(1e-3, size=64), message(1e-6)]))
    assert "2 of 3 results with several ranks" in told.seen
    assert "up to 4 ranks on 2 processors" in told.seen
    assert told.evidence == ("network.pingpong: 2 results with 4 ranks.",)


def test_busy_waiting_is_told_by_mpi_with_its_own_switch() -> None:
    told = found("busy_waiting", evaluation([crowded(3e-3, mpi="mpich-5.0.2"), message(1e-6, mpi="mpich-5.0.2")]))
    assert "Waiting ranks of mpich-5.0.2 keep their processors busy. With 4 ranks" in told[0].seen
    assert "3000 times as long as with 2 ranks (6.00 ms instead of 2.00 µs)" in told[0].seen
    assert "MPIR_CVAR_CH4_PROGRESS_THROTTLE=1" in told[0].remedy
    assert "mpi_yield_when_idle" in only("busy_waiting", SPEAKS["busy_waiting"]()).remedy


def test_busy_waiting_follows_from_the_waiting_time_without_a_comparison() -> None:
    assert (
        "longer than a time slice of the scheduler"
        in only("busy_waiting", evaluation([waiting(crowded(3e-3), 1.2)])).seen
    )
    assert found("busy_waiting", evaluation([waiting(crowded(3e-3), 0.01)])) == []  # it waited for the network
    working = crowded(0.1, benchmark="cluster.stream", kernel="triad")
    assert found("busy_waiting", evaluation([waiting(working, 1.2)])) == []  # it sends no messages


def test_an_ineffective_switch_is_no_missing_shared_memory() -> None:
    told = only("slow_transport", transports(7e-7, 6.5e-7))
    assert "The transport 'no shared memory' of openmpi-4.1.4 is as fast as the default" in told.seen
    assert "openmpi-4.1.4 is no faster with shared memory" in only("slow_transport", transports(5e-6, 5.1e-6)).seen


def test_a_link_below_half_of_its_known_rate_is_a_finding() -> None:
    slow = message(MIB / 0.3e9, MIB, placement="other node", hosts=("a", "b"))
    told = only("slow_transport", evaluation([slow], machine(limits=LINK)))
    assert "reaches 300 MB/s: 30 % of the link rate of 1.00 GB/s" in told.seen
    assert found("slow_transport", evaluation([slow])) == []


def test_the_clock_error_is_the_offset_within_a_machine() -> None:
    within = only("common_clock", evaluation([message(1e-6, clock=(-3e-6, 1e-6, None))]))
    assert "wrong by up to 3.00 µs" in within.seen
    between = only("common_clock", evaluation([message(1e-6, hosts=("a", "b"), clock=(5.0, 2e-5, 4e-7))]))
    assert between.level == "notice"
    assert "half a round trip, up to 20.0 µs" in between.seen
    assert any("prediction of the older ones by 400 ns" in line for line in between.evidence)
    shared = only(
        "common_clock", evaluation([message(1e-6, hosts=("a", "b"), clock=(2e-8, 2e-5, None), colocated=True)])
    )
    assert shared.level == "good"


def test_the_clocks_uncertainty_is_no_matter_beside_long_samples() -> None:
    long = message(5e-2, MIB, hosts=("a", "b"), clock=(5.0, 2e-5, None), start="clock")
    told = only("common_clock", evaluation([long]))
    assert told.level == "good"
    assert any(
        "The shortest samples that began by the clock took 99" in line or "100" in line for line in told.evidence
    )


def test_hosts_on_one_machine_are_named() -> None:
    assert only("colocated", SPEAKS["colocated"]()).seen == "The hosts a and b are the same machine."
    four = only("colocated", evaluation([message(1e-6, hosts=FOUR, ranks=4, colocated=True)]))
    assert "At least two of the hosts a, b, c, d are the same machine" in four.seen


def test_mpis_are_compared_with_small_and_with_large_messages() -> None:
    theirs = [(8, 2e-6), (KIB, 2e-6), (MIB, 0.5e-6)]
    results = [*(message(1e-6, n) for n, _ in theirs), *(message(t, n, mpi="mpich-5.0.2") for n, t in theirs)]
    told = only("mpi_compared", evaluation(results))
    assert "mpich-5.0.2 is faster than openmpi-4.1.4 in 1 of 3 cases and slower in 2" in told.seen
    assert "2.00 times as long for messages up to 8 KiB and 0.50 times as long for larger messages" in told.seen
    assert any(
        line.startswith("network.pingpong pingpong, 8 B to 1 KiB: mpich-5.0.2 takes 2.00") for line in told.evidence
    )


def test_oversubscribed_results_do_not_count_between_mpis() -> None:
    busy = [crowded(1e-3, mpi="mpich-5.0.2"), crowded(1e-6)]
    assert found("mpi_compared", evaluation(busy)) == []
    tcp = [message(1e-5, mpi="mpich-5.0.2", transport="no shared memory"), message(1e-6, transport="no shared memory")]
    told = only("mpi_compared", evaluation([*tcp, message(1e-6), message(1e-6, mpi="mpich-5.0.2")]))
    assert "1.00 times as long" in told.seen


# Ranks that share processors or a machine are always disturbed, and clocks are told from all records.
UNSHAKEN = {"ranks_oversubscribed", "busy_waiting", "colocated", "common_clock"}


@pytest.mark.parametrize("rule", sorted(set(SPEAKS) - UNSHAKEN))
def test_results_that_were_disturbed_are_told_with_care(rule: str) -> None:
    def shaken(one: Result) -> Result:
        verdict = verdict_of("DISTURBED", "competing load: in 9 of 30 samples a thread waited.")
        return measured(one, verdict=verdict, records=tuple(replace(r, verdict=verdict) for r in one.records))

    told = found(rule, evaluation([shaken(r) for r in SPEAKS[rule]().results]))
    assert any("take this with care" in text for f in told for text in (f.seen, *f.evidence))


# --------------------------------------------------------------------------- the statistics behind them


def test_times_of_nodes_are_the_medians_over_their_ranks_launch_by_launch() -> None:
    hosts = ("a", "a", "b")
    seconds = {(0, 1): [9.0, 9.0], (0, 2): [1.0, 2.0], (1, 2): [3.0, 4.0]}
    assert _nodes.group_ranks_by_host(hosts) == {"a": (0, 1), "b": (2,)}
    assert _nodes.summarise_node_pairs(seconds, hosts) == {(0, 1): [2.0, 3.0]}
    assert _nodes.summarise_nodes([[1.0, 2.0], [3.0, 4.0], []], hosts) == [[2.0, 3.0], []]


def test_the_caches_of_buffers_are_those_of_the_ranks_processors() -> None:
    here = machine(nodes=2)
    near, far = (messages.caches(here, message(1e-6, cpus=cpus)) for cpus in ((0, 1), (0, 2)))
    assert (near.core, near.last, near.sharing) == (MIB, 8 * MIB, 2)
    assert (far.core, far.last, far.sharing) == (MIB, 8 * MIB, 1)
    apart = messages.caches(here, message(1e-6, hosts=("a", "b"), cpus=(0, 0)))
    assert apart.sharing == 1
    twins = messages.caches(here, message(1e-6, cpus=(0, 0)))
    assert twins.core == MIB // 2, "two ranks on one core share its cache"
    assert messages.caches(replace(here, caches=()), message(1e-6)).last is None


@pytest.mark.long
def test_looks_share_the_chance_of_a_false_alarm_among_them() -> None:
    """Quiet clusters, three sizes each: hardly one may be accused."""
    accused = 0
    for seed in range(100):
        results = [r for size in (8, KIB, MIB) for r in all_pairs(size=size, seed=seed, spread=0.02)]
        accused += any(t.single or t.links for t in _peer_groups.judge_peers(results, machine()))
    assert accused <= 2


# --------------------------------------------------------------------------- odd data


@cache
def odd() -> list[Result]:
    """Every kernel of the network with parameters, facts of the ranks and samples that are missing, strange or wrong."""
    strange: list[Any] = ["many", 0, -1, 2, 10**18, math.inf, math.nan, True, ""]
    names = ("message_bytes", "ranks", "partner", "round", "together", "topology", "direction", "pairs", "threads")
    names = (*names, "placement", "transport", "buffers", "mpi", "window", "start")
    kernels = (
        "network.pingpong pingpong", "network.sendrecv exchange", "network.transfer transfer", "network.transfer pairs",
        "network.rate one_way", "network.rate both_ways", "network.nettest nettest", "network.collectives alltoall",
        "network.collectives barrier", "cluster.stream triad", "noise.quanta fixed_work",
    )  # fmt: skip
    facts: list[Any] = [
        None,
        {},
        {"hosts": None, "cpus": None, "seconds": None, "clock": {}},
        {"hosts": ["a"], "cpus": [0, 1], "seconds": [[1.0], [None]], "clock": {"offset": [None], "uncertainty": None}},
        {"hosts": ["a", "b"], "cpus": [0, -1], "seconds": [[math.nan], []], "clock": {"offset": [0, math.nan]}},
        {"hosts": ["a", "b", "c"], "cpus": [9, 9, 9], "seconds": [[0.0], [1.0], [1.0]], "colocated": True},
    ]
    details: list[Any] = [None, {}, {"unit": "x"}, {"unit": 1, "threads": [{}]}, {"unit": 1, "threads": [{"base": 0}]}]
    told = []
    for number, name in enumerate(kernels):
        benchmark, kernel = name.split()
        one = message(1e-6, 8, benchmark=benchmark, kernel=kernel, launches=1)
        for i, value in enumerate(strange):
            for k, parameter in enumerate(names):
                parameters = {**one.parameters, parameter: value}
                bad = replace(
                    one.records[0],
                    parameters=parameters,
                    samples=((), (math.nan,), (0.0, 1.0), (1e-3, 1.1e-3, 1e-3))[(i + k) % 4],
                    operations=(0, 1)[k % 2],
                    surroundings=seen(
                        {
                            "ranks": facts[(i + k + number) % len(facts)],
                            "oversubscribed": (True, False, None)[k % 3],
                            "details": details[(i + k) % len(details)],
                            "samples": (None, {"waited": [None], "seconds": [None]})[k % 2],
                        }
                    ),
                    work=({}, {"messages": math.nan}, {"messages": 0.0, "bytes": 1.0}, {"quanta": 0.0})[i % 4],
                )
                metric = Value((math.nan, 0.0, 1e9)[i % 3], "B/s", None, None, "higher")
                metrics = {"bandwidth": metric, "throughput": metric, "latency": metric} if i % 2 else {}
                told.append(measured(one, records=(bad,), metrics=metrics, parameters=parameters))
    return [*told, *(measured(told[0], records=()) for _ in range(2))]


@cache
def odd_run(bare: bool) -> Evaluation:
    here = machine(nodes=2, limits={"network_bandwidth": Limit(0.0, "B/s", "nothing")})
    if bare:
        here = replace(here, cores=(), nodes=(), caches=(), cpus=(), settings=())
    return evaluation(odd(), here)


def among_odd(run: Evaluation, rule: str) -> Evaluation:
    """The odd data with the results by which the rule speaks, whose cases are numbered after them."""
    sound = evaluation(SPEAKS[rule]().results, run.run.machine, first=len(run.results))
    records = (*run.run.records, *sound.run.records)
    benchmarks = {**run.benchmarks, **sound.benchmarks}
    results = (*run.results, *sound.results)
    return replace(run, run=replace(run.run, records=records), benchmarks=benchmarks, results=results)


@pytest.mark.parametrize("rule", sorted(SPEAKS))
@pytest.mark.parametrize("bare", [False, True])
def test_odd_data_of_the_network_never_makes_a_rule_stumble(rule: str, bare: bool) -> None:
    run = odd_run(bare)
    assert isinstance(found(rule, run), list)
    assert isinstance(found(rule, among_odd(run, rule)), list)
