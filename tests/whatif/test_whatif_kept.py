"""What the engine keeps of a long text: the same answers, none of a text that is another now, and only this user's own."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from replays import Parameters, asked, program
from steelyard.whatif import kept
from streams import goal, stencil

BOOK = Parameters(L=2_500_000, o=1_500_000, g=1_000_000, G=6_000).word()


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program()  # in the cache of all tests
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kept, "LEAST", 0)
    path = tmp_path / "trace.goal"
    path.write_text(goal(stencil(2, 2, 3, 100_000, 8192)), encoding="utf-8")
    return path


def place(trace: Path) -> Path:
    found = kept.find_entry(trace, program())
    assert found
    return found


def replayed(trace: Path, *lines: str) -> list[dict[str, object]]:
    """The engine's answers without what differs from time to time."""
    lines = lines or (BOOK, BOOK + " mode=event", BOOK + " receive=stream")
    answers = asked(trace, *lines, options=[f"--kept={place(trace)}"])
    return [{k: v for k, v in one.items() if k not in ("seconds", "memory")} for one in answers]


def test_a_second_question_is_answered_as_the_first(trace: Path) -> None:
    first = replayed(trace)
    assert place(trace).stat().st_mode & 0o777 == 0o600
    before = place(trace).stat().st_ino
    assert replayed(trace) == first
    assert place(trace).stat().st_ino == before  # it was read, and not made anew


def changed_in_place(trace: Path) -> None:
    """The same size, and the same time of the last change."""
    before = trace.stat()
    trace.write_text(trace.read_text().replace("calc 100000", "calc 200000"), encoding="utf-8")
    os.utime(trace, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (trace.stat().st_size, trace.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def longer(trace: Path) -> None:
    trace.write_text(goal(stencil(2, 2, 4, 100_000, 8192)), encoding="utf-8")


@pytest.mark.parametrize("change", [changed_in_place, longer])
def test_a_text_that_changed_is_read_again(trace: Path, change: Callable[[Path], None]) -> None:
    first = replayed(trace)
    change(trace)
    second = replayed(trace)
    assert second[1]["time"] != first[1]["time"]
    place(trace).unlink()
    assert replayed(trace) == second


@pytest.mark.parametrize("at", [0, 8, 60, 120, 200, -1])
def test_a_damaged_file_is_left_aside(trace: Path, at: int) -> None:
    first = replayed(trace)
    content = bytearray(place(trace).read_bytes())
    content[at] ^= 0x40
    place(trace).write_bytes(content)
    assert replayed(trace) == first
    place(trace).write_bytes(content[: len(content) // 2])
    assert replayed(trace) == first


def test_entries_that_others_can_write_are_not_used(trace: Path) -> None:
    first = replayed(trace)
    wrong = trace.with_name("wrong.goal")
    wrong.write_text(goal(stencil(2, 2, 4, 100_000, 8192)), encoding="utf-8")
    place(trace).chmod(0o666)
    before = place(trace).stat().st_ino
    assert replayed(trace) == first
    assert place(trace).stat().st_ino != before  # made anew, for this user alone
    place(trace).unlink()
    place(trace).symlink_to(trace)
    assert replayed(trace) == first
    place(trace).parent.chmod(0o777)
    assert kept.find_entry(trace, program()) is None


def test_a_text_that_is_refused_is_not_kept(trace: Path) -> None:
    trace.write_text("num_ranks 1\nrank 0 {\nfly 8\n}\n", encoding="utf-8")
    assert "error" in replayed(trace)[0]
    assert not place(trace).exists()


def test_a_list_of_files_is_not_kept(trace: Path) -> None:
    trace.write_text("rank0\n", encoding="utf-8")
    (trace.parent / "rank0").write_text("0 init\n0 compute 1e6\n0 finalize\n", encoding="utf-8")
    assert replayed(trace, "across=0,0,0,0,0,0")[1]["time"] == [1_000_000_000]
    assert not place(trace).exists()


def test_short_texts_and_folders_are_not_kept(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept.find_entry(trace.parent, program()) is None
    monkeypatch.setattr(kept, "LEAST", 1 << 20)
    assert kept.find_entry(trace, program()) is None


def test_the_entry_that_was_used_longest_ago_is_removed(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = place(trace).parent
    now = time.time()
    for age in range(4):
        old = folder / f"{age}.schedule"
        old.write_bytes(bytes(1000))
        os.utime(old, (now - age, now - age))
    half = folder / "x.schedule.part77"
    half.write_bytes(b"")
    os.utime(half, (now - 2 * kept.ABANDONED, now - 2 * kept.ABANDONED))
    monkeypatch.setattr(kept, "MOST", trace.stat().st_size + 2500)
    place(trace)
    assert sorted(path.name for path in folder.iterdir()) == ["0.schedule", "1.schedule"]
