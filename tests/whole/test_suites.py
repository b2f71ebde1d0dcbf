"""The runner of all suites: it runs each, goes on after a failure, names the slowest tests, and stops at its limit."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import suites
from patience import still

MAKEFILE = """
good:
\t@echo "1.50s call     tests/test_a.py::test_slow"
\t@echo "0.70s setup    tests/test_a.py::test_quick"
\t@echo 3 passed
bad:
\t@echo the reason; echo "FAILED tests/test_b.py::test_wrong - assert 1 == 2"; exit 3
endless:
\t@echo $$$$ > process; sleep 1000
never:
\t@touch never
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def test_all_suites_run_and_their_output_is_shown(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suites.carry_out(5, root, ((("good",), 2),)) == 0
    shown = capsys.readouterr().out
    assert "make good ended with 0" in shown
    assert "3 passed" in shown
    assert shown.index("      1.5  tests/test_a.py::test_slow") < shown.index("      0.7  tests/test_a.py::test_quick")


def test_a_suite_that_fails_stops_no_other(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suites.carry_out(5, root, ((("bad", "good"), 2), (("good",), 1))) == 1
    shown = capsys.readouterr().out
    assert "the reason" in shown
    assert "3 passed" in shown
    assert "FAILED, exit code 2" in shown, "make's own exit code for a recipe that fails"
    assert shown.rstrip().endswith("bad                 tests/test_b.py::test_wrong - assert 1 == 2")


def test_the_limit_ends_what_runs_and_names_what_is_left(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suites.carry_out(3 / 60, root, ((("good", "endless"), 2), (("never",), 1))) == 1
    shown = capsys.readouterr().out
    assert "stopped after 0.05 minutes. Not finished: endless, never." in shown
    assert not (root / "never").exists()
    assert not Path("/proc", (root / "process").read_text().strip()).exists()


# The second way: the signal comes when the processes run, and their start has not returned.
@pytest.mark.parametrize("between", ["0", "time.sleep(2)"])
def test_a_signal_ends_all_processes(root: Path, between: str) -> None:
    code = f"""
import subprocess, sys, suites, time
from pathlib import Path
class Late(subprocess.Popen):
    def __init__(self, *words, **named):
        super().__init__(*words, **named)
        {between}
subprocess.Popen = Late
suites.carry_out(5, Path(sys.argv[1]), ((("endless",), 1),))"""
    environment = {**os.environ, "PYTHONPATH": str(Path(suites.__file__).parent)}
    running = subprocess.Popen([sys.executable, "-c", code, root], env=environment, stderr=subprocess.DEVNULL)
    started = root / "process"
    until = time.monotonic() + 60
    while not (started.exists() and started.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    assert running.wait(60) != 0
    assert not still(Path("/proc", started.read_text().strip()).exists, 10)


@pytest.mark.parametrize("text", ["", "soon", "0", "-1", "nan", "inf"])
def test_a_limit_that_is_no_number_of_minutes_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"STEELYARD_MINUTES='{text}' is not a number of minutes"):
        suites.minutes_allowed(text)


def test_every_suite_is_a_target_and_every_target_of_tests_is_a_suite() -> None:
    makefile = (suites.ROOT / "Makefile").read_text()
    targets = {line.partition(":")[0] for line in makefile.splitlines() if line.startswith("test-")}
    run = {name for names, _ in suites.STAGES for name in names}
    assert {name for name in run if name.startswith("test-")} == targets - {"test-all"}
