"""Transfers, chains and windows of messages: what is planned, what the formulas give, and who meets whom."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from builders import evaluation, message, seen
from mpis import mpi
from steelyard.judge.findings.network import partners_spread
from steelyard.measure import build
from steelyard.measure.benchmarks.network import rate, sendrecv, transfer
from steelyard.measure.launch.program import Program
from steelyard.measure.launch.start import start
from steelyard.measure.plan import EFFORTS, make
from steelyard.model import (
    Benchmark,
    Case,
    Check,
    Host,
    Launch,
    Level,
    Limit,
    Machine,
    Parameters,
    Record,
    Result,
    Scalar,
    Site,
    Verdict,
)
from steelyard.statistics.difference.matrix import rounds
from steelyard.statistics.results.messages import hosts_of
from steelyard.statistics.results.pairs import pair_seconds, variants
from steelyard.statistics.results.partners import LARGE

NAMES = ("network.transfer", "network.sendrecv", "network.rate")


def record(kernel: str, parameters: Parameters, **changed: Any) -> Record:
    """One that has passed its check."""
    plain = Record(
        benchmark="network.transfer", kernel=kernel, parameters=parameters, launch=1, case=0, attempt=1,
        samples=(1.0,), operations=1, work={}, check=Check(True), verdict=Verdict("CLEAN"), surroundings=seen({})
    )  # fmt: skip
    return replace(plain, **changed)


def round_record(
    number: int,
    seconds: Mapping[int, Sequence[float]],
    *,
    launch: int = 1,
    attempt: int = 1,
    ranks: int = 4,
    level: Level = "CLEAN",
    size: int = 8,
    **parameters: str,
) -> Record:
    """A round in which these ranks took so long for ten round trips, sample by sample."""
    every = {"ranks": ranks, "round": number, "message_bytes": size, "together": "yes", **parameters}
    told = {"seconds": [list(seconds.get(r, [])) for r in range(ranks)], "hosts": [f"n{r}" for r in range(ranks)]}
    return record(
        "pairs", every, launch=launch, attempt=attempt, operations=10, verdict=Verdict(level), surroundings=seen({"ranks": told})
    )  # fmt: skip


def whole(launch: int = 1, factor: float = 1.0, **parameters: str) -> list[Record]:
    """All rounds of four ranks: a pair (i, j) takes i + 10 j seconds for a round trip."""
    found = []
    for number, met in enumerate(rounds(4)):
        times = {rank: [10 * factor * (a + 10 * b)] * 3 for a, b in met for rank in (a, b)}
        found.append(round_record(number, times, launch=launch, **parameters))
    return found


def test_every_pair_has_half_of_its_round_trip_once_a_launch() -> None:
    found = pair_seconds([*whole(2, 2.0), *whole(1)], 8)
    assert found == {(a, b): [(a + 10 * b) / 2, a + 10 * b] for a, b in combinations(range(4), 2)}


def test_the_slower_of_two_ranks_tells_the_time_of_the_pair() -> None:
    times = {3: [20.0, 30.0, 90.0], 0: [21.0, 29.0, 60.0], 1: [1.0, 1.0, 1.0], 2: [1.0, 1.0, 1.0]}
    found = pair_seconds([round_record(0, times)], 8)
    assert found == {(0, 3): [30.0 / 20], (1, 2): [1.0 / 20]}


def test_of_pairs_that_take_turns_only_their_own_samples_count() -> None:
    idle = 1e-7
    times = {0: [20.0, idle, 22.0, idle], 3: [19.0, idle, 23.0, idle], 1: [idle, 4.0, idle, 6.0], 2: [idle] * 4}
    found = pair_seconds([round_record(0, times, together="no")], 8)
    assert found == {(0, 3): [21.5 / 20], (1, 2): [5.0 / 20]}


def test_who_rests_has_no_time() -> None:
    met = rounds(3)[0]
    resting = ({0, 1, 2} - set(met[0])).pop()
    times = {rank: [20.0] for rank in range(3) if rank != resting}
    assert pair_seconds([round_record(0, times, ranks=3)], 8) == {met[0]: [1.0]}


def test_the_last_attempt_counts_and_what_is_invalid_does_not() -> None:
    first = {rank: [10.0] for rank in range(4)}
    again = {rank: [20.0] for rank in range(4)}
    wrong = {rank: [30.0] for rank in range(4)}
    records = [
        round_record(0, again, attempt=2, level="DISTURBED"),
        round_record(0, first, level="DISTURBED"),
        round_record(0, wrong, attempt=3, level="INVALID"),
    ]
    assert pair_seconds(records, 8) == {(0, 3): [1.0], (1, 2): [1.0]}


def test_a_launch_that_lacks_pairs_is_left_out_where_another_has_them_all() -> None:
    cut = whole(1)[:2]
    assert all(times == [a + 10 * b] for (a, b), times in pair_seconds([*cut, *whole(2, 2.0)], 8).items())
    assert len(pair_seconds(cut, 8)) == 4


def test_other_kernels_and_sizes_are_passed_over() -> None:
    other = record("transfer", {"ranks": 4, "message_bytes": 8})
    assert pair_seconds([other, *whole()], 16) == {}
    assert len(pair_seconds([other, *whole()], 8)) == 6


def test_two_matrices_are_not_mixed() -> None:
    records = [*whole(1), *whole(1, transport="tcp")]
    with pytest.raises(ValueError, match="2 variants"):
        pair_seconds(records, 8)
    groups = variants(records)
    assert [len(pair_seconds(group, 8)) for group in groups.values()] == [6, 6]


def test_the_hosts_come_from_the_first_record_that_tells_them() -> None:
    assert hosts_of([record("pairs", {}), *whole()]) == ("n0", "n1", "n2", "n3")
    assert hosts_of([]) == ()


def result(found: Record) -> Result:
    return Result(
        benchmark=found.benchmark,
        kernel=found.kernel,
        parameters=found.parameters,
        records=(found,),
        metrics={},
        verdict=found.verdict,
    )


def test_the_matrix_names_the_hosts_and_the_slowest_pair(two_sockets: Machine) -> None:
    records = [*whole(), *[round_record(n, {r: [5.0] for r in range(4)}, size=1 << 20) for n in range(3)]]
    figures = {f.name: f for f in transfer.figures(tuple(map(result, records)), two_sockets)}
    small, large = figures["transfer-matrix-small"], figures["transfer-matrix-large"]
    assert small.columns == small.rows == ("0 n0", "1 n1", "2 n2", "3 n3")
    assert [small.z[i][i] for i in range(4)] == [None] * 4
    assert small.z[2][3] == small.z[3][2] == 16.0
    assert "The slowest, 2 and 3" in small.caption
    assert {z for row in large.z for z in row} == {None, 0.25}


def test_each_variant_has_a_matrix_of_its_own(two_sockets: Machine) -> None:
    records = [*whole(), *whole(transport="tcp")]
    names = [f.name for f in transfer.figures(tuple(map(result, records)), two_sockets)]
    assert len(names) == len(set(names)) == 7
    assert "transfer-matrix-small-transport-tcp" in names


@pytest.mark.parametrize(
    ("kernel", "direction", "seconds", "size", "expected"),
    [
        ("transfer", "one-way", 20 / 1000, 1e6, 100e6),  # N = 1000, T = 20 s: R = 2NL/T
        ("transfer", "two-way", 20 / 1000, 1e6, 100e6),
        ("pairs", "", 20 / 1000, 1e6, 100e6),  # three pairs at once, each so fast
    ],
)
def test_the_bandwidth_of_a_transfer(kernel: str, direction: str, seconds: float, size: float, expected: float) -> None:
    count = 3 if kernel == "pairs" else 1
    parameters = {"direction": direction} if direction else {}
    found = record(kernel, parameters, work={"pairs": count, "messages": 2 * count, "bytes": 2 * count * size})
    assert transfer.bandwidth(seconds, found) == pytest.approx(expected)


def test_the_latency_is_half_of_an_empty_round_trip_and_none_of_an_exchange() -> None:
    work = {"pairs": 1, "messages": 2, "bytes": 0}
    there, at_once = (record("transfer", {"direction": d}, work=work) for d in ("one-way", "two-way"))
    assert transfer.latency(0.1 / 1000, there) == pytest.approx(50e-6)  # N = 1000, T = 0.1 s: S = T/2N
    assert transfer.bandwidth(0.1 / 1000, there) is None
    assert transfer.exchange_time(0.1 / 1000, there) is None
    assert transfer.latency(0.1 / 1000, at_once) is None
    assert transfer.exchange_time(0.1 / 1000, at_once) == pytest.approx(1e-4)


@pytest.mark.parametrize(("kernel", "sent", "imb"), [("sendrecv", 1, 2000e6), ("exchange", 2, 4000e6)])
def test_imb_counts_what_a_rank_sends_and_receives(kernel: str, sent: int, imb: float) -> None:
    found = record(kernel, {}, work={"messages": 8 * sent, "bytes": 8e6 * sent, "bytes_sent": 1e6 * sent})
    assert sendrecv.imb_bandwidth(1e-3, found) == pytest.approx(imb)
    assert sendrecv.bandwidth(1e-3, found) == pytest.approx(imb / 2)


def test_the_bandwidth_of_windows_is_that_of_osu() -> None:
    # 100 windows of 64 messages of 8192 bytes in 5.24288 ms.
    found = record("one_way", {}, work={"messages": 64, "bytes": 64 * 8192})
    assert rate.bandwidth(5.24288e-3 / 100, found) == pytest.approx(10_000e6)
    assert rate.message_rate(5.24288e-3 / 100, found) == pytest.approx(10_000e6 / 8192)


def planned(
    name: str, benchmarks: Mapping[str, Benchmark], machine: Machine, preset: str = "quick", **settings: Scalar
) -> list[Case]:
    asked = {key: (value,) for key, value in settings.items()}
    made = make({name: benchmarks[name]}, machine, EFFORTS[preset], asked, ["any"], mpis=["any"])
    return [case for launch in made.launches if launch.repetition == 1 for case in launch.cases]


@pytest.mark.parametrize("ranks", [2, 3, 4, 6, 7])
def test_who_asks_for_more_ranks_gets_all_their_partners_and_rounds(
    ranks: int, benchmarks: Mapping[str, Benchmark], two_sockets: Machine
) -> None:
    cases = planned("network.transfer", benchmarks, two_sockets, ranks=ranks)
    partners = {c.parameters["partner"] for c in cases if c.kernel == "transfer"}
    asked = {int(c.parameters["round"]) for c in cases if c.kernel == "pairs"}
    assert partners == set(range(1, ranks))
    assert asked == set(range(len(rounds(ranks))))


def test_all_partners_get_the_sizes_that_are_asked_for_and_a_longer_run_all_sizes_by_itself(
    benchmarks: Mapping[str, Benchmark], two_sockets: Machine
) -> None:
    def swept(preset: str, hosts: int, **settings: Scalar) -> set[Scalar]:
        cluster = replace(two_sockets, hosts=tuple(Host(f"n{i}", 4) for i in range(hosts)))
        cases = planned("network.transfer", benchmarks, cluster, preset, **settings)
        odd = (c for c in cases if c.kernel == "transfer" and c.parameters["message_bytes"] not in (0, LARGE))
        return {c.parameters["partner"] for c in odd}

    assert swept("quick", 8) == {1, 7}
    assert swept("quick", 8, message_bytes=1024) == set(range(1, 8))
    assert swept("standard", 8) == set(range(1, 8))
    assert swept("standard", 16) == {1, 15}
    assert swept("full", 16) == set(range(1, 16))


def transfers(latencies: Sequence[float], rates: Sequence[float]) -> tuple[Result, ...]:
    """Rank 0 with each other: an empty message, and bandwidths each way at three sizes."""
    name: dict[str, Any] = {"benchmark": "network.transfer", "kernel": "transfer", "ranks": len(rates) + 1}
    found = [message(t, 0, partner=i, direction="one-way", **name) for i, t in enumerate(latencies, 1)]
    for i, most in enumerate(rates, 1):
        for size in (1 << 15, 1 << 17, LARGE):
            found += [message(size / most, size, partner=i, direction=way, **name) for way in ("one-way", "two-way")]
    return tuple(found)


def test_the_spread_over_the_partners_is_printed_for_latency_and_bandwidth(two_sockets: Machine) -> None:
    results = transfers([1.0e-6, 1.04e-6, 1.0e-6], [1e9, 1e9, 0.8e9])
    latency, large, one_way, two_way, *_ = transfer.figures(results, two_sockets)
    assert "(greatest − lowest) / median: 4.0 % (one-way" in latency.caption
    assert "20 % (one-way" in large.caption
    assert "20 % (two-way" in large.caption
    assert (one_way.name, two_way.name) == ("transfer-size-one-way", "transfer-size-two-way")
    assert [s.name for s in one_way.series] == ["rank 1", "rank 2", "rank 3"]
    assert [s.name for s in two_way.series if s.published] == ["Celeron educational cluster"]
    (told,) = partners_spread.find(evaluation(results))
    assert told.level == "notice"
    assert "The 3 partners of rank 0 differ: the one-way bandwidth with 1 MiB varies by 20 % among them" in told.seen
    assert any("latency" in line and "4.0 %" in line for line in told.evidence)
    (good,) = partners_spread.find(evaluation(transfers([1e-6, 1.06e-6], [1e9, 1e9])))
    assert good.level == "good"
    assert partners_spread.find(evaluation(transfers([1e-6], [1e9]))) == []


def test_turns_are_taken_where_somebody_asks_for_them(
    benchmarks: Mapping[str, Benchmark], two_sockets: Machine
) -> None:
    def turns(preset: str, **settings: Scalar) -> list[Case]:
        cases = planned("network.transfer", benchmarks, two_sockets, preset, **settings)
        return [c for c in cases if c.parameters.get("together") == "no"]

    assert turns("quick") == []
    assert turns("full")
    asked = turns("quick", together="no", ranks=16)
    assert {c.parameters["round"] for c in asked} == set(range(15))
    # Every pair of a round must have had some turns.
    assert all(c.sampling.least >= 6 * 8 and c.sampling.most >= c.sampling.least for c in asked)


def test_an_empty_message_is_not_sent_both_ways(benchmarks: Mapping[str, Benchmark], two_sockets: Machine) -> None:
    cases = planned("network.transfer", benchmarks, two_sockets, "full")
    empty = [c for c in cases if c.parameters["message_bytes"] == 0]
    assert empty
    assert {c.parameters["direction"] for c in empty} == {"one-way"}


def test_of_several_hosts_each_has_one_rank(benchmarks: Mapping[str, Benchmark], two_sockets: Machine) -> None:
    cluster = replace(two_sockets, hosts=tuple(Host(f"n{i}", 4) for i in range(5)))
    for case in planned("network.transfer", benchmarks, cluster):
        assert (case.parameters["ranks"], case.parameters["ranks_per_node"]) == (5, 1)


def test_both_directions_may_reach_twice_the_link(two_sockets: Machine) -> None:
    link = {"network_bandwidth": Limit(1e9, "B/s", "by hand")}
    cluster = replace(two_sockets, hosts=(Host("a", 4), Host("b", 4)), limits=link)
    found = {
        direction: transfer.limit(
            "bandwidth", result(record("transfer", {"direction": direction, "ranks_per_node": 1})), cluster
        )
        for direction in ("one-way", "two-way")
    }
    assert [found[d].value for d in ("one-way", "two-way")] == [1e9, 2e9]  # type: ignore[union-attr]
    assert transfer.limit("latency", result(record("transfer", {"ranks_per_node": 1})), cluster) is None
    assert transfer.limit("bandwidth", result(record("transfer", {"ranks_per_node": 2})), cluster) is None


@pytest.mark.parametrize("most", [15, 63])
@pytest.mark.parametrize("ranks", [65, 128, 1000])
def test_of_many_partners_some_are_taken_and_the_last(ranks: int, most: int) -> None:
    found = transfer.partners(ranks, most)
    assert found[0] == 1
    assert found[-1] == ranks - 1
    assert most // 2 <= len(found) <= most + 1


@pytest.mark.parametrize("ranks", [4, 12])
def test_the_pairs_double_up_to_all(ranks: int, benchmarks: Mapping[str, Benchmark], two_sockets: Machine) -> None:
    cases = planned("network.rate", benchmarks, two_sockets, ranks=ranks)
    assert {c.parameters["pairs"] for c in cases} == {4: {1, 2}, 12: {1, 2, 4, 6}}[ranks]


@pytest.mark.parametrize("preset", sorted(EFFORTS))
@pytest.mark.parametrize("name", NAMES)
def test_the_messages_of_all_ranks_fit_into_the_memory(
    name: str, preset: str, benchmarks: Mapping[str, Benchmark], two_sockets: Machine
) -> None:
    little = replace(two_sockets, memory=1 << 30, memory_available=700 << 20)
    for case in planned(name, benchmarks, little, preset):
        p = case.parameters
        count = int(p["window"]) if p.get("places") == "own" else 2 if case.kernel == "exchange" else 1
        places = 2 if p["buffers"] == "fresh" else 1
        ranks = 2 if case.kernel == "transfer" else int(p["ranks"])
        assert 2 * ranks * count * places * int(p["message_bytes"]) <= 0.7 * little.memory_available, p


@pytest.fixture(scope="module")
def five(here: Machine, benchmarks: dict[str, Benchmark]) -> Iterator[Program]:
    """The transfers, with five ranks."""
    tool, name = mpi("default", here), "network.transfer"
    built = build.build([benchmarks[name]], build.resolve(build.default(here), here), tool)[name]
    case = Case(name, "pairs", {"ranks": 5, "mpi": "any"})
    program = Program(*start(Site({"any": tool}), here, Launch(1, name, "any", 1, (case,)), built), 5)
    yield program
    program.close()


@pytest.mark.parametrize("together", ["yes", "no"])
@pytest.mark.parametrize("number", range(5))
def test_the_kernel_holds_the_rounds_of_the_tournament(five: Program, number: int, together: str) -> None:
    asked = f"case=0 kernel=pairs ranks=5 round={number} together={together} seconds=0.01 least=12 most=24"
    answer = five.ask(asked, 60)
    assert answer["check"]["passed"], answer
    met = rounds(5)[number]
    busy = {rank for pair in met for rank in pair}
    assert [len(s) > 0 for s in answer["surroundings"]["ranks"]["seconds"]] == [rank in busy for rank in range(5)]
    partner = next((b for a, b in met if a == 0), None)
    assert (f"from rank {partner} " if partner else "took no part") in answer["check"]["detail"]
    # Rank 0 tells when it ended, also where it rests meanwhile.
    around = answer["surroundings"]
    last = around["samples"]["at"][-1] + around["samples"]["seconds"][-1]
    assert 0 < last <= around["ended"] - around["began"] + 1e-3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("kernel=pairs round=5", "round='5'"),
        ("kernel=transfer partner=5", "partner='5'"),
        ("kernel=transfer partner=0", "ranks 1 to 4"),
        ("kernel=transfer direction=both", "one-way, two-way"),
    ],
)
def test_what_cannot_be_is_refused_with_its_value(five: Program, words: str, told: str) -> None:
    assert told in five.ask(f"case=0 ranks=5 seconds=0.01 {words}", 60)["error"]
