"""Progress on standard error: what is counted, and that no phase is silent."""

import io
import sys
import time

import pytest

from steelyard.measure import build
from steelyard.measure.screen import Progress
from steelyard.model import Case, Launch, Sampling
from steelyard.show.command_line import progress, progress_line

CASE = Case("memory.stream", "triad", {"threads": 1}, Sampling())


def of_run(done: int, total: int, phase: str = "", left: float = 60.0) -> Progress:
    launch = Launch(1, CASE.benchmark, "gcc", 1, (CASE,))
    return Progress(launch=launch, case=CASE, done=done, total=total, seconds_left=left, elapsed=20.0, phase=phase)


def wait_for(found) -> None:  # type: ignore[no-untyped-def]
    end = time.monotonic() + 60
    while not found() and time.monotonic() < end:
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (of_run(312, 784), "312 of 784 cases"),
        (of_run(0, 1), "0 of 1 case"),
        (of_run(12, 784, "launch 2 of 2"), "launch 2 of 2, 12 of 784 cases"),
        (of_run(3, 0, "further launches"), "further launches, 3 cases"),
    ],
)
def test_cases_are_counted_as_in_the_result(shown: Progress, words: str) -> None:
    assert progress.count(shown) == words


def test_work_that_goes_on_is_shown_again_and_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_line, "PLAIN_SECONDS", 0.01)
    monkeypatch.setattr(progress_line, "SHORTEST", 0.01)
    lines: list[str] = []
    with progress.Console().working("Writing the report"):
        wait_for(lambda: lines.extend(capsys.readouterr().err.splitlines()) or len(lines) >= 3)
    assert len(lines) >= 3
    assert all(line.startswith("Writing the report …") for line in lines)


def test_short_work_and_a_quiet_console_print_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_line, "PLAIN_SECONDS", 1000.0)
    with progress.Console().working("Writing the report"):
        pass
    monkeypatch.setattr(progress_line, "PLAIN_SECONDS", 0.0)
    with progress.Console(quiet=True).measuring() as show:
        show(of_run(1, 2))
    assert capsys.readouterr().err == ""


def test_a_log_has_the_count_the_time_left_and_the_case(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_line, "PLAIN_SECONDS", 0.0)
    with progress.Console().measuring() as show:
        show(of_run(3, 9))
    assert capsys.readouterr().err.splitlines()[0] == "3 of 9 cases, about 1 min left; now memory.stream triad"


def test_a_build_that_waits_names_the_other_process(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_line, "PLAIN_SECONDS", 0.0)
    with progress.Console().building("gcc-12.2.0") as show:
        show(build.Progress(0, 0, None, waiting="process 7 on node3, since 12:00:00"))
    assert "Waiting for another build (process 7 on node3, since 12:00:00) …" in capsys.readouterr().err


def test_a_terminal_has_one_line_that_is_erased_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(progress_line, "LIVE_SECONDS", 1000.0)
    with progress.Console().measuring() as show:
        for done in range(2):
            show(of_run(done, 9))
    first, second, end = terminal.getvalue().split(progress_line.ERASE)
    assert first.startswith("█████░░░░░░░░░░░░░░░ 0 of 9 cases, about 1 min left")
    assert second.startswith("█████░░░░░░░░░░░░░░░ 1 of 9 cases, about 1 min left")
    assert max(len(first), len(second)) < 60
    assert end == ""
