"""Programs that are asked: their answers, and those that never end, never stop printing, or leave others behind."""

import os
import sys
import time
from pathlib import Path

import pytest

from steelyard import machine
from steelyard.machine.tools import find_tools
from steelyard.programs import Hangs, NoAnswer, ask
from steelyard.telemetry.sensors import _programs


def running(mark: str) -> list[int]:
    """Processes whose command line holds this."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "cmdline").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def test_an_answer_has_its_code_and_both_channels() -> None:
    done = ask(["sh", "-c", "cat; echo wrong >&2; exit 3"], given="ä\n")
    assert (done.returncode, done.stdout, done.stderr) == (3, "ä\n", "wrong\n")


def test_what_a_program_leaves_in_the_background_is_not_waited_for() -> None:
    began = time.monotonic()
    assert ask(["sh", "-c", "sleep 3 & echo done"]).stdout == "done\n"
    assert time.monotonic() - began < 2.5


def test_one_that_hangs_ends_with_all_that_it_started() -> None:
    mark = f"hangs-{os.getpid()}"
    with pytest.raises(Hangs, match="did not answer within 1 s"):
        ask(["sh", "-c", f"sh -c 'sleep 100; : {mark}' & wait"], 1)
    assert not running(mark)


def test_an_answer_without_an_end_is_cut() -> None:
    with pytest.raises(Hangs, match="prints more than 1024 KiB"):
        ask(["yes"])


@pytest.mark.parametrize("command", [["/nowhere/at/all"], ["a\0b"], [str(Path(__file__))]])
def test_one_that_cannot_be_started_is_named(command: list[str]) -> None:
    with pytest.raises(NoAnswer, match="cannot be started"):
        ask(command)


def test_a_sensors_program_that_prints_without_end_is_a_sentence() -> None:
    with pytest.raises(OSError, match="'yes' prints more than 1024 KiB"):
        _programs.answer(["yes"])


@pytest.mark.parametrize("name", ["g++", "mpicxx"])
def test_a_compiler_that_hangs_is_named_and_left_out(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that hangs in a process of its own, which keeps its output open."""
    program = tmp_path / name
    program.write_text("#!/bin/sh\nsleep 1000 &\nwait\n")
    program.chmod(0o755)
    monkeypatch.setattr(ask, "__defaults__", (1.0, *ask.__defaults__[1:]))
    began = time.monotonic()
    compilers, mpis, hanging = find_tools(str(tmp_path))
    assert time.monotonic() - began < 20
    assert (compilers, mpis) == ((), ())
    assert hanging == (f"{program} did not answer within 1 s, and is left out.",)


def test_the_description_of_a_machine_names_what_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        machine, "find_tools", lambda: ((), (), ("/bin/g++ did not answer within 10 s, and is left out.",))
    )
    assert "/bin/g++ did not answer within 10 s, and is left out." in machine.describe().notes


def test_an_answer_comes_as_soon_as_the_program_ends() -> None:
    began = time.monotonic()
    for _ in range(20):
        ask([sys.executable, "-I", "-S", "-c", ""])
    assert time.monotonic() - began < 20
