"""A fault of Steelyard itself is one sentence on a terminal, and a traceback with this sentence in a log."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

# The command with a fault that is planted into one of its modules.
FAULTY = """
import sys
from steelyard.measure import records

def fail(folder):
    return {}["no\\nsuch key"]

records.all_runs.__code__ = fail.__code__.replace(co_filename=records.__file__, co_firstlineno=7)
from steelyard.__main__ import main

sys.argv = ["steelyard", "show", "--all"]
main()
"""
SENTENCE = (
    "steelyard: The command 'show' failed because of a fault in Steelyard itself: KeyError: 'no\\nsuch key' "
    "(measure/records/__init__.py, line 8). Please report it with its traceback, which is "
)


def run(folder: Path, cache: Path, error: int) -> int:
    variables = {**os.environ, "STEELYARD_CACHE": str(cache), "COLUMNS": "400"}
    command = [sys.executable, "-c", FAULTY]
    return subprocess.run(
        command, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=error, check=False
    ).returncode


def run_on_terminal(folder: Path, cache: Path) -> tuple[int, str]:
    here, there = pty.openpty()
    code = run(folder, cache, there)
    os.close(there)
    said = os.read(here, 100_000).decode()
    os.close(here)
    return code, said.replace("\r\n", "\n")


def test_a_log_has_the_traceback_and_the_sentence(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        assert run(tmp_path, tmp_path / "cache", file.fileno()) == 1
    said = log.read_text()
    assert said.startswith("Traceback (most recent call last):\n")
    assert said.endswith(f"\n{SENTENCE}above.\n")
    assert not (tmp_path / "cache" / "traceback.txt").exists()


def test_a_terminal_has_the_sentence_and_a_file_has_the_traceback(tmp_path: Path) -> None:
    file = tmp_path / "cache" / "traceback.txt"
    assert run_on_terminal(tmp_path, tmp_path / "cache") == (1, f"{SENTENCE}in {file}.\n")
    trace = file.read_text()
    assert trace.startswith("Traceback (most recent call last):\n")
    assert trace.endswith("KeyError: 'no\\nsuch key'\n")


@pytest.mark.parametrize("cache", ["/dev/null/cache", "/proc/cache"])
def test_without_a_cache_the_traceback_is_on_the_terminal(cache: str, tmp_path: Path) -> None:
    code, said = run_on_terminal(tmp_path, Path(cache))
    assert (code, said.startswith("Traceback"), said.endswith(f"{SENTENCE}above.\n")) == (1, True, True)
