"""The replay's engine against closed forms, and against an oracle that replays in another way."""

import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replays import Action, Oracle, Parameters, asked, in_words, stencil, ti

BOOK = Parameters(L=2_500_000, o=1_500_000, g=1_000_000, G=6_000)  # ps


def replayed(trace: Path, *words: str) -> list[list[int]]:
    """The times (ps) of each line, in both modes, which must agree to the last digit."""
    lines = [f"{word} mode={mode}" for word in words for mode in ("dataflow", "event")]
    answers = [answer["time"] for answer in asked(trace, *lines)[1:]]
    for flow, event in zip(answers[::2], answers[1::2], strict=True):
        assert flow == event
    return answers[::2]


def test_a_broadcast_to_eight_ranks_ends_when_the_model_says(tmp_path: Path) -> None:
    trace = ti(tmp_path, [["bcast 1024 0"]] * 8)
    assert replayed(trace, BOOK.word()) == [[34_914_000]]  # 3 (2o + L + 1023 G) ns


@pytest.mark.parametrize(
    ("size", "eager"), [(0, 65535), (1, 65535), (2, 65535), (65535, 65535), (65536, 65535), (9, 8)]
)
def test_one_message_takes_what_loggops_says(tmp_path: Path, size: int, eager: int) -> None:
    p = Parameters(L=2_500_000, o=1_500_000, g=1_000_000, O=7, G=6_000, eager=eager)
    trace = ti(tmp_path, [[f"send 1 0 {size}"], [f"recv 0 0 {size}"]])
    more = max(size - 1, 0)
    legs = 3 if size > eager else 1  # with rendezvous a request and its answer go first
    assert replayed(trace, p.word()) == [[2 * (p.o + p.O * more) + legs * p.L + p.G * more]]


def test_messages_leave_an_interface_one_after_the_other(tmp_path: Path) -> None:
    count, size = 10, 1000
    trace = ti(tmp_path, [[f"send 1 0 {size}"] * count, [f"recv 0 0 {size}"] * count])
    gap = BOOK.g + BOOK.G * (size - 1)
    last = BOOK.o + (count - 1) * gap + BOOK.L + BOOK.G * (size - 1)
    assert replayed(trace, BOOK.word()) == [[last + BOOK.o]]


def test_a_late_receiver_delays_only_a_sender_with_rendezvous(tmp_path: Path) -> None:
    late = 10_000_000  # ns
    trace = ti(tmp_path, [["send 1 0 1000", "send 1 1 1"], [f"compute {late}", "recv 0 0 1000", "recv 0 1 1"]])
    eager, met = replayed(trace, BOOK.word(), Parameters(**{**vars(BOOK), "eager": 10}).word())
    assert eager == [late * 1000 + 2 * BOOK.o]
    left = late * 1000 + BOOK.L + BOOK.G * 999
    assert met == [left + BOOK.o + BOOK.L + BOOK.o]


def test_all_ranks_that_send_to_one_queue_at_its_interface_in_event_mode(tmp_path: Path) -> None:
    ranks, size = 2001, 1000
    trace = ti(tmp_path, [[f"recv {r} 0 {size}" for r in range(1, ranks)], *([[f"send 0 0 {size}"]] * (ranks - 1))])
    flow, event = (a["time"] for a in asked(trace, BOOK.word(), BOOK.word() + " mode=event")[1:])
    arrived = BOOK.o + BOOK.L + BOOK.G * (size - 1)
    assert flow == [arrived + (ranks - 1) * BOOK.o]
    assert event == [arrived + (ranks - 2) * (BOOK.g + BOOK.G * (size - 1)) + BOOK.o]


def test_ranks_of_one_node_share_its_interface_and_talk_past_it(tmp_path: Path) -> None:
    # Ranks 0, 1 on one node send to 2, 3 on another, and to each other.
    size = 10_000
    crossing = [[f"send {r + 2} 0 {size}"] for r in (0, 1)] + [[f"recv {r} 0 {size}"] for r in (0, 1)]
    word = BOOK.word() + " within=0,100,0,0,0,0 ranks_per_node=2"
    flow, event = (a["time"] for a in asked(ti(tmp_path, crossing), word, word + " mode=event")[1:])
    alone = 2 * BOOK.o + BOOK.L + BOOK.G * (size - 1)
    assert flow == [alone]
    assert event == [alone + BOOK.g + BOOK.G * (size - 1)]
    beside = ti(tmp_path, [[f"send 1 0 {size}"], [f"recv 0 0 {size}"], [], []])
    assert replayed(beside, word) == [[100]]


@pytest.mark.parametrize(
    ("target", "latency"), [(1, 10), (2, 20), (3, 20), (4, 30), (7, 30), (8, 1000), (9, 1000), (17, 1000)]
)
def test_ranks_of_a_node_pay_for_where_they_lie(tmp_path: Path, target: int, latency: int) -> None:
    # Of 8 ranks on a node 2 share a cache, 4 a socket.
    ranks = [[f"send {target} 0 {size}" for size in (1, 70_000)], *([[]] * 17)]
    ranks[target] = ["recv 0 0 1", "recv 0 0 70000"]
    word = "across=0,1000,0,0,0,0 within=0,30,0,0,0,0 socket=0,20,0,0,0,0 cache=0,10,0,0,0,0 ranks_per_node=8"
    # The second one's request travels beside the first message; an answer and the data follow.
    assert replayed(ti(tmp_path, ranks), f"{word} ranks_per_cache=2 ranks_per_socket=4") == [[3 * latency]]
    assert replayed(ti(tmp_path, ranks), word) == [[3 * (30 if target < 8 else 1000)]]


# 2 nodes on a switch, 2 switches on one of the next level, a hop of 7 and of 11 ns; the second level is slower than a node.
TREE = " nodes_per_switch=2 switches_per_group=2 uplinks=3000,7000,8000,11000"


@pytest.mark.parametrize(("target", "hops", "slowest"), [(1, 0, 6_000), (2, 14_000, 6_000), (5, 36_000, 8_000)])
def test_a_message_takes_the_latencies_and_slowest_link_of_its_switches(
    tmp_path: Path, target: int, hops: int, slowest: int
) -> None:
    size = 1000
    ranks = [[f"send {target} 0 {size}"], *([[]] * (target - 1)), [f"recv 0 0 {size}"], [], []]
    assert replayed(ti(tmp_path, ranks), BOOK.word() + TREE) == [[2 * BOOK.o + BOOK.L + hops + slowest * (size - 1)]]


def test_messages_share_the_links_between_switches_in_event_mode(tmp_path: Path) -> None:
    # Nodes 0 and 1 of a switch send to 4 and 5, which are two levels away: three links of the way are common.
    size = 1000
    trace = ti(
        tmp_path, [[f"send {r + 4} 0 {size}"] for r in (0, 1)] + [[], []] + [[f"recv {r} 0 {size}"] for r in (0, 1)]
    )
    flow, event = (a["time"][0] for a in asked(trace, BOOK.word() + TREE, BOOK.word() + TREE + " mode=event")[1:])
    assert flow == 2 * BOOK.o + BOOK.L + 36_000 + 8_000 * (size - 1)
    assert event == flow + 8_000 * (size - 1)  # one after the other on the slowest link, together elsewhere


def exchanges(draw: st.DrawFn) -> tuple[list[list[Action]], Parameters]:
    """Random programs that cannot hang: phases in which ranks compute, and pairs exchange messages in any order."""
    ranks = draw(st.integers(2, 7))
    programs: list[list[Action]] = [[] for _ in range(ranks)]
    sizes = st.sampled_from([0, 1, 2, 100, 1500, 70_000])
    for phase in range(draw(st.integers(1, 6))):
        for program in programs:
            if draw(st.booleans()):
                program.append(("compute", 1000 * draw(st.integers(0, 10_000))))
        pairs = draw(st.lists(st.tuples(st.integers(0, ranks - 1), st.integers(0, ranks - 1)), max_size=8))
        if draw(st.booleans()):  # nonblocking
            for a, b in pairs:
                programs[b].append(("irecv", a, phase % 2))
            for a, b in pairs:
                programs[a].append(("isend", b, phase % 2, draw(sizes)))
            for program in programs:
                program.append(("waitall",))
        else:
            for a, b in pairs:
                if a != b:
                    programs[a].append(("send", b, phase % 2, draw(sizes)))
                    programs[b].append(("recv", a, phase % 2))
    costs, limit = st.integers(0, 3000), st.sampled_from([0, 1000, 1 << 20])
    whole = [1000 * draw(costs) for _ in range(3)]
    p = Parameters(whole[0], whole[1], whole[2], draw(costs), draw(costs), draw(limit))
    return programs, p


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.composite(exchanges)(), seed=st.integers(0, 1000))
def test_random_programs_take_as_long_as_in_the_oracle(
    tmp_path: Path, made: tuple[list[list[Action]], Parameters], seed: int
) -> None:
    programs, p = made
    order = list(range(len(programs)))
    expected = Oracle(programs, p).run()
    answers = []
    for _ in range(2):
        found = asked(ti(tmp_path, in_words(programs), order), p.word() + " path=yes")[1]
        path = found["path"]
        assert path["computing"] + path["talking"] + path["network"] == expected  # it has no gap
        assert sum(path["ranks"]) == path["computing"] + path["talking"]
        assert min(path["computing"], path["talking"], path["network"], *path["ranks"]) >= 0
        answers.append(found["time"])
        random.Random(seed).shuffle(order)
    assert answers == [[expected]] * 2


def test_both_modes_agree_on_a_stencil_with_every_perturbation(tmp_path: Path) -> None:
    trace = ti(tmp_path, stencil(4, 20, 100_000, 2_000))
    p = Parameters(L=25_000_000, o=5_000_000, g=0, G=0)
    found = replayed(
        trace,
        p.word(),
        p.word() + " core=1.7",
        p.word() + " loss=0.05,5000000000,1448,1,1,0,0,0 repeats=5 seed=9",
        p.word() + " loss=0.05,5000000000,0,0,0,1,0,0 affected=0.3 repeats=5",
        p.word() + " noise=1000000000,50000000,0,0 repeats=5",
        p.word() + " noise=0,50000000,0.1,0 affected=0.5 repeats=5",
        Parameters(**{**vars(p), "eager": 1000}).word() + " loss=0.05,5000000000,1448,1,1,0,0,0 repeats=5",
    )
    plain = found[0][0]
    assert found[1][0] < plain
    assert all(time > plain for times in found[2:] for time in times)
    assert all(len(set(times)) > 1 for times in found[2:])


def test_a_lost_message_delays_later_ones_of_its_connection(tmp_path: Path) -> None:
    sends = [word for i in range(60) for word in ("compute 30000", f"send 1 {i} 1000")]
    # The last one is received first: it must not overtake what was lost.
    receives = [word for i in reversed(range(60)) for word in (f"recv 0 {i} 1000", "compute 40000")]
    trace = ti(tmp_path, [sends, receives])
    (times,) = replayed(trace, "across=0,25000000,0,0,0,0 loss=0.1,5000000000,1448,1,1,0,0,0 repeats=20")
    assert len(set(times)) > 1


def test_later_packets_of_a_connection_reveal_a_loss_in_event_mode(tmp_path: Path) -> None:
    later, latency, rto, p, draws = 1_000, 25_000_000, 5_000_000_000, 0.1, 4000
    trace = ti(tmp_path, [["send 1 0 1", f"compute {later}", "send 1 1 1"], ["recv 0 0 1", "recv 0 1 1"]])
    word = f"mode=event across=0,{latency},0,0,0,0 repeats={draws} loss={p},{rto},1448,1,1,0,"
    timer, told = (answer["time"] for answer in asked(trace, word + "0,0", word + "1,0")[1:])
    mended = (
        later * 1000 + 3 * latency
    )  # the second one's way, the acknowledgement's, and the way of what is sent again
    assert mended not in timer
    assert told.count(mended) / draws == pytest.approx(p * (1 - p), abs=4 * math.sqrt(p / draws))
    assert min(told) == later * 1000 + latency
    assert max(told) >= rto  # nothing follows the second message
    refused = asked(trace, word.replace("mode=event ", "") + "1,0")[1]
    assert "sack=on needs mode event" in refused["error"]


@pytest.mark.parametrize(("size", "probes"), [(1448, False), (1449, True)])
def test_a_message_of_several_packets_is_probed_before_the_timer(tmp_path: Path, size: int, probes: bool) -> None:
    latency, rto, probe, p = 25_000_000, 200_000_000_000, 2_000_000_000, 0.05
    trace = ti(tmp_path, [[f"send 1 0 {size}"], [f"recv 0 0 {size}"]])
    (answer,) = asked(trace, f"across=0,{latency},0,0,0,0 repeats=400 loss={p},{rto},1448,1,1,{probe},0,0")[1:]
    late = sorted(set(answer["time"]) - {latency})
    assert late[0] == latency + (4 * latency + probe if probes else rto)


def test_neither_threads_nor_company_change_a_draw(tmp_path: Path) -> None:
    trace = ti(tmp_path, stencil(4, 20, 100_000, 2_000))
    word = "across=0,25000000,5000000,0,0,8000 loss=0.01,5000000000,1448,1,1,0,0,0 noise=1000000000,50000000,0,0"
    lines = [word + f" repeats={n} threads={threads}" for n, threads in ((37, 1), (37, 4), (5, 2), (1, 1))]
    many, threaded, few, one = (a["time"] for a in asked(trace, *lines)[1:])
    assert many == threaded
    assert many[:5] == few
    assert many[:1] == one
    (other,) = (a["time"] for a in asked(trace, word + " repeats=37 seed=2")[1:])
    assert set(many).isdisjoint(other)


# The laws of a program whose ranks all wait for each other at each step (burst T, delay d, probability p, N ranks):
# it takes longer by (d / T) (1 - (1 - p)^N).
@pytest.mark.parametrize(
    ("ranks", "p", "relative"), [(16, 0.001, 0.5), (16, 0.05, 2.0), (128, 0.01, 0.5), (128, 0.2, 2.0)]
)
def test_noise_before_a_barrier_costs_what_the_closed_form_says(
    tmp_path: Path, ranks: int, p: float, relative: float
) -> None:
    steps, burst, draws = 200, 1_000_000, 64
    trace = ti(tmp_path, [[f"compute {burst}", "barrier"] * steps] * ranks)
    (answer,) = asked(trace, f"across=0,0,0,0,0,0 noise=0,{relative * burst * 1000:.0f},{p},0 repeats={draws}")[1:]
    slowdown = [time / (1000 * burst * steps) - 1 for time in answer["time"]]
    hit = 1 - (1 - p) ** ranks
    spread = relative * math.sqrt(hit * (1 - hit) / (steps * draws))
    assert sum(slowdown) / draws == pytest.approx(relative * hit, abs=4 * spread + 1e-12)


@pytest.mark.parametrize(("q", "backoff"), [(0.2, True), (0.05, True), (0.3, False)])
def test_lost_messages_wait_as_long_as_the_closed_form_says(tmp_path: Path, q: float, backoff: bool) -> None:
    messages, draws, rto = 500, 64, 1_000_000_000
    # One after the other: each waits for the one before.
    there = [x for i in range(messages) for x in (f"send 1 {i} 1", f"recv 1 {i} 1")]
    back = [x for i in range(messages) for x in (f"recv 0 {i} 1", f"send 0 {i} 1")]
    trace = ti(tmp_path, [there, back])
    (answer,) = asked(trace, f"across=0,0,0,0,0,0 loss={q},{rto},0,{backoff:d},1,0,0,0 repeats={draws}")[1:]
    each = [time / rto / (2 * messages) for time in answer["time"]]
    mean = sum(each) / draws
    spread = math.sqrt(sum((x - mean) ** 2 for x in each) / (draws - 1) / draws)
    assert mean == pytest.approx(q / (1 - 2 * q) if backoff else q / (1 - q), abs=4 * spread)
    assert spread < 0.1 * mean


# An independent max-plus program gave these: N = 64 ranks on a torus, noise before each burst with probability p, and
# d/T = 0.5 and 2 (20,000 steps).
TABLE = [
    pytest.param(1e-3, 0.5, 0.0272, marks=pytest.mark.long),
    (1e-3, 2.0, 0.1017),
    (1e-2, 0.5, 0.1234),
    pytest.param(1e-2, 2.0, 0.4859, marks=pytest.mark.long),
    pytest.param(1e-1, 0.5, 0.3494, marks=pytest.mark.long),
    (1e-1, 2.0, 1.3951),
]
STEPS, BURST, DRAWS = 1000, 1_000_000, 32


@pytest.fixture(scope="module")
def torus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of a torus of 8 × 8 ranks."""
    return ti(tmp_path_factory.mktemp("torus"), stencil(8, STEPS, BURST, 1))


def slowdowns(torus: Path, words: str) -> tuple[float, float]:
    """Mean and standard deviation over draws."""
    (answer,) = asked(torus, f"across=0,0,0,0,0,0 {words} repeats={DRAWS} threads=2")[1:]
    found = np.array(answer["time"]) / (1000 * BURST * STEPS) - 1
    return float(found.mean()), float(found.std(ddof=1))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("p", "relative", "expected"), TABLE)
def test_noise_on_a_stencil_costs_what_a_max_plus_program_says(
    torus: Path, p: float, relative: float, expected: float
) -> None:
    mean, spread = slowdowns(torus, f"noise=0,{relative * BURST * 1000:.0f},{p},0")
    # The table's own error is that of 20,000 steps, ours that of so many more.
    assert mean == pytest.approx(expected, abs=4 * spread * math.sqrt(STEPS / 20_000 + 1 / DRAWS))


def max_plus(side: int, steps: int, p: float, delay: float, seed: int) -> float:
    """The slowdown of a torus on which each message is late by as many delays as it is lost times."""
    random = np.random.default_rng(seed)
    now = np.zeros((side, side))
    for _ in range(steps):
        done = now + 1
        now = done.copy()
        for axis in (0, 1):
            for step in (1, -1):
                late = done + delay * (random.geometric(1 - p, (side, side)) - 1)
                now = np.maximum(now, np.roll(late, step, axis))
    return float(now.max()) / steps - 1


@pytest.mark.parametrize(
    ("p", "relative"),
    [
        pytest.param(1e-3, 0.5, marks=pytest.mark.long),
        (1e-2, 0.5),
        pytest.param(1e-2, 2.0, marks=pytest.mark.long),
        pytest.param(1e-1, 2.0, marks=pytest.mark.long),
    ],
)
def test_late_messages_on_a_stencil_cost_what_a_max_plus_program_says(torus: Path, p: float, relative: float) -> None:
    mean, spread = slowdowns(torus, f"loss={p},{relative * BURST * 1000:.0f},0,0,0,0,0,0")
    others = [max_plus(8, STEPS, p, relative, seed) for seed in range(8)]
    assert mean == pytest.approx(sum(others) / 8, abs=4 * spread * math.sqrt(1 / 8 + 1 / DRAWS))


def test_noise_at_the_same_moments_costs_no_more_than_its_share(tmp_path: Path) -> None:
    steps, burst = 400, 1_000_000
    trace = ti(tmp_path, [[f"compute {burst}", "barrier"] * steps] * 32)
    word = "across=0,0,0,0,0,0 noise=10000000000,100000000,0,{} repeats=16"
    apart, together = (
        [t / (1000 * burst * steps) - 1 for t in a["time"]] for a in asked(trace, word.format(0), word.format(1))[1:]
    )
    # 0.1 ms in 10 ms is 1 %; of 32 ranks nearly each step hits one that is interrupted, where they are so apart.
    assert all(0.009 < x < 0.0125 for x in together)
    assert all(x > 0.02 for x in apart)


@pytest.mark.parametrize("mode", ["dataflow", "event"])
def test_recorded_noise_of_one_interruption_is_periodic_noise(mode: str, tmp_path: Path) -> None:
    trace = ti(tmp_path, stencil(4, 30, 100_000, 2_000))
    record = tmp_path / "noise"
    record.write_text("# length 1000000\n0 50000\n", encoding="utf-8")
    word, recorded_word = f"across=0,25000000,5000000,0,0,8000 repeats=20 mode={mode} noise=", f" recording={record}"
    periodic, recorded, together, same = (
        answer["time"]
        for answer in asked(
            trace,
            word + "1000000000,50000000,0,0",
            word + "0,0,0,0" + recorded_word,
            word + "1000000000,50000000,0,1",
            word + "0,0,0,1" + recorded_word,
        )[1:]
    )
    assert periodic == recorded
    assert together == same
    assert together != periodic


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    gaps=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 30)), min_size=1, max_size=6),
    rest=st.integers(1, 40),
    work=st.integers(1, 500),
)
def test_work_takes_its_time_and_its_recorded_interruptions(
    tmp_path: Path, gaps: list[tuple[int, int]], rest: int, work: int
) -> None:
    busy: list[bool] = []  # ns by ns
    lines = []
    for gap, duration in gaps:
        busy += [False] * gap
        lines.append(f"{len(busy)} {duration}")
        busy += [True] * duration
    busy += [False] * rest
    record = tmp_path / "noise"
    record.write_text("\n".join([f"# length {len(busy)}", *lines]) + "\n", encoding="utf-8")
    # Two ranks without messages: the later of them ends as one of all possible phases says.
    (found,) = asked(ti(tmp_path, [[f"compute {work}"]]), f"across=0,0,0,0,0,0 recording={record} repeats=5")[1:]

    def ends(phase: int) -> int:
        at, left = -phase, work
        while left:
            left -= not busy[at % len(busy)]
            at += 1
        return at + phase

    possible = {ends(phase) for phase in range(len(busy))}
    # The phase is drawn in ps: an end lies between those of two whole ns.
    assert all(min(possible) * 1000 <= t <= max(possible) * 1000 for t in found["time"])


def test_rare_long_noise_costs_more_than_frequent_short_noise(tmp_path: Path) -> None:
    trace = ti(tmp_path, stencil(8, 100, 100_000, 8))
    word = "across=0,0,0,0,0,0 noise={},{},0,0 repeats=16"
    rare, often = (a["time"] for a in asked(trace, word.format(100 * 10**9, 10**9), word.format(10**9, 10**7))[1:])
    assert sum(rare) > 1.2 * sum(often)


def test_packets_lost_before_the_last_are_sent_again_at_once(tmp_path: Path) -> None:
    trace = ti(tmp_path, [["send 1 0 1000000"], ["recv 0 0 1000000"]])
    word = Parameters(L=1_000_000, G=8_000, eager=1 << 30).word()
    lines = [word, *(f"{word} loss=0.001,200000000000,1448,1,{fast},0,0,0 repeats=400" for fast in (1, 0))]
    bare, fast, slow = (a["time"] for a in asked(trace, *lines)[1:])
    timed_out = [sum(t - bare[0] >= 200_000_000_000 for t in times) / 400 for times in (fast, slow)]
    # 691 packets: one of the last three, or one of all.
    assert timed_out[0] == pytest.approx(1 - 0.999**3, abs=0.01)
    assert timed_out[1] == pytest.approx(1 - 0.999**691, abs=0.1)
    assert sum(0 < t - bare[0] <= 2_000_000 for t in fast) / 400 == pytest.approx(1 - 0.999**688, abs=0.1)
