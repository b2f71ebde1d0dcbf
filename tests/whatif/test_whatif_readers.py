"""The formats of traces: what they mean, and a sentence with file and line where they are wrong."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replays import Parameters, asked, ti

FREE = "across=0,0,0,0,0,0"
BOOK = Parameters(L=2_500_000, o=1_500_000, g=1_000_000, G=6_000).word()

# Written by hand from the format's description.
GOAL = """\
num_ranks 2

rank 0 {
l1: calc 100 cpu 0
l2: send 8192b to 1 tag 5 cpu 0 nic 0
l3: recv 10b from 1 tag 6
l2 requires l1
l3 irequires l1
}

rank 1 {
a: recv 8192b from 0 tag 5
b: calc 1000
c: send 10b to 0 tag 6
b requires a
c requires b
}
"""


def of(folder: Path, text: str | bytes, *lines: str) -> list[dict[str, object]]:
    path = folder / "trace"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return asked(path, *lines)


def test_a_goal_file_written_by_hand_is_replayed(tmp_path: Path) -> None:
    about, free, book, event = of(tmp_path, GOAL, FREE, BOOK, BOOK + " mode=event")
    assert (about["ranks"], about["messages"], about["bytes"], about["events"]) == (2, 2, 8202, 8)
    assert free["time"] == [1_100_000]
    assert book["time"] == event["time"] == [1_100_000 + 4 * 1_500_000 + 2 * 2_500_000 + 6_000 * (8191 + 9)]


def test_processors_of_a_rank_wait_for_each_other(tmp_path: Path) -> None:
    text = "num_ranks 1\nrank 0 {\na: calc 1000 cpu 0\nb: calc 500 cpu 1\nb requires a\nc: calc 300 cpu 2\n}\n"
    assert of(tmp_path, text, FREE, FREE + " mode=event")[1]["time"] == [1_500_000]


def test_a_receive_of_another_processor_is_waited_for(tmp_path: Path) -> None:
    text = """num_ranks 2
rank 0 {
a: recv 1b from 1 tag 0 cpu 1
b: calc 10 cpu 0
c: calc 1000 cpu 0
c requires a
}
rank 1 {
a: calc 5000
b: send 1b to 0 tag 0
b requires a
}
"""
    assert of(tmp_path, text, FREE)[1]["time"] == [6_000_000]
    begun = text.replace("c requires a", "c irequires a")
    assert of(tmp_path, begun, FREE)[1]["time"] == [5_000_000]


def test_operations_that_require_nothing_of_each_other_overlap(tmp_path: Path) -> None:
    first = "rank 0 {\na: recv 1b from 1\nb: calc 3000\nc: calc 10\nc requires a\n}\n"
    text = f"num_ranks 2\n{first}rank 1 {{\nx: calc 2000\ny: send 1b to 0\ny requires x\n}}\n"
    assert of(tmp_path, text, FREE)[1]["time"] == [3_010_000]


COLLECTIVES = {
    "barrier": 24,
    "bcast 8 0": 7,
    "bcast 100000 3": 7 + 24,  # scattered by a tree, gathered by recursive doubling
    "bcast 1000000 0": 7 + 56,  # gathered by a ring
    "reduce 8 0 2": 7,
    "allreduce 8 0": 24,
    "allreduce 100000 0": 48,
    "alltoall 8 8": 24,
    "alltoall 1000 1000": 56,
    "alltoall 100000 100000": 56,
    "gather 8 8 1": 7,
    "scatter 8 8 1": 7,
    "allgather 8 8": 24,
    "allgather 1000000 1000000": 56,
    "reducescatter 8 8 8 8 8 8 8 8 0": 24,
    "scan 8 0": 24,
}


@pytest.mark.parametrize(("action", "messages"), COLLECTIVES.items())
def test_a_collective_is_as_many_messages_as_its_algorithm_has(tmp_path: Path, action: str, messages: int) -> None:
    about, answer = asked(ti(tmp_path, [[action]] * 8), BOOK)
    assert about["messages"] == messages
    assert answer["time"][0] > 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ranks=st.integers(1, 20), size=st.sampled_from([0, 8, 3000, 50_000, 700_000]), root=st.integers(0, 19))
def test_every_collective_ends_on_any_number_of_ranks(tmp_path: Path, ranks: int, size: int, root: int) -> None:
    root %= ranks
    counts = " ".join([str(size)] * ranks)
    every = [
        "barrier", f"bcast {size} {root}", f"reduce {size} 0 {root}", f"allreduce {size} 0", f"alltoall {size} {size}",
        f"gather {size} {size} {root}", f"scatter {size} {size} {root}", f"allgather {size} {size}", f"scan {size} 0",
        f"reducescatter {counts} 0", f"allgatherv {size} {counts}", f"alltoallv {size} {counts} {size} {counts}",
        f"gatherv {size} {counts} {root}", f"scatterv {counts} {size} {root}", f"exscan {size} 0",
    ]  # fmt: skip
    about, flow, event = asked(ti(tmp_path, [every] * ranks), BOOK, BOOK + " mode=event")
    assert about["unreceived"] == 0
    assert (flow["time"][0] > 0) == (ranks > 1)
    assert event["time"][0] >= flow["time"][0] * 0.999  # its queues can change which of two messages is first


def test_sizes_count_doubles_where_init_has_a_number_and_bytes_where_not(tmp_path: Path) -> None:
    for words, size in (("init 1", 80), ("init", 10)):
        (about,) = of(tmp_path, f"0 {words}\n1 {words}\n0 send 1 0 10\n1 recv 0 0 10\n")
        assert about["bytes"] == size


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("num_ranks 0\n", "line 1: a trace of this length can have 1 to"),
        ("num_ranks 99999999999\n", "line 1: a trace of this length can have 1 to"),
        ("num_ranks 2\nrank 7 {\n}\n", "line 2: there are 2 ranks, from 0"),
        ("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", "line 4: rank 0 appears twice"),
        ("num_ranks 1\nrank 0 {\nfly 8\n}\n", "line 3: 'fly' is not one of calc, send, recv, requires, irequires"),
        ("num_ranks 1\nrank 0 {\na: calc -1\n}\n", "line 3: a time lies between 0 and 26 days"),
        ("num_ranks 1\nrank 0 {\na: calc 1\na: calc 2\n}\n", "line 4: 'a' is the name of two operations"),
        ("num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}\n", "line 4: no operation above has the name 'b'"),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n",
            "require each other in a circle",
        ),
        ("num_ranks 1\nrank 0 {\na: calc 1", "line 3: the file ends within a rank"),
        (
            "num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 3\n}\n",
            "tag 3 from rank 1, but that rank never sends it",
        ),
        ("num_ranks 2\nrank 0 {\na: send 8b to 5\n}\n", "rank 0 sends to rank 5; there are 2 ranks"),
        ("0 init\n0 jump 7\n", "line 2: 'jump' is not a known action"),
        ("0 init\n0 compute\n", "line 2: the line ends where an amount of work is expected"),
        ("0 init\n0 compute nan\n", "line 2: work takes between 0 and 23 days"),
        ("0 init\n0 send 1 0 5\n", "line 2: there are 1 ranks, from 0; '1' is not one of them"),
        ("0 init\n1 init\n0 send 1 0 -5\n", "line 3: a message has 0 to 2^50 bytes"),
        ("0 init\n1 init\n0 send 1 0 5 99\n", "line 3: datatype 99 is unknown"),
        ("0 init\n1 init\n0 recv 1 0 5\n1 recv 0 0 5\n", "rank 0 receives, as its receive number 1"),
        ("nowhere\n", "cannot be read: No such file or directory"),
        ("999999999999 init\n", "line 1: a trace of this length can have 1 to"),
    ],
)
def test_a_mistake_in_a_trace_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    assert said in str(of(tmp_path, text)[0]["error"])


def test_ranks_that_wait_for_each_other_forever_are_named(tmp_path: Path) -> None:
    crossed = ["send 1 0 100000\n0 recv 1 0 100000", "send 0 0 100000\n1 recv 0 0 100000"]
    text = "0 init 1\n1 init 1\n" + "".join(f"{r} {a}\n" for r, a in enumerate(crossed))
    _, eager, met = of(tmp_path, text, BOOK.replace("65535", "1000000"), BOOK)
    assert "time" in eager
    assert met["error"] == (
        "rank 0 waits forever: its message to rank 1 is larger than the eager limit, and its receive never begins"
    )


def test_times_beyond_all_reason_get_a_sentence_and_no_overflow(tmp_path: Path) -> None:
    day = 20 * 86400 * 10**9  # 20 days, in ns
    ranks = 7
    chain = [[*([f"recv {r - 1} 0 1"] if r else []), f"compute {day}", f"send {r + 1} 0 1"] for r in range(ranks - 1)]
    long, heavy, slow = FREE, "across=0,0,0,0,0,1e16", FREE + " core=1e-9"
    for mode in ("dataflow", "event"):
        _, *answers = asked(
            ti(tmp_path, [*chain, [f"recv {ranks - 2} 0 1"]]), *(f"{x} mode={mode}" for x in (long, slow))
        )
        assert [a["error"] for a in answers] == ["the predicted time is longer than 53 days"] * 2
        _, answer = asked(ti(tmp_path, [["send 1 0 1000000"], ["recv 0 0 1000000"]]), f"{heavy} mode={mode}")
        assert answer["error"] == "a message of 1000000 B takes more than 6 days"


WORDS = (
    "0 1 -1 2 99 1e300 nan num_ranks rank { } a: a b: b calc send recv 8b to from tag cpu requires irequires init compute isend"
    " irecv wait waitall bcast allreduce alltoallv barrier 18446744073709551616 \x00 é # // trace ."
)
PIECES = st.sampled_from(WORDS.split(" "))
HEADS = st.sampled_from(["num_ranks 2", "0 init", ""])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(st.lists(PIECES, max_size=7).map(" ".join), max_size=12), head=HEADS)
def test_no_text_ends_the_engine_without_an_answer(tmp_path: Path, lines: list[str], head: str) -> None:
    answers = of(tmp_path, "\n".join([head, *lines]), FREE)
    assert all(("error" in a) != ("seconds" in a) for a in answers)
