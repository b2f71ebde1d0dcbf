"""Liballprof's traces, written by hand from the description of their lines: what they mean, and a sentence for the rest."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replays import Parameters, asked
from steelyard.commands import cli
from traces import FINALIZE, by_hand, rank_file, record

P = Parameters(L=2_500_000, o=1_500_000, g=1_000_000, G=80)
EVENT = P.word() + " mode=event"
HEAD = "# htor's PMPI Tracer 1.0 Output File\n# time: Sat Mar 21 20:07:26 2009\n# hostname: node{}.(none)\n\n"
BASE = 1237666046950106  # µs since 1970, as MPI_Wtime counts on many systems
INT, DOUBLE = "1,4,4", "11,8"


class Ticking:
    """Lines of one rank: each call begins `gap` µs after the one before has ended, and takes 10."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.now, self.world = BASE + 1000 * rank, f"0,{rank},{ranks}"
        self.lines = [HEAD.format(rank) + f"MPI_Init:-:1400:1408:{self.now}"]

    def call(self, name: str, *arguments: object, gap: int = 5) -> "Ticking":
        begin, self.now = self.now + gap, self.now + gap + 10
        words = ":".join(str(self.world if one == "W" else one) for one in arguments)
        self.lines.append(f"MPI_{name}:{begin}:{words}:{self.now}" if words else f"MPI_{name}:{begin}:{self.now}")
        return self

    def end(self) -> str:
        return "\n".join([*self.lines, "# Finalize clockdiff: 0.5", f"MPI_Finalize:{self.now + 5}:-"]) + "\n"


def written(folder: Path, ranks: Sequence[Ticking | str], name: str = "pmpi-trace-rank-{}.txt") -> Path:
    folder.mkdir(exist_ok=True)
    for rank, one in enumerate(ranks):
        text = one if isinstance(one, str) else one.end()
        (folder / name.format(rank)).write_text(text, encoding="utf-8")
    return folder


def of_two() -> list[Ticking]:
    return [Ticking(0, 2), Ticking(1, 2)]


def refused(folder: Path, first: Ticking | str, second: Ticking | str | None = None) -> str:
    [about] = asked(written(folder, [first, second or Ticking(1, 2)]))[:1]
    return str(about.get("error"))


def test_what_lies_between_calls_is_computing_and_messages_take_the_networks_time(tmp_path: Path) -> None:
    first, second = of_two()
    first.call("Send", 4096, 3, DOUBLE, 1, 7, "W", gap=400)
    second.call("Recv", 8192, 100, DOUBLE, 0, 7, "W", 0).call("Comm_rank", "W", 64, gap=30)
    about, found = asked(written(tmp_path / "x", [first, second]), P.word())
    assert (about["messages"], about["bytes"], about["traced"]["broken"]) == (1, 24, [])
    # Rank 1 computes 5 µs before its receive; then 30 and 5 µs behind it.
    assert found["time"] == [400_000_000 + 2 * P.o + P.L + 23 * P.G + 35_000_000]
    assert about["traced"]["time"] == pytest.approx(400e-6 + 10e-6 + 5e-6)


def test_times_have_digits_behind_the_point_in_some_versions(tmp_path: Path) -> None:
    text = "MPI_Init:-:0:0:1000.250000\nMPI_Wtime:1003.75:1004\nMPI_Finalize:1004.5:-\n"
    [_, found] = asked(written(tmp_path / "x", [text]), P.word())
    assert found["time"] == [3_500_000 + 500_000]


def ours(first: Sequence[bytes], second: Sequence[bytes], folder: Path) -> Path:
    return by_hand(folder, [rank_file(rank, 2, [*lines, FINALIZE]) for rank, lines in enumerate((first, second))])


Pair = tuple[list[object], list[object], list[int], list[int]]


def alike(arguments: list[object], numbers: list[int]) -> Pair:
    return arguments, arguments, numbers, numbers


# Of each call: Liballprof's arguments on rank 0 and on rank 1, and the record of ours that each of them is.
COLLECTIVES: dict[str, Pair] = {
    "Barrier": alike(["W"], [9, 0, 0, 0]),
    "Bcast": alike([64, 10, DOUBLE, 1, "W"], [9, 1, 1, 80]),
    "Reduce": alike([64, 0, 10, INT, 3, 1, "W"], [9, 2, 1, 40]),
    "Allreduce": alike([1, 2, 10, INT, 3, "W"], [9, 3, 0, 40]),
    "Scan": alike([1, 2, 10, INT, 3, "W"], [9, 9, 0, 40]),
    "Gather": ([1, 3, DOUBLE, 2, 6, INT, 0, "W"], [1, 3, DOUBLE, 2, 99, INT, 0, "W"], [9, 4, 0, 24], [9, 4, 0, 24]),
    "Scatter": ([1, 3, DOUBLE, 2, 6, INT, 0, "W"], [1, 99, INT, 2, 3, DOUBLE, 0, "W"], [9, 5, 0, 24], [9, 5, 0, 24]),
    "Allgather": alike([1, 3, DOUBLE, 2, 3, DOUBLE, "W"], [9, 6, 0, 24]),
    "Alltoall": alike([1, 3, DOUBLE, 2, 3, DOUBLE, "W"], [9, 7, 0, 24]),
    "Reduce_scatter": alike([8, 16, 4000, "3,4", INT, 3, "W"], [9, 8, 0, 28]),
    "Reduce_scatter_block": alike([8, 16, 3, INT, 3, "W"], [9, 8, 0, 24]),
    "Gatherv": (
        [8, 2, INT, 16, 4000, "2,5", 4100, "0,2", DOUBLE, 0, "W"],
        [8, 10, INT, 16, 4000, "-7,77", 4100, "0,2", DOUBLE, 0, "W"],  # what a rank that is no root has means nothing
        [11, 4, 0, 2, 16, 40],
        [11, 4, 0, 1, 40],
    ),
    "Scatterv": (
        [8, 4000, "2,5", 4100, "0,2", DOUBLE, 16, 4, INT, 0, "W"],
        [8, 4000, "0,0", 4100, "0,2", DOUBLE, 16, 10, INT, 0, "W"],
        [11, 5, 0, 2, 16, 40],
        [11, 5, 0, 1, 40],
    ),
    "Allgatherv": (
        [8, 2, DOUBLE, 16, 4000, "2,5", 4100, "0,2", DOUBLE, "W"],
        [8, 5, DOUBLE, 16, 4000, "2,5", 4100, "0,2", DOUBLE, "W"],
        [11, 6, 0, 2, 16, 40],
        [11, 6, 0, 2, 16, 40],
    ),
    "Alltoallv": (
        [8, 40, "1,2", 41, "0,0", DOUBLE, 16, 42, "2,6", 43, "0,0", INT, "W"],
        [1, 40, "9,9", 41, "0,0", DOUBLE, 16, 42, "4,1", 43, "0,0", INT, "W"],  # 1: MPI_IN_PLACE of some MPIs
        [11, 7, 0, 4, 8, 16, 8, 24],
        [11, 7, 0, 4, 16, 4, 16, 4],
    ),
}


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("waits", [True, False])
def test_each_collective_is_the_one_of_our_own_traces(tmp_path: Path, name: str, waits: bool) -> None:
    *arguments, first, second = COLLECTIVES[name]
    lines, records = of_two(), []
    for one, words, numbers in zip(lines, arguments, (first, second), strict=True):
        if waits:
            one.call(name, *words)
            records.append([record(numbers[0], 5000, 10_000, *numbers[1:]), record(22, 5000, 0)])
        else:
            begun = f"I{name[0].lower()}{name[1:]}"
            one.call(begun, *words, 640).call("Wait", 640, 0, gap=70)
            records.append([
                record(numbers[0] + 1, 5000, 10_000, *numbers[1:], 0),
                record(7, 70_000, 10_000, 1, 0),
                record(22, 5000, 0),
            ])  # fmt: skip
    about, *found = asked(written(tmp_path / "x", lines), P.word(), EVENT)
    same, *expected = asked(ours(*records, tmp_path / "y"), P.word(), EVENT)
    assert (about["messages"], about["bytes"]) == (same["messages"], same["bytes"])
    assert [one["time"] for one in found] == [one["time"] for one in expected]


def test_requests_are_known_by_their_addresses_and_an_array_of_them_by_its_first(tmp_path: Path) -> None:
    for name, step in (("pointers", 8), ("numbers", 4)):
        first, second = of_two()
        for one, other in ((first, 1), (second, 0)):
            for i in range(3):
                one.call("Irecv", 8, 100, DOUBLE, other, i, "W", 6400 + step * i)
            one.call("Isend", 8, 1, DOUBLE, other, 0, "W", 7200)
            for i in (1, 2):
                one.call("Send", 8, 1, DOUBLE, other, i, "W")
            one.call("Wait", 6400, 0, gap=50).call("Waitall", 2, 6400 + step, 0).call("Wait", 7200, 0)
        about, found, event = asked(written(tmp_path / name, [first, second]), P.word(), EVENT)
        assert (about["messages"], about["unreceived"]) == (6, 0)
        assert found["time"][0] > 100_000_000
        assert event["time"][0] > 0


def test_the_last_test_before_its_request_is_used_again_has_completed_it(tmp_path: Path) -> None:
    """Rank 0 asks twice, 3 µs apart, which is waiting, and computes 100 µs; then it answers what it has received."""

    def traced(folder: Path, asks: int) -> list[dict[str, Any]]:
        first, second = of_two()
        first.call("Irecv", 8, 1, DOUBLE, 1, 0, "W", 640)
        for _ in range(asks):
            first.call("Test", 640, 32, 0, gap=3)
        first.call("Send", 8, 1, DOUBLE, 1, 1, "W", gap=100)
        first.call("Irecv", 8, 1, DOUBLE, 1, 0, "W", 640).call("Testall", 1, 640, 32, 0)
        second.call("Send", 8, 1, DOUBLE, 0, 0, "W", gap=1000).call("Recv", 8, 1, DOUBLE, 0, 1, "W", 0)
        second.call("Send", 8, 1, DOUBLE, 0, 0, "W", gap=7)
        return asked(written(folder, [first, second]), P.word())

    answers = [traced(tmp_path / str(asks), asks) for asks in (1, 2, 5)]
    assert len({answer["time"][0] for _, answer in answers}) == 1
    message = 2 * P.o + P.L + 7 * P.G
    # Between the receive that is begun and its test rank 0 computes another 5 µs, and 5 before MPI_Finalize.
    assert answers[0][1]["time"] == [1000_000_000 + message + 100_000_000 + message + 7_000_000 + message + 5_000_000]


def test_nobody_is_known_where_a_rank_sends_to_nobody(tmp_path: Path) -> None:
    for nobody in (-1, -2):
        first, second = of_two()
        first.call("Send", 8, 1, DOUBLE, nobody, 0, "W").call("Isend", 8, 1, DOUBLE, nobody, 0, "W", 640)
        first.call("Wait", 640, 0).call("Sendrecv", 8, 1, DOUBLE, 1, 0, 8, 1, DOUBLE, nobody, 0, "W", 0)
        second.call("Irecv", 8, 1, DOUBLE, nobody, 0, "W", 640).call("Wait", 640, 0)
        second.call("Sendrecv_replace", 8, 1, DOUBLE, nobody, 0, 0, 0, "W", 0)
        about, found = asked(written(tmp_path / f"x{nobody}", [first, second]), P.word())
        assert (about["messages"], about["unreceived"]) == (1, 0)
        assert found["time"][0] > 0
    first, second = of_two()
    second.call("Recv", 8, 1, DOUBLE, -1, 0, "W", 0)
    assert "which is any rank, or none: the file does not say who sent" in refused(tmp_path / "y", first, second)


def test_a_communicator_of_the_rank_alone_is_read(tmp_path: Path) -> None:
    first, second = of_two()
    first.call("Allreduce", 1, 2, 1, INT, 3, "77,0,1").call("Irecv", 8, 1, INT, 0, 5, "77,0,1", 640)
    first.call("Send", 8, 1, INT, 0, 5, "77,0,1").call("Wait", 640, 0)
    about, _ = asked(written(tmp_path / "x", [first, second]), P.word())
    assert (about["messages"], about["bytes"]) == (1, 4)


def test_a_file_that_is_cut_ends_its_rank_there(tmp_path: Path) -> None:
    first, second = of_two()
    first.call("Send", 8, 1, DOUBLE, 1, 0, "W").call("Barrier", "W", gap=50)
    second.call("Recv", 8, 1, DOUBLE, 0, 0, "W", 0).call("Barrier", "W")
    cut = second.end()
    cut = cut[: cut.index("MPI_Barrier") + 15]
    about, found = asked(written(tmp_path / "x", [first, cut]), P.word())
    assert [(one["rank"], one["why"]) for one in about["traced"]["broken"]] == [
        (0, "a message that it waits for never came"),
        (1, "its trace ends"),
    ]
    # Rank 0 sends, computes, and sends once more, within the barrier.
    assert found["time"] == [5_000_000 + P.o + 50_000_000 + P.o]


@pytest.mark.parametrize("name", ["pmpi-trace-rank-{:02}.txt", "lulesh2.{}", "{}"])
def test_a_file_of_a_rank_stands_for_all_whatever_their_names_are(tmp_path: Path, name: str) -> None:
    first, second = of_two()
    first.call("Send", 8, 1, DOUBLE, 1, 0, "W")
    second.call("Recv", 8, 1, DOUBLE, 0, 0, "W", 0)
    folder = written(tmp_path / "x", [first, second], name)
    (folder / "notes-7.txt").write_text("what was measured\n", encoding="utf-8")
    times = [asked(path, P.word())[1]["time"] for path in (folder, folder / name.format(0), folder / name.format(1))]
    assert times == times[:1] * 3


def test_files_that_lack_a_rank_or_have_one_twice_get_a_sentence(tmp_path: Path) -> None:
    folder = written(tmp_path / "x", [Ticking(0, 3), Ticking(1, 3), Ticking(2, 3)])
    (folder / "pmpi-trace-rank-1.txt").unlink()
    assert "lacks the file of rank 1" in asked(folder)[0]["error"]
    written(folder, ["", Ticking(1, 3)])
    (folder / "pmpi-trace-rank-0.txt").rename(folder / "pmpi-trace-rank-01.txt")
    assert "are of the same rank" in asked(folder)[0]["error"]
    written(folder, [Ticking(0, 2)], "other-{}.txt")
    assert "has several traces of Liballprof" in asked(folder)[0]["error"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("MPI_Fly:{b}:{e}", "'MPI_Fly' is no call that is known here"),
        ("MPI_Waitany:{b}:2:640:32:0:{e}", "MPI_Waitany cannot be replayed: the file does not say which request"),
        ("MPI_Send:{b}:8:1:11,8:1:0:{e}", "MPI_Send has 5 arguments, and 6 are expected"),
        ("MPI_Send:{b}:8:1:11:1:0:0,0,2:{e}", "'11' is no datatype"),
        ("MPI_Send:{b}:8:-1:11,8:1:0:0,0,2:{e}", "a message has 0 to 2^50 bytes"),
        ("MPI_Send:{b}:8:9223372036854775807:11,8:1:0:0,0,2:{e}", "a message has 0 to 2^50 bytes"),
        ("MPI_Send:{b}:8:1:11,8:2:0:0,0,2:{e}", "rank 2 of a communicator of 2"),
        ("MPI_Send:{b}:8:1:11,8:1:-3:0,0,2:{e}", "a tag lies between 0 and 2^31 - 1"),
        ("MPI_Recv:{b}:8:1:11,8:1:-1:0,0,2:0:{e}", "a receive with any tag"),
        ("MPI_Barrier:{b}:0,0:{e}", "'0,0' is no communicator"),
        ("MPI_Barrier:{b}:0,2,2:{e}", "a communicator without its own rank"),
        ("MPI_Barrier:{b}:0,0,3:{e}", "a communicator of 3 ranks, and there are files of 2"),
        ("MPI_Barrier:{b}:0,1,2:{e}", "all ranks in another order"),
        ("MPI_Bcast:{b}:8:1:11,8:2:0,0,2:{e}", "the root of a collective is none of its ranks"),
        ("MPI_Reduce_scatter:{b}:8:16:4000:1,4:3:0,0,2:{e}", "the file has the address of the counts alone"),
        ("MPI_Allgatherv:{b}:8:2:11,8:16:40:2,5,1:41:0,2:11,8:0,0,2:{e}", "a count for each of the 2 ranks"),
        ("MPI_Barrier:{e}:0,0,2:{b}", "the call ends before it begins"),
        ("MPI_Barrier:{early}:0,0,2:{e}", "the call begins before the one before it has ended"),
        ("MPI_Barrier:{b}:0,0,2:9000000000000000", "the trace is longer than 23 days"),
        ("MPI_Barrier:{b}:0,0,2:99999999999999999", "a time lies between 0 and 285 years"),
        ("MPI_Barrier:soon:0,0,2:{e}", "'soon' is no time in µs"),
        ("MPI_Barrier", "the line ends before the time"),
        ("what is this", "'what' is no call"),
    ],
)
def test_what_cannot_be_read_gets_a_sentence_with_its_file_and_line(tmp_path: Path, line: str, sentence: str) -> None:
    first = Ticking(0, 2)
    first.lines.append(line.format(b=first.now + 5, e=first.now + 9, early=first.now - 3))
    first.now += 9
    said = refused(tmp_path / "x", first)
    assert sentence in said
    assert "pmpi-trace-rank-0.txt, line 6: " in said


def test_a_communicator_of_some_ranks_gets_a_sentence(tmp_path: Path) -> None:
    ranks = [Ticking(rank, 3) for rank in range(3)]
    ranks[2].call("Barrier", "88,1,2")
    [about] = asked(written(tmp_path / "x", ranks))[:1]
    assert "a communicator of 2 of the 3 ranks: the file does not say which these are" in about["error"]


def test_files_that_all_say_the_same_rank_have_that_of_their_names(tmp_path: Path) -> None:
    """As a sample of Schedgen's does: the root sends, and gathers, by the number in its file's name."""
    ranks = [Ticking(rank, 4) for rank in range(4)]
    for rank, one in enumerate(ranks):
        one.call("Bcast", 8, 1000, DOUBLE, 2, "W").call("Gather", 8, 100, DOUBLE, 9, 100, DOUBLE, 2, "W")
        if rank == 0:
            one.call("Send", 4096, 3, DOUBLE, 3, 7, "W")
        if rank == 3:
            one.call("Recv", 8192, 3, DOUBLE, 0, 7, "W", 0)
    right, *_ = answers = asked(written(tmp_path / "x", ranks), P.word(), EVENT)
    texts = [one.end().replace(f"0,{rank},4", "0,0,4") for rank, one in enumerate(ranks)]
    same = asked(written(tmp_path / "same", texts, "trace-{}.dat"), P.word(), EVENT)
    assert (same[0]["messages"], same[0]["traced"]["time"]) == (right["messages"], right["traced"]["time"])
    assert [one["time"] for one in same[1:]] == [one["time"] for one in answers[1:]]
    texts[1] = ranks[1].end()
    assert "all ranks in another order" in asked(written(tmp_path / "mixed", texts))[0]["error"]


def test_it_is_exported_and_asked_by_iterations_as_a_trace_of_ours(tmp_path: Path) -> None:
    first, second = of_two()
    for one in (first, second):
        for _ in range(3):
            one.call("Allreduce", 1, 2, 10, INT, 3, "W", gap=100)
    folder = written(tmp_path / "x", [first, second])
    for path in (folder, folder / "pmpi-trace-rank-0.txt"):
        cli.arguments(["export", str(path), "--format", "prv", "-o", str(tmp_path / f"{path.name}-prv")])
        cli.arguments(["export", str(path), "--format", "parquet", "-o", str(tmp_path / f"{path.name}-table")])
    assert (tmp_path / "x-prv" / "trace.prv").read_text().count("\n") > 10
    part = ("allreduce", "2", "3")
    _, whole = asked(folder, P.word())
    about, last = asked(folder, P.word(), part=part)
    assert (about["crossing"], about["messages"]) == (0, 4)
    assert last["time"][0] == pytest.approx(whole["time"][0] - 200e6 - whole["time"][0] % 1e6 / 3, rel=0.05)


PIECES = (
    "MPI_Send:1:8:1:11,8:1:0:0,0,2:2", "MPI_Recv:3:8:1:11,8:0:0:0,1,2:0:4", "MPI_Irecv:3:8:1:11,8:0:0:0,1,2:64:4",
    "MPI_Isend:5:8:1:11,8:1:0:0,0,2:64:6", "MPI_Wait:7:64:0:8", "MPI_Waitall:7:2:64:0:8", "MPI_Test:7:64:0:0:8",
    "MPI_Allgatherv:9:8:1:1,4:8:64:1,1:64:0,1:1,4:0,0,2:9", "MPI_Ibarrier:9:0,0,2:64:9", "MPI_Finalize:9:-", "MPI_Init:-:0:0:1",
    "# x", ":", ",", "-", "99999999999999999999", "\x00", "MPI_", "\n",
)  # fmt: skip


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.lists(st.sampled_from(PIECES), max_size=8).map("\n".join), min_size=2, max_size=2))
def test_no_text_ends_the_engine_without_an_answer(tmp_path: Path, texts: list[str]) -> None:
    folder = written(tmp_path / "x", ["MPI_Init:-:0:0:0\n" + text + "\n" for text in texts])
    answers = asked(folder, P.word())
    assert all(("error" in a) != ("seconds" in a) for a in answers)
