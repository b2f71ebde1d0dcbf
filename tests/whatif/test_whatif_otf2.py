"""OTF2 archives: those of earlier versions of Steelyard replay as the traces of which they were made, and others' are read."""

import importlib.util
import io
import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from typer.testing import CliRunner

from replays import Parameters, asked, this_machine
from steelyard.errors import MachineFailed, UsageError
from steelyard.show.command_line import cli
from steelyard.show.command_line.cli import app
from steelyard.whatif import readable
from traces import ALL_KINDS, FINALIZE, by_hand, folded, otf2_archive, rank_file, record

otf2 = pytest.importorskip("otf2", reason="the Python package otf2 is not installed (the extra 'otf2')")

P = Parameters(L=1_000_000, o=100_000, g=50_000, O=3, G=100)
ASKED = P.word(), P.word() + " mode=event"


@pytest.fixture
def in_own_process() -> None:
    """Leaves the reading of archives to a process of its own, which may crash, as the product does."""


@pytest.fixture(autouse=True)
def _in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads sound archives in this process: the start of a process takes longer than such a test."""
    if "in_own_process" in request.fixturenames:
        return

    def run(words: list[str], *_: object, **__: object) -> CompletedProcess[str]:
        *_, module, anchor, folder = words
        printed = io.StringIO()
        with redirect_stdout(printed):
            importlib.import_module(module).main(anchor, folder)
        return CompletedProcess(words, 0, printed.getvalue(), "")

    monkeypatch.setattr("steelyard.whatif.otf2.ask", run)


def answers(trace: Path) -> list[dict[str, Any]]:
    with readable.open_readable(trace, this_machine()) as found:
        return asked(found.path, *ASKED)


def alike(files: Sequence[bytes], name: str, folder: Path) -> list[dict[str, Any]]:
    """The answers about a trace, which those about its archive must equal to a nanosecond; returned are the archive's."""
    before, after = answers(by_hand(folder / "trace", files)), answers(otf2_archive(name, folder / "archive"))
    for key in ("ranks", "messages", "bytes", "unreceived", "events"):
        assert after[0][key] == before[0][key], key
    for one, other in zip(before[1:], after[1:], strict=True):
        assert other["time"][0] == pytest.approx(one["time"][0], abs=1000)
    for key in ("time", "computing", "preempted", "tool"):
        assert after[0]["traced"][key] == pytest.approx(before[0]["traced"][key], abs=1e-9)
    return after


@pytest.mark.usefixtures("in_own_process")
def test_each_kind_of_record_comes_back_from_an_archive(tmp_path: Path) -> None:
    """Rank 1's clock is another, and gains on rank 0's."""
    files = [rank_file(0, 2, ALL_KINDS[0]), rank_file(1, 2, ALL_KINDS[1], offsets=(-5_000, -7_000), error=100)]
    alike(files, "all_kinds", tmp_path)


# Of three ranks: a collective and its numbers, rank after rank.
SEVERAL = {
    "gatherv": [[4, 1, 1, 8], [4, 1, 3, 8, 16, 40], [4, 1, 1, 40]],
    "scatterv": [[5, 2, 1, 8], [5, 2, 1, 16], [5, 2, 3, 8, 16, 40]],
    "allgatherv": [[6, 0, 3, 8, 0, 40]] * 3,
    "alltoallv, uneven": [[7, 0, 6, 0, 1, 2, 0, 9, 8], [7, 0, 6, 9, 0, 4, 1, 0, 3], [7, 0, 6, 8, 3, 0, 2, 4, 0]],
    "alltoallv, even": [[7, 0, 6, 8, 8, 8, 8, 8, 8]] * 3,
}


@pytest.mark.parametrize("begun", [False, True])
def test_collectives_with_several_numbers_come_back(tmp_path: Path, begun: bool) -> None:
    files = []
    for rank in range(3):
        calls = []
        for numbers in SEVERAL.values():
            if begun:
                calls += [record(12, 10, 10, *numbers[rank], 7), record(7, 500, 10, 1, 7 << 2)]
            else:
                calls.append(record(11, 10, 10, *numbers[rank]))
        files.append(rank_file(rank, 3, [*calls, FINALIZE]))
    alike(files, "several_begun" if begun else "several", tmp_path)


@pytest.mark.parametrize("size", [1, 100_001])
def test_collectives_with_one_number_come_back(tmp_path: Path, size: int) -> None:
    """All ten, one after the other."""
    calls = [record(9, 10, 10, what, 2 if what in (1, 2, 4, 5) else 0, size if what else 0) for what in range(10)]
    alike([rank_file(rank, 4, [*calls, FINALIZE]) for rank in range(4)], f"alike_{size}", tmp_path)


def test_a_freed_request_is_not_the_next_one_with_its_number(tmp_path: Path) -> None:
    first = [
        record(5, 10, 5, folded(1), folded(0), 1), record(14, 10, 5, 1), record(3, 10, 5, folded(1), folded(1), 8, 1),
        record(7, 10, 5, 1, 1 << 2), FINALIZE,
    ]  # fmt: skip
    second = [record(2, 10, 5, folded(0), folded(0), 24), record(4, 10, 5, folded(0), folded(1)), FINALIZE]
    trace = by_hand(tmp_path / "x", [rank_file(0, 2, first), rank_file(1, 2, second)])
    (before, *times), (after, *again) = answers(trace), answers(otf2_archive("freed", tmp_path / "y"))
    assert [one["time"] for one in again] == [one["time"] for one in times]
    # An archive does not say of whom a receive was that nobody has waited for.
    assert (before["unreceived"], after["unreceived"]) == (0, 1)


def test_ranks_that_were_broken_are_so_again(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "both").mkdir()
    first = [record(2, 10, 5, folded(1), folded(0), 8), record(9, 10, 5, 0, 0, 0), FINALIZE]
    second = [record(4, 10, 5, folded(0), folded(0))]
    after = alike([rank_file(0, 2, first), rank_file(1, 2, second)], "one_broken", tmp_path / "one")
    assert [one["rank"] for one in after[0]["traced"]["broken"]] == [0, 1]
    after = alike([rank_file(0, 2, first[:1]), rank_file(1, 2, second)], "both_broken", tmp_path / "both")
    assert [one["why"] for one in after[0]["traced"]["broken"]] == ["its trace ends"] * 2


class Foreign:
    """An archive as a tool writes it that measures a program: times in ticks of a clock of 1 GHz that begins somewhere."""

    def __init__(self, trace: Any, ranks: int, threads: int) -> None:
        enums, made = otf2.enums, trace.definitions
        self.enums, self.trace, self.made = enums, trace, made
        node = made.system_tree_node("node7", class_name="node", parent=made.system_tree_node("machine"))
        groups = [made.location_group(f"MPI Rank {r}", system_tree_parent=node) for r in range(ranks)]
        self.masters = [made.location("Master thread", group=group) for group in groups]
        self.others = [made.location(f"OMP thread {t}", group=groups[0]) for t in range(1, threads)]
        self.mpi = {"paradigm": enums.Paradigm.MPI}
        # The locations of all ranks stand in the order of ranks, whatever the order of definitions is.
        made.group("MPI", group_type=enums.GroupType.COMM_LOCATIONS, members=self.masters, **self.mpi)
        self.world = self.communicator("MPI_COMM_WORLD", range(ranks))
        own = made.group("self", group_type=enums.GroupType.COMM_SELF, members=[], **self.mpi)
        self.self = made.comm("MPI_COMM_SELF", group=own)
        self.out = [trace.event_writer_from_location(one) for one in [*self.masters, *self.others]]
        self.now = [7_000_000_000] * len(self.out)

    def communicator(self, name: str, ranks: Sequence[int]) -> Any:
        members = [self.masters[rank] for rank in ranks]
        group = self.made.group(name, group_type=self.enums.GroupType.COMM_GROUP, members=members, **self.mpi)
        return self.made.comm(name, group=group)

    @contextmanager
    def call(self, rank: int, name: str, gap: int = 1000, paradigm: str = "MPI") -> Iterator[tuple[Any, int]]:
        region = self.made.region(name, paradigm=getattr(self.enums.Paradigm, paradigm))
        self.now[rank] += gap
        self.out[rank].enter(self.now[rank], region)
        yield self.out[rank], self.now[rank]
        self.now[rank] += 10
        self.out[rank].leave(self.now[rank], region)

    def together(self, rank: int, name: str, sent: int, received: int, on: Any = None, root: int = 0xFFFFFFFF) -> None:
        with self.call(rank, f"MPI_{name.capitalize()}") as (out, now):
            out.mpi_collective_begin(now)
            operation = getattr(self.enums.CollectiveOp, name)
            out.mpi_collective_end(now + 5, operation, on or self.world, root, sent, received)


def foreign(folder: Path, write: Callable[[Foreign], None], ranks: int = 2, threads: int = 1) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    with otf2.writer.open(str(folder), timer_resolution=10**9) as trace:
        write(Foreign(trace, ranks, threads))
    return folder


def test_an_archive_of_another_tool_is_replayed(tmp_path: Path) -> None:
    def write(a: Foreign) -> None:
        with a.call(0, "main", 0, "USER"), a.call(0, "solve", 100, "USER"), a.call(0, "MPI_Send", 400) as (out, now):
            out.mpi_send(now, 1, a.world, 7, 24)
        with a.call(1, "MPI_Irecv", 0) as (out, now):
            out.mpi_irecv_request(now, 4711)
        for _ in range(3):
            with a.call(1, "MPI_Test", 2) as (out, now):
                out.mpi_request_test(now, 4711)
        with a.call(1, "MPI_Wait", 3) as (out, now):
            out.mpi_irecv(now, 0, a.world, 7, 24, 4711)
        with a.call(1, "omp parallel", 50, "OPENMP"):
            a.now[1] += 1000
        with a.call(1, "TRACE BUFFER FLUSH", 0, "MEASUREMENT_SYSTEM"):
            a.now[1] += 10**6
        with a.call(1, "MPI_Finalize", 40):
            pass
        with a.call(0, "MPI_Finalize", 0):
            pass
        for thread in a.out[2:]:
            thread.enter(7_000_000_000, a.made.region("omp parallel", paradigm=a.enums.Paradigm.OPENMP))

    folder = foreign(tmp_path / "x", write, threads=3)
    about, found, _ = answers(folder)
    # Rank 1 computes 2 ns before its first test and 3 behind the last one; then 50, 1000 and 10, and 40 behind the flush.
    assert found["time"] == [500_000 + 2 * (P.o + 23 * P.O) + P.L + 23 * P.G + 1_060_000 + 40_000]
    assert about["traced"]["tool"] == pytest.approx(1e-3 + 10e-9)
    assert about["traced"]["broken"] == []


IN_PLACE = {  # what Score-P counts of 24 bytes, four ranks, root 1: the own part is left out
    "BCAST": [(0, 24), (96, 24), (0, 24), (0, 24)],
    "GATHER": [(24, 0), (0, 72), (24, 0), (24, 0)],
    "REDUCE": [(24, 0), (0, 72), (24, 0), (24, 0)],
    "SCATTER": [(0, 24), (72, 0), (0, 24), (0, 24)],
    "ALLREDUCE": [(72 + 3, 72 + 3)] * 4,
    "ALLGATHER": [(72 + 3, 72 + 3)] * 4,
    "ALLTOALL": [(72 + 3, 72 + 3)] * 4,
    "EXSCAN": [(72, 0), (48, 24), (24, 48), (0, 72)],
    "REDUCE_SCATTER_BLOCK": [(24, 24)] * 4,
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_bytes_of_collectives_in_place_are_found(tmp_path: Path, name: str) -> None:
    """Of three that all ranks have alike a count is needed that says which of the two it is: 25 bytes are 75 without the own."""
    rooted = name in ("BCAST", "GATHER", "REDUCE", "SCATTER")

    def write(a: Foreign) -> None:
        for rank, (sent, received) in enumerate(IN_PLACE[name]):
            a.together(rank, name, sent, received, root=1 if rooted else 0xFFFFFFFF)

    about, found, _ = answers(foreign(tmp_path / "x", write, ranks=4))
    names = [
        "BCAST",
        "REDUCE",
        "ALLREDUCE",
        "GATHER",
        "SCATTER",
        "ALLGATHER",
        "ALLTOALL",
        "REDUCE_SCATTER_BLOCK",
        "EXSCAN",
    ]
    size = 25 if IN_PLACE[name][0][0] == 75 else 24
    call = record(9, 0, 10, 1 + names.index(name), 1 if rooted else 0, size)
    expected, same, _ = answers(by_hand(tmp_path / "y", [rank_file(r, 4, [call, FINALIZE]) for r in range(4)]))
    assert (about["messages"], about["bytes"]) == (expected["messages"], expected["bytes"])
    assert found["time"] == same["time"]


def test_sums_of_bytes_are_shared_out_evenly_and_the_command_says_so(tmp_path: Path) -> None:
    def write(a: Foreign) -> None:
        for rank in range(2):
            a.together(rank, "ALLTOALLV", 100, 100)
            a.together(rank, "ALLGATHERV", 2 * (8 + rank), 17)

    folder = foreign(tmp_path / "x", write)
    network = ["--set", "network=L=1us,G=1ns/B"]
    shown = CliRunner().invoke(app, ["whatif", str(folder), *network]).output
    assert "The archive has only the total bytes of 1 call of MPI_Alltoallv" in " ".join(shown.split())
    found = json.loads(CliRunner().invoke(app, ["whatif", str(folder / "traces.otf2"), *network, "--json"]).output)
    assert found["even"] == 1
    same = [record(11, 0, 10, 7, 0, 4, 50, 50, 50, 50), record(11, 1000, 10, 6, 0, 2, 8, 9), FINALIZE]
    about, *times = answers(folder)
    expected, *others = answers(by_hand(tmp_path / "y", [rank_file(r, 2, same) for r in range(2)]))
    assert about["bytes"] == expected["bytes"]
    assert [one["time"] for one in times] == [one["time"] for one in others]


def test_an_archive_is_exported_by_its_folder_and_by_its_file(tmp_path: Path) -> None:
    archive = otf2_archive("all_kinds", tmp_path / "otf2")
    for path in (archive, archive / "traces.otf2"):
        cli.run_words(["export", str(path), "--format", "goal", "-o", str(tmp_path / f"{path.name}.goal")])
    assert (tmp_path / "otf2.goal").read_text().startswith("num_ranks 2\n")
    assert (tmp_path / "otf2.goal").read_bytes() == (tmp_path / "traces.otf2.goal").read_bytes()


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as refused:
        answers(path)
    return str(refused.value)


def _sending(rank: int, to: int, tag: int = 7, size: int = 8) -> Callable[[Foreign], None]:
    def write(a: Foreign) -> None:
        with a.call(rank, "MPI_Send") as (out, now):
            out.mpi_send(now, to, a.world, tag, size)

    return write


def _stranger(a: Foreign) -> None:
    with a.call(1, "MPI_Send") as (out, now):
        out.mpi_send(now, 0, a.communicator("half", [0]), 7, 8)


def _crossed(a: Foreign) -> None:
    a.together(0, "ALLREDUCE", 8, 8)
    a.together(1, "BARRIER", 0, 0)


def _long(a: Foreign) -> None:
    for rank, gap in ((0, 10), (1, 3 * 10**15)):
        with a.call(rank, "MPI_Finalize", gap):
            pass
    a.out[1].enter(a.now[1] + 3 * 10**15, a.made.region("main"))


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (_sending(0, 2), "rank 0 has a message with rank 2 of 'MPI_COMM_WORLD', which has no such rank"),
        (_sending(0, 1, size=1 << 60), "rank 0 has a message of 1152921504606846976 B; the maximum is 2^50"),
        (_sending(0, 1, tag=1 << 31), "a message with tag 2147483648; they lie between 0 and 2^31 - 1"),
        (_sending(2, 1), "'OMP thread 1' of 'MPI Rank 0' communicates, but belongs to no rank"),
        (_stranger, "rank 1 communicates in 'half', but it is not a member"),
        (_crossed, "members of a communicator call ALLREDUCE and BARRIER at the same time"),
        (
            lambda a: a.together(0, "BCAST", 8, 8),
            "a collective with the root 4294967295, which is not one of its ranks",
        ),
        (_long, "it is longer than 22 days"),
    ],
)
def test_an_archive_that_cannot_be_replayed_gets_a_sentence(
    tmp_path: Path, write: Callable[[Foreign], None], sentence: str
) -> None:
    said = refusal(foreign(tmp_path / "x", write, threads=2))
    assert said.startswith(f"The OTF2 archive '{tmp_path / 'x' / 'traces.otf2'}' cannot be read: ")
    assert sentence in said


def test_an_archive_without_ranks_and_a_folder_with_two_get_a_sentence(tmp_path: Path) -> None:
    with otf2.writer.open(str(tmp_path / "x"), timer_resolution=10**9):
        pass
    assert "it defines no group of MPI ranks" in refusal(tmp_path / "x")
    shutil.copy(tmp_path / "x" / "traces.otf2", tmp_path / "x" / "more.otf2")
    assert "has several OTF2 archives" in refusal(tmp_path / "x")


@pytest.fixture(scope="module")
def archive_of_all_kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return otf2_archive("all_kinds", tmp_path_factory.mktemp("all") / "y")


@pytest.mark.usefixtures("in_own_process")
def test_an_archive_that_lacks_a_file_names_it(archive_of_all_kinds: Path, tmp_path: Path) -> None:
    archive = Path(shutil.copytree(archive_of_all_kinds, tmp_path / "y"))
    (archive / "traces" / "1.evt").unlink()
    assert (
        f"it is damaged or incomplete; the OTF2 library reports: File or directory does not exist: POSIX: '{archive}"
        in refusal(archive)
    )


# Each of the six files is damaged once in `make test`: two of them are cut.
@pytest.mark.sampled(2)
@pytest.mark.usefixtures("in_own_process")
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.long] * (seed >= 6)) for seed in range(12)])
def test_a_damaged_archive_gets_a_sentence_or_an_answer(archive_of_all_kinds: Path, tmp_path: Path, seed: int) -> None:
    """A file is cut, or some of its bytes are others: whatever OTF2's library does, the tool goes on."""
    lots = random.Random(seed)
    archive = Path(shutil.copytree(archive_of_all_kinds, tmp_path / "y"))
    path = sorted(archive.rglob("*.*"))[seed % 6]
    data = bytearray(path.read_bytes())
    if seed % 4 == 0:
        del data[lots.randrange(len(data)) :]
    else:
        for _ in range(lots.choice([1, 1, 4, 30])):
            data[lots.randrange(len(data))] = lots.randrange(256)
    path.write_bytes(data)
    try:
        assert "error" in (answered := answers(archive))[0] or len(answered) == 3
    except UsageError as error:
        assert "cannot be read: " in str(error)
        assert "Traceback" not in str(error)


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = otf2_archive("all_kinds", tmp_path / "y")
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "otf2" else found(name))
    with pytest.raises(MachineFailed, match=r"-m pip install 'otf2>=3.1'"):
        answers(archive)
