"""A user's own command, carried out while sensors are read; what it marks as its phases."""

import contextlib
import itertools
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.telemetry.watched import Stretch

PHASES = "STEELYARD_PHASES"  # the environment's name for where the command marks its phases


@dataclass(frozen=True)
class Outcome:
    """How a command ended (128 + signal where one ended it, as a shell says it), its time, and that of each phase."""

    code: int
    whole: Stretch
    phases: tuple[Stretch, ...]


def carried_out(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Outcome:
    """Runs the command to its end, with `environment` besides the own one. UsageError where it cannot be started; Ctrl-C goes to
    the command, which ends as it likes.
    """
    with _marks() as (path, marks):
        begin = time.time_ns()
        try:
            process = subprocess.Popen(command, env={**os.environ, **(environment or {}), PHASES: str(path)})
        except OSError as error:
            raise UsageError(f"The command '{command[0]}' cannot be started: {error.strerror}.") from None
        code = _ended(process)
        end = time.time_ns()
    return Outcome(code if code >= 0 else 128 - code, Stretch(command[0], begin, end), tuple(_phases(marks, end)))


def _ended(process: subprocess.Popen[bytes]) -> int:
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:  # the terminal sent it to the command as well
            continue


@contextlib.contextmanager
def _marks() -> Iterator[tuple[Path, list[tuple[int, str]]]]:
    """A pipe with a name, and the lines that come through it, each with the moment of its coming (ns since 1970)."""
    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        path, marks = Path(folder) / "phases", list[tuple[int, str]]()
        os.mkfifo(path, 0o600)
        # Held open for both ways, so that no writer waits for a reader and none that closes it ends it.
        with path.open("r+b", buffering=0) as pipe:
            thread = threading.Thread(target=_listen, args=(pipe.fileno(), marks), daemon=True)
            thread.start()
            try:
                yield path, marks
            finally:
                pipe.write(b"\0\n")
                thread.join()


def _listen(pipe: int, marks: list[tuple[int, str]]) -> None:
    rest = b""
    while True:
        arrived, now = os.read(pipe, 65536), time.time_ns()
        *lines, rest = (rest + arrived).split(b"\n")
        for line in lines:
            if line == b"\0":
                return
            marks.append((now, line.decode(errors="replace").strip()))


def _phases(marks: Sequence[tuple[int, str]], end: int) -> Iterator[Stretch]:
    """A line names the phase that begins with it; an empty one ends the phase before.

    What the command wrote as it ended may be read after its end.
    """
    for (begin, name), (after, _) in itertools.pairwise([*((min(at, end), line) for at, line in marks), (end, "")]):
        if name:
            # The last lines may be read when the command has ended; they came while it ran.
            yield Stretch(name, min(begin, end), min(after, end))
