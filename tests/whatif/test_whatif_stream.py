"""receive=stream: the receiver's processor is busy while the data stream in, as LogGOPSim has it; its times to the nanosecond."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replays import Parameters, asked, ti
from steelyard.errors import UsageError
from steelyard.show.command_line import cli
from streams import BOOK, LONG, Op, Oracle, Ranks, goal, stencil
from traces import FINALIZE, by_hand, rank_file, record

NETWORK = "L=2500ns,o=1500ns,g=1000ns,G=6ns/B"


def sends(to: int) -> Op:
    return Op("send", LONG, to)


def receives(source: int) -> Op:
    return Op("recv", LONG, source)


def word(p: Parameters) -> str:
    """The engine's words, of parameters in ns."""
    across = ",".join(str(1000 * x) for x in (p.L, p.o, p.g, p.O, p.G))
    return f"across=0,{across} eager={p.eager}"


def streamed(folder: Path, ranks: Ranks, p: Parameters = BOOK) -> list[int]:
    """The default's time, then the switch's, in ps."""
    path = folder / "trace.goal"
    path.write_text(goal(ranks), encoding="utf-8")
    _, *answers = asked(path, word(p), f"{word(p)} receive=stream", f"{word(p)} receive=stream mode=event")
    assert answers[1]["time"] == answers[2]["time"]
    return [answers[0]["time"][0], answers[1]["time"][0]]


# What the simulator itself says of these, with L=2500, o=1500, g=1000, G=6 ns: the default first.
CASES: dict[str, tuple[Ranks, int, int]] = {
    "one message": ([[sends(1)], [receives(0)]], 54_646, 54_646),
    "two in a row": ([[sends(1)] * 2, [receives(0)] * 2], 104_792, 105_292),
    "two each way": ([[sends(1)] * 2 + [receives(1)] * 2, [sends(0)] * 2 + [receives(0)] * 2], 104_792, 109_292),
    "a step of a stencil": (stencil(8, 8, 1, 100_000, LONG), 305_084, 318_584),
    "stencil": (stencil(8, 8, 20, 100_000, LONG), 20 * 305_084, 20 * 318_584),
}


@pytest.mark.parametrize(("ranks", "whole", "stream"), CASES.values(), ids=CASES)
def test_the_times_are_those_of_loggopsim(tmp_path: Path, ranks: Ranks, whole: int, stream: int) -> None:
    assert streamed(tmp_path, ranks) == [1000 * whole, 1000 * stream]
    assert Oracle(ranks, BOOK).run() == stream


def test_messages_that_wait_for_one_receiver_take_no_quadratic_time(tmp_path: Path) -> None:
    """If each of 25,600 waiting messages were tried again after each other one, this would take a minute."""
    senders, each = 64, 400
    ranks = [[receives(1 + i % senders) for i in range(senders * each)], *[[sends(0)] * each] * senders]
    one = BOOK.o + BOOK.G * (LONG - 1)
    assert streamed(tmp_path, ranks)[1] == 1000 * (BOOK.o + BOOK.L + senders * each * one)


# Worked out by hand from the three rules.
def test_an_early_message_takes_the_processor_at_its_arrival(tmp_path: Path) -> None:
    """It comes at 4000, is taken until 54646, and the computing begins there: its receive is open from the end on."""
    late = [Op("calc", 1000), Op("calc", 100_000, after=[0]), Op("recv", LONG, 0, after=[1])]
    assert streamed(tmp_path, [[sends(1)], late])[1] == 1000 * (1000 + 100_000 + BOOK.o + BOOK.G * (LONG - 1))


def test_a_send_with_rendezvous_ends_where_its_receive_begins(tmp_path: Path) -> None:
    """Nothing is asked before: the data go at once, and the sender's next computing waits for the receive."""
    p = Parameters(L=2500, o=1500, g=1000, G=6, eager=1000)
    ranks = [[sends(1), Op("calc", 90_000, after=[0])], [Op("calc", 70_000), Op("recv", LONG, 0, after=[0])]]
    assert streamed(tmp_path, ranks, p)[1] == 1000 * (70_000 + 90_000)


@pytest.mark.parametrize(("size", "end"), [(8192, 100_000), (60_000, 2500 + 1500 + 1500 + 6 * 59_999)])
def test_a_collective_that_does_not_wait_goes_on_beside_the_computing(size: int, end: int, tmp_path: Path) -> None:
    """A broadcast is begun, 100 µs are computed, and then it is waited for."""
    records = [record(10, 0, 0, 1, 0, size, 1), record(7, 100_000, 0, 1, 1 << 2), FINALIZE]
    trace = by_hand(tmp_path / "trace", [rank_file(rank, 2, records) for rank in range(2)])
    _, found = asked(trace, f"{word(BOOK)} receive=stream")
    assert found["time"] == [1000 * end]


def test_an_overhead_for_each_byte_hides_a_smaller_gap(tmp_path: Path) -> None:
    p = Parameters(L=2500, o=1500, g=1000, G=6, O=7)
    assert streamed(tmp_path, [[sends(1)], [receives(0)]], p)[1] == 1000 * (2500 + 2 * 1500 + 7 * (LONG - 1))


SIZES = st.sampled_from([1, 8, 1000, LONG, 70_000])


@st.composite
def programs(draw: st.DrawFn) -> Ranks:
    """Rounds of messages between ranks, with computing; each operation needs some of the last ones of its rank."""
    count = draw(st.integers(2, 4))
    ranks: list[list[Op]] = [[] for _ in range(count)]

    def needs(rank: int) -> tuple[list[int], list[int]]:
        near = list(range(max(0, len(ranks[rank]) - 3), len(ranks[rank])))
        chosen = draw(st.lists(st.sampled_from(near), max_size=2, unique=True)) if near else []
        cut = draw(st.integers(0, len(chosen)))
        return chosen[:cut], chosen[cut:]

    for tag in range(draw(st.integers(1, 8))):
        rank, other = draw(st.permutations(range(count)))[:2]
        size = draw(SIZES)
        for one, op in ((rank, "calc"), (rank, "send"), (other, "recv")):
            after, begun = needs(one)
            amount = draw(st.integers(0, 90_000)) if op == "calc" else size
            ranks[one].append(Op(op, amount, other if one == rank else rank, tag, after, begun))
    return ranks


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ranks=programs(), for_each_byte=st.sampled_from([0, 2, 9]), gap=st.sampled_from([0, 1000, 60_000]))
def test_any_program_takes_as_long_as_in_the_oracle(tmp_path: Path, ranks: Ranks, for_each_byte: int, gap: int) -> None:
    p = Parameters(L=2500, o=1500, g=gap, G=6, O=for_each_byte)
    text = tmp_path / "trace.goal"
    text.write_text(goal(ranks), encoding="utf-8")
    _, answer = asked(text, f"{word(p)} receive=stream")
    oracle = Oracle(ranks, p)
    expected = oracle.run()
    if "error" in answer:
        assert "waits forever" in answer["error"]
    else:
        assert answer["time"] == [1000 * expected]


def test_every_other_format_is_replayed_with_receive_stream(tmp_path: Path) -> None:
    actions = [["isend 1 0 8192", "isend 1 0 8192", "waitall"], ["irecv 0 0 8192", "irecv 0 0 8192", "waitall"]]
    assert asked(ti(tmp_path, actions), f"{word(BOOK)} receive=stream")[1]["time"] == [105_292_000]


def test_a_network_says_it_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.goal"
    path.write_text(goal(CASES["two each way"][0]), encoding="utf-8")

    def said(network: str) -> object:
        cli.run_words(["whatif", str(path), "--json", "--set", f"network={network}"])
        return json.loads(capsys.readouterr().out)["time"]

    assert said(NETWORK) == pytest.approx(104_792e-9, rel=1e-12)
    assert said(f"{NETWORK},receive=stream") == pytest.approx(109_292e-9, rel=1e-12)
    cli.run_words(["whatif", str(path), "--set", f"network={NETWORK},receive=stream:whole"])
    out = capsys.readouterr().out
    assert "109.3 µs" in out
    assert "104.8 µs" in out
    assert "receive" in out


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--set", "loss=probability=1%"], "receive=stream does not work with lost packets or noise"),
        (["--set", "noise=period=1ms,duration=1us"], "receive=stream does not work with lost packets or noise"),
    ],
)
def test_conditions_that_receive_stream_lacks_get_a_sentence(tmp_path: Path, more: list[str], sentence: str) -> None:
    path = tmp_path / "trace.goal"
    path.write_text(goal(CASES["one message"][0]), encoding="utf-8")
    with pytest.raises(UsageError, match=sentence):
        cli.run_words(["whatif", str(path), "--set", f"network={NETWORK},receive=stream", *more])


def test_a_stream_has_no_speeds_of_regions(tmp_path: Path) -> None:
    trace = by_hand(tmp_path / "x", [rank_file(0, 1, [record(9, 1000, 0, 0, 0, 0), FINALIZE])])
    with pytest.raises(UsageError, match="receive=stream does not support core speeds of regions"):
        cli.run_words(["whatif", str(trace), "--set", f"network={NETWORK},receive=stream", "--set", "core=2@region=1"])


def test_an_unknown_way_to_receive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.goal"
    path.write_text(goal(CASES["one message"][0]), encoding="utf-8")
    with pytest.raises(UsageError, match="'flow' is not allowed: expected whole or stream"):
        cli.run_words(["whatif", str(path), "--set", f"network={NETWORK},receive=flow"])
