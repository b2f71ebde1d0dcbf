"""Work in a second process: its result, its errors, and its end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steelyard.second_process import SecondProcess

several = pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="needs two processors")


@several
def test_the_result_comes_from_another_process() -> None:
    process, text = SecondProcess(lambda: (os.getpid(), "x" * 1_000_000)).result()
    assert process != os.getpid()
    assert text == "x" * 1_000_000


def test_with_one_processor_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    second = SecondProcess(os.getpid)
    second.stop()
    assert second.result() == os.getpid()


@several
def test_without_room_for_a_process_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    second = SecondProcess(os.getpid)
    second.stop()
    assert second.result() == os.getpid()


def test_an_error_is_raised_here() -> None:
    second = SecondProcess(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        second.result()


@several
def test_a_copy_that_is_killed_or_cannot_answer_is_replaced_by_this_process() -> None:
    here = os.getpid()

    def end_elsewhere() -> int:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return 1

    assert SecondProcess(end_elsewhere).result() == 1
    assert SecondProcess(lambda: lambda: 2).result()() == 2  # a function cannot be pickled


@several
def test_it_is_stopped_at_once(tmp_path: Path) -> None:
    second = SecondProcess(lambda: time.sleep(60))
    began = time.monotonic()
    second.stop()
    assert time.monotonic() - began < 30


@several
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_together_with_the_other_process(number: signal.Signals, tmp_path: Path) -> None:
    left = tmp_path / "left"
    program = (
        "import os, pathlib, sys, time; from steelyard.second_process import SecondProcess\n"
        f"SecondProcess(lambda: (pathlib.Path({str(left)!r}).write_text(str(os.getpid())), time.sleep(60)))\n"
        "time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL) as process:
        while not (left.exists() and left.read_text()):
            time.sleep(0.01)
        process.send_signal(number)
        process.wait(30)
    copy = Path("/proc", left.read_text())
    until = time.monotonic() + 30
    while copy.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not copy.exists()
