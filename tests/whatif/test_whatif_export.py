"""Traces in the formats of other tools: what is written replays as what was read, and says what was traced."""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_whatif_replay import exchanges
from typer.testing import CliRunner

from replays import Action, Parameters, asked, in_words, stencil, this_machine, ti
from steelyard.errors import MachineFailed, UsageError
from steelyard.show.command_line.cli import app
from steelyard.whatif import exporting
from traces import ALL_KINDS, FINALIZE, by_hand, folded, rank_file, record

P = Parameters(L=2_500_000, o=1_500_000, g=1_000_000, O=3, G=80)
BOTH = P.word(), f"{P.word()} mode=event"


def times(trace: Path) -> list[list[int]]:
    return [found["time"] for found in asked(trace, *BOTH)[1:]]


def written(trace: Path, form: str, folder: Path) -> Path:
    """The exported trace, as a replay takes it."""
    exporting.export(trace, form, folder / form, this_machine())
    return folder / form / "trace" if form == "ti" else folder / form


# Of the hand-written kinds: those that TI cannot hold, or that need a collective that goes on.
WAITING = [[one for one in kinds if one[0] & 0x7F not in (10, 12)] for kinds in ALL_KINDS]


@pytest.mark.parametrize("form", ["ti", "goal"])
def test_a_trace_of_ours_replays_as_before(tmp_path: Path, form: str) -> None:
    trace = by_hand(tmp_path / "trace", [rank_file(r, 2, WAITING[r]) for r in (0, 1)])
    assert times(written(trace, form, tmp_path)) == times(trace)


def test_nonblocking_collectives_fit_into_goal_and_not_into_ti(tmp_path: Path) -> None:
    trace = by_hand(tmp_path / "trace", [rank_file(r, 2, ALL_KINDS[r]) for r in (0, 1)])
    assert times(written(trace, "goal", tmp_path)) == times(trace)
    with pytest.raises(UsageError, match="TI has one order of operations for each rank, and rank 0"):
        written(trace, "ti", tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
@pytest.mark.parametrize("form", exporting.FORMATS)
def test_a_full_disk_is_said_and_leaves_nothing_half_made(form: str, tmp_path: Path) -> None:
    trace = by_hand(tmp_path / "trace", [rank_file(r, 2, WAITING[r]) for r in (0, 1)])
    (small := tmp_path / "small").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", small], check=True)
    try:
        (small / "full").write_bytes(bytes(4096))
        with pytest.raises(MachineFailed, match="No space left on device"):
            exporting.export(trace, form, small / "export", this_machine())
        assert [path.name for path in small.iterdir()] == ["full"]
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize("form", ["ti", "goal"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.composite(exchanges)())
def test_random_programs_replay_as_before(
    tmp_path_factory: pytest.TempPathFactory, form: str, made: tuple[list[list[Action]], Parameters]
) -> None:
    folder = tmp_path_factory.mktemp("made")
    (folder / "read").mkdir()
    trace = ti(folder / "read", in_words(made[0]))
    again = written(trace, form, folder)
    first, second = (asked(one, made[1].word())[1]["time"][0] for one in (trace, again))
    assert second == first


def test_a_stencil_goes_from_ti_to_goal_and_back(tmp_path: Path) -> None:
    trace = ti(tmp_path, stencil(4, 5, 100_000, 2_000))
    assert times(written(written(trace, "goal", tmp_path), "ti", tmp_path)) == times(trace)


MESSAGES = (
    [record(2, 4000, 1000, folded(1), folded(3), 101), record(9, 2000, 3000, 3, 0, 8), FINALIZE],
    [record(4, 1000, 9000, folded(0), folded(3)), record(9, 0, 2000, 3, 0, 8), FINALIZE],
)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return by_hand(tmp_path / "trace", [rank_file(r, 2, records) for r, records in enumerate(MESSAGES)])


def test_paraver_gets_states_events_and_messages(small: Path, tmp_path: Path) -> None:
    exporting.export(small, "prv", tmp_path / "prv", this_machine())
    head, *lines = (tmp_path / "prv" / "trace.prv").read_text().splitlines()
    assert head.startswith("#Paraver (")
    assert head.partition("):")[2] == "12000_ns:1(2):1:2(1:1,1:1)"
    states = [list(map(int, line.split(":"))) for line in lines if line.startswith("1:")]
    assert [tuple(s[3:4] + s[5:]) for s in sorted(states, key=lambda s: (s[3], s[5]))] == [
        (1, 0, 4000, 1), (1, 4000, 5000, 4), (1, 5000, 7000, 1), (1, 7000, 10000, 13),
        (2, 0, 1000, 1), (2, 1000, 10000, 3), (2, 10000, 12000, 13),
    ]  # fmt: skip
    assert [line for line in lines if line.startswith("3:")] == ["3:1:1:1:1:4000:4000:2:1:2:1:1000:10000:101:3"]
    begins = [int(line.split(":")[5]) for line in lines]
    assert begins == sorted(begins)
    events = Counter(line.rpartition(":")[2] for line in lines if line.startswith("2:"))
    assert events == {"2": 1, "4": 1, "103": 2, "22": 2, "0": 6}
    meanings = (tmp_path / "prv" / "trace.pcf").read_text()
    assert all(
        f"\n{value}      {name}\n" in meanings for value, name in ((2, "send"), (103, "allreduce"), (22, "finalize"))
    )
    assert (tmp_path / "prv" / "trace.row").read_text().count("THREAD 1.") == 2


def test_perfetto_gets_calls_and_arrows(small: Path, tmp_path: Path) -> None:
    exporting.export(small, "perfetto", tmp_path / "x.json", this_machine())
    found = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    calls = [(x["tid"], x["name"], x["ts"], x["dur"]) for x in found if x["ph"] == "X"]
    assert calls == [
        (0, "send", 4.0, 1.0), (0, "allreduce", 7.0, 3.0), (0, "finalize", 10.0, 0.0),
        (1, "receive", 1.0, 9.0), (1, "allreduce", 10.0, 2.0), (1, "finalize", 12.0, 0.0),
    ]  # fmt: skip
    assert [(x["ph"], x["tid"], x["ts"], x["name"]) for x in found if x["ph"] in "sf"] == [
        ("s", 0, 4.0, "101 B"),
        ("f", 1, 10.0, "101 B"),
    ]
    assert [x["args"]["name"] for x in found if x["ph"] == "M"] == ["rank 0, host", "rank 1, host"]


def test_the_command_writes_a_trace_and_mistakes_get_a_sentence(small: Path, tmp_path: Path) -> None:
    def run(*words: str) -> str:
        found = CliRunner().invoke(app, ["export", *words])
        return found.exception.shown() if isinstance(found.exception, UsageError) else found.output

    assert run(str(small), "--format", "goal", "-o", str(tmp_path / "x.goal")) == ""
    assert (tmp_path / "x.goal").read_text().startswith("num_ranks 2\n")
    assert "A trace has no format 'json'" in run(str(small))
    assert "A run cannot be exported as 'ti'" in run("--format", "ti")
    assert "needs --output" in run(str(small), "--format", "ti")
    assert "has no calls of a run" in run(str(tmp_path / "x.goal"), "--format", "prv", "-o", str(tmp_path / "y"))
    assert not (tmp_path / "y").exists()
    assert "exists already" in run(str(small), "--format", "ti", "-o", str(small))
