"""The first signal interrupts a command once, the second waits for the clean-up, the third does not."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steelyard.system import signals

STEELYARD = str(Path(sys.executable).with_name("steelyard"))


def run_python(code: str) -> "subprocess.CompletedProcess[str]":
    """Runs the code in a process of its own, which signals may end."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def held(steps: list[str]) -> None:
    with signals.held():
        signal.raise_signal(signal.SIGTERM)
        steps.append("held")


def test_a_signal_interrupts_once_and_only_outside_of_a_held_block() -> None:
    steps: list[str] = []
    with signals.ending() as arrived, signals.heard():
        with signals.accepted():
            held(steps)
        signal.raise_signal(signal.SIGINT)
        signals.sleep(0.001)
    assert arrived == [signal.SIGTERM, signal.SIGINT]
    assert steps == ["held"]


# Planted: SIGTERM right after the first instruction of the handler of SIGINT, where Python handles it.
TERM_IN_INT = """
def enter(frame, event, argument):
    if frame.f_code is handler.__code__ and frame.f_locals["number"] == 2:
        handler(*owner, 15, frame)
sys.settrace(enter)
signal.raise_signal(signal.SIGINT)
"""


def test_a_signal_that_comes_while_the_first_is_not_noted_yet_is_the_second() -> None:
    code = (
        "import signal, sys; from steelyard.system import signals\n"
        "signals.listen(); handler, owner = signals._End.hear, [signals._end]\n"
    )
    done = run_python(f"{code}{TERM_IN_INT}sys.settrace(None); print(*map(int, signals.arrived()))")
    assert (done.stdout, done.stderr) == ("2 15\n", "")


def test_the_first_signal_gives_the_exit_code_also_while_the_rest_is_imported() -> None:
    done = run_python(f"import signal, sys, steelyard.__main__ as main\nhandler, owner = main._gone, []\n{TERM_IN_INT}")
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "steelyard: interrupted\n")


def test_a_signal_ends_a_sleep_in_a_held_block() -> None:
    with signals.ending(), signals.heard(), signals.held():
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            signals.sleep(60)
        signals.accept()


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


def test_a_signal_that_comes_right_before_a_call_interrupts_it() -> None:
    """Planted: another thread gets the signal, so that the call of the first one goes on, as it does then."""
    code = (
        "import os, signal, threading, time; from steelyard.system import signals\n"
        "def get(): time.sleep(0.2); signal.pthread_kill(threading.get_ident(), signal.SIGTERM); time.sleep(60)\n"
        "signals.listen(); signals.nudge()\n"
        "threading.Thread(target=get, daemon=True).start()\n"
        "try:\n"
        "    with signals.heard(): os.read(os.pipe()[0], 1)\n"
        "except KeyboardInterrupt: print(*map(int, signals.arrived()))"
    )
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("15\n", "")


def test_an_interruption_that_a_library_swallows_comes_again() -> None:
    """SQLite drops the exceptions of its callbacks without a word."""
    code = (
        "import contextlib, os, signal, sqlite3, time; from steelyard.system import signals\n"
        "signals.listen(); signals.nudge()\n"
        "base = sqlite3.connect(':memory:'); began = time.monotonic()\n"
        "def get():\n"
        "    base.set_progress_handler(None, 1); signal.raise_signal(signal.SIGTERM)\n"
        "base.set_progress_handler(get, 1)\n"
        "try:\n"
        "    with signals.heard():\n"
        "        with contextlib.suppress(sqlite3.OperationalError): base.execute('select 1').fetchall()\n"
        "        time.sleep(60)\n"
        "except KeyboardInterrupt: print(*map(int, signals.arrived()), time.monotonic() - began < 30)"
    )
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("15 True\n", "")


def test_an_accepted_interruption_does_not_come_again() -> None:
    code = (
        "import os, signal, time; from steelyard.system import signals\n"
        "signals.listen(); signals.nudge()\n"
        "with signals.heard():\n"
        "    with signals.accepted(): os.kill(os.getpid(), signal.SIGINT); time.sleep(60)\n"
        "    time.sleep(2.5); print('clean')"
    )
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("clean\n", "")


def test_a_signal_during_the_clean_up_is_not_lost() -> None:
    code = (
        "import contextlib, os, signal, sys\n"
        "from steelyard.show.command_line import cli\n"
        "from steelyard.system import keeper\n"
        "@contextlib.contextmanager\n"
        "def started(): yield; os.kill(os.getpid(), signal.SIGTERM)\n"
        "keeper.started, sys.argv = started, ['steelyard', '--version']\n"
        "cli.main()"
    )
    done = run_python(code)
    assert (done.returncode, done.stderr) == (143, "steelyard: interrupted\n")


def test_a_signal_is_told_once_also_if_the_command_had_its_exit_code_already() -> None:
    code = (
        "import os, signal, sys\n"
        "from steelyard.show.command_line import cli\n"
        "from steelyard.system import signals\n"
        "signals.listen()\n"
        "code = cli.run_and_explain(lambda: sys.exit(130))\n"
        "for number in (signal.SIGINT, signal.SIGINT):\n"
        "    os.kill(os.getpid(), number)\n"
        "    code = cli.run_and_explain(lambda: None, code)\n"
        "sys.exit(code)"
    )
    done = run_python(code)
    assert (done.returncode, done.stderr) == (130, "steelyard: interrupted\n")


def test_the_third_signal_does_not_wait_for_the_clean_up() -> None:
    code = (
        "import os, signal, time; from steelyard.system import signals\n"
        "with signals.ending(), signals.heard():\n"
        "    try: os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)\n"
        "    finally: [os.kill(os.getpid(), signal.SIGINT) for _ in range(2)]; time.sleep(60)"
    )
    done = run_python(code)
    assert (done.returncode, done.stderr) == (
        143,
        "steelyard: interrupted during the clean-up, so temporary files may be left\n",
    )


@pytest.mark.sampled(1)
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
