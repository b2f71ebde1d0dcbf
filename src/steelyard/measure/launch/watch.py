"""A user's own command, carried out while sensors are read; what it marks as its phases."""

import contextlib
import itertools
import os
import select
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.measure.telemetry.labels import to_line
from steelyard.measure.telemetry.watched import Stretch
from steelyard.system import keeper, signals
from steelyard.system.starts import start_program

PHASES = "STEELYARD_PHASES"  # the environment's name for where the command marks its phases
MOST_MARKS, LONGEST_MARK = 100_000, 1 << 16  # greatest number of marks, and of bytes in a line; the rest is left out
LAST = 1.0  # seconds in which what a command has left can still mark phases


@dataclass(frozen=True)
class Outcome:
    """The exit code of a command (128 + signal if a signal ended it), its time, and the time of each phase.

    `ended`: a signal that was to end this process ended it.
    """

    code: int
    whole: Stretch
    phases: tuple[Stretch, ...]
    ended: bool = False


def run_watched(command: Sequence[str], environment: Mapping[str, str] | None = None, of_user: bool = True) -> Outcome:
    """Runs the command to its end, with `environment` besides the own one. UsageError if it cannot be started.

    `of_user`: as in `starts.start_program`. Ctrl-C goes to the command, which ends as it likes. Another signal, or Ctrl-C twice,
    ends all that it has started.
    """
    with _collect_marks() as (path, marks), keeper.start() as kept:
        begin = time.time_ns()
        variables = {**os.environ, **(environment or {}), PHASES: str(path), **kept.environment}
        try:
            code = _run_command(command, variables, kept, of_user)
        except OSError as error:
            raise UsageError(f"The command '{command[0]}' cannot be started: {error.strerror}.") from None
        end = max(time.time_ns(), begin + 1)  # the clock may have been set back
    phases = tuple(_phases(marks, end))
    return Outcome(
        code if code >= 0 else 128 - code, Stretch(to_line(command[0]), begin, end), phases, bool(signals.arrived())
    )


def _run_command(command: Sequence[str], environment: Mapping[str, str], kept: keeper.Kept, of_user: bool) -> int:
    process = None
    while True:
        try:
            if process is None:
                with signals.held():
                    process = start_program(command, environment, of_user)
            return _wait_for_end(process)
        except KeyboardInterrupt:
            if process is None:
                raise
            if not signals.is_shared():
                signals.accept()
                kept.end()
                return process.wait()


def _wait_for_end(process: "subprocess.Popen[bytes]") -> int:
    """Returns the exit code, which a signal between its arrival and its note would replace by 0."""
    if process.returncode is None:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with signals.held():
        return process.wait()


@contextlib.contextmanager
def _collect_marks() -> Iterator[tuple[Path, list[tuple[int, str]]]]:
    """Yields a named pipe and the list of its lines, each with the time of its arrival (ns since 1970)."""
    with tempfile.TemporaryDirectory(prefix="steelyard-", ignore_cleanup_errors=True) as folder:
        path, marks = Path(folder) / "phases", list[tuple[int, str]]()
        os.mkfifo(path, 0o600)
        # Held open for both ways, so that no writer waits for a reader and none that closes it ends it.
        pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        ended, end = os.pipe()
        thread = threading.Thread(target=_listen_to_marks, args=(pipe, ended, marks), daemon=True)
        thread.start()
        try:
            yield path, marks
        finally:
            os.close(end)
            thread.join()
            os.close(ended)
            os.close(pipe)
    shutil.rmtree(folder, ignore_errors=True)  # a late opening of the name has made a file in the folder


def _listen_to_marks(pipe: int, ended: int, marks: list[tuple[int, str]]) -> None:
    """Reads lines until the other end of `ended` is closed, and then the rest of the pipe. Each line is only a name."""
    rest, until = b"", float("inf")
    while time.monotonic() < until:
        waited = [pipe] if until < float("inf") else [pipe, ended]
        ready = select.select(waited, [], [], None if ended in waited else 0.0)[0]
        if pipe in ready:
            with contextlib.suppress(BlockingIOError):
                arrived, now = os.read(pipe, 65536), time.time_ns()
                *lines, rest = (rest + arrived).split(b"\n")
                rest = rest[:LONGEST_MARK]
                marks += [
                    (now, to_line(text.decode(errors="replace")).strip()) for text in lines[: MOST_MARKS - len(marks)]
                ]
        elif ended in ready:
            until = time.monotonic() + LAST
        else:
            return


def _phases(marks: Sequence[tuple[int, str]], end: int) -> Iterator[Stretch]:
    """Yields the phases: a line names the phase that begins with it, and an empty line ends the phase before.

    Marks that the command wrote at its end may be read after its end; they belong to its time.
    """
    for (begin, name), (after, _) in itertools.pairwise([*((min(at, end), name) for at, name in marks), (end, "")]):
        if name:
            yield Stretch(name, begin, max(begin, after))  # the clock may have been set back
