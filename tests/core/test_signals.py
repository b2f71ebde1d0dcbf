"""The first signal interrupts a command once, the second waits for the clean-up, the third does not."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steelyard import signals

STEELYARD = str(Path(sys.executable).with_name("steelyard"))


def held(steps: list[str]) -> None:
    with signals.held():
        signal.raise_signal(signal.SIGTERM)
        steps.append("held")


def test_a_signal_interrupts_once_and_only_outside_of_a_held_block() -> None:
    steps: list[str] = []
    with signals.ending() as arrived, signals.heard():
        with pytest.raises(KeyboardInterrupt):
            held(steps)
        signal.raise_signal(signal.SIGINT)
        signals.sleep(0.001)
    assert arrived == [signal.SIGTERM, signal.SIGINT]
    assert steps == ["held"]


def test_a_signal_ends_a_sleep_in_a_held_block() -> None:
    with signals.ending(), signals.heard(), signals.held():
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signals.sleep(60)


class Dropping:
    """Python drops an exception that is raised in `__del__`."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def drop_and_sleep() -> None:
    Dropping()
    time.sleep(60)


def test_an_interruption_that_python_drops_comes_again() -> None:
    with signals.ending() as arrived, pytest.raises(KeyboardInterrupt), signals.heard():
        drop_and_sleep()
    assert arrived == [signal.SIGINT]


def test_the_third_signal_does_not_wait_for_the_clean_up() -> None:
    code = (
        "import os, signal, time; from steelyard import signals\n"
        "with signals.ending(), signals.heard():\n"
        "    try: os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)\n"
        "    finally: [os.kill(os.getpid(), signal.SIGINT) for _ in range(2)]; time.sleep(60)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (
        143,
        "steelyard: interrupted during the clean-up, so temporary files may be left\n",
    )


@pytest.mark.wings
@pytest.mark.parametrize(
    ("script", "times", "code"),
    [
        ("trap 'exit 7' INT; echo ready; sleep 60 & wait", 1, 7),
        ("trap : INT; echo ready; while :; do sleep 1; done", 2, 130),
    ],
)
def test_ctrl_c_is_for_the_command_and_twice_for_both(script: str, times: int, code: int) -> None:
    """A terminal sends it to both; the command may handle it, and Steelyard ends as the command does."""
    process, terminal = pty.fork()
    if process == 0:
        words = [STEELYARD, "power", "watch", "--sensor", "model:idle=10,full=20", "--", "sh", "-c", script]
        os.execv(STEELYARD, words)
    said = b""
    while b"ready" not in said:
        said += os.read(terminal, 1000)
    for _ in range(times):
        os.write(terminal, b"\x03")
        time.sleep(0.3)
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == code
