"""A running kernel program: cases in, one line each, and records out; watched, so that none hangs or stays behind."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import Any, Protocol

from steelyard.errors import MachineFailed, ProgramFailed
from steelyard.measure.launch.causes import find_cause, name_presets
from steelyard.measure.launch.command_text import format_command
from steelyard.measure.launch.rank_errors import explain, remove_reports
from steelyard.system import signals
from steelyard.system.starts import start_program

GRACE = 2.0  # seconds that a program is given to end by itself
RANKS_GRACE = 5.0  # and a launcher, to end its ranks on all hosts: Open MPI 4 needs up to 4 s


class Conversation(Protocol):
    """A program as the runner sees it; tests replace it."""

    def ask(self, line: str, seconds: float) -> dict[str, Any]:
        """Sends a case and returns its record; ProgramFailed when the program dies or takes longer than `seconds`."""

    def close(self) -> None:
        """Ends the program; nothing of it stays behind."""


class Program:
    """A `Conversation` with a real process: a kernel program, or the launcher of one with `ranks` ranks."""

    def __init__(self, command: list[str], environment: Mapping[str, str], ranks: int | None = None) -> None:
        self._ranks = ranks
        self._own = {name: value for name, value in environment.items() if os.environ.get(name) == value}
        self._answered = False
        self._shown = format_command(command, environment)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the program
        try:
            # A group of its own: Ctrl-C reaches the tool alone, which then ends the program in good order.
            self._process = start_program(
                command,
                environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError as error:
            raise MachineFailed(f"The program cannot be started: {error}\nThe command was:\n  {self._shown}") from error
        assert self._process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._rest = b""
        self._strange = b""  # lines that are no records

    def ask(self, line: str, seconds: float) -> dict[str, Any]:
        self.tell(line)
        return self.hear(line, seconds)

    def tell(self, line: str) -> None:
        """Sends a case whose record is read later, by `hear`. ProgramFailed when the program has died."""
        assert self._process.stdin
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._failed("Running the case " + line, self._ended()) from None

    def hear(self, line: str, seconds: float) -> dict[str, Any]:
        """Returns the record of the case that was sent; errors as `ask`'s."""
        deadline = time.monotonic() + seconds
        answer = self._read_line(line, deadline)
        # Launchers tell of a rank's end on this channel, too, and a library that a variable loads may print what it likes.
        while not answer.startswith(b"{"):
            self._strange += answer + b"\n"
            answer = self._read_line(line, deadline)
        try:
            record = json.loads(answer)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise ProgramFailed(
                "Reading the record of the case " + line,
                self._shown,
                self._process.poll(),
                answer.decode(errors="replace"),
            )
        self._answered = True
        return record

    def close(self) -> None:
        self._selector.close()
        if self._ranks and self._process.stdin:
            with contextlib.suppress(OSError, ValueError):  # some launchers do not pass on the end of the input
                self._process.stdin.write(b"end\n")
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._kill()
        self._errors.close()

    def kill(self) -> None:
        """Ends the program at once: it is in the middle of something that nobody waits for."""
        self._kill()
        self.close()

    def _read_line(self, line: str, deadline: float) -> bytes:
        assert self._process.stdout
        parts, self._rest = [self._rest], b""
        while b"\n" not in parts[-1]:
            left = deadline - time.monotonic()
            if left <= 0 or not self._selector.select(left):
                failure = self._failed("Running the case " + line, None)  # before a frozen rank is woken to be ended
                self._kill()
                raise failure
            part = os.read(self._process.stdout.fileno(), 1 << 16)
            if not part:
                raise self._failed("Running the case " + line, self._ended())
            parts.append(part)  # a record of many ranks has hundreds of parts
        last, _, self._rest = parts.pop().partition(b"\n")
        return b"".join((*parts, last))

    def _ended(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(GRACE)
        self._kill()
        return None

    def _failed(self, purpose: str, code: int | None) -> ProgramFailed:
        signals.await_own(code)
        self._errors.seek(0)
        output = (self._errors.read() + self._strange).decode(errors="replace")
        rest = remove_reports(output)
        killed = f"(killed by {signal.Signals(-code).name})" if code is not None and code < 0 else ""
        blame = explain(output, self._ranks, over_time=code is None)
        why = "" if code is None else find_cause(rest)
        preset = name_presets(rest, self._own, self._answered) if self._ranks and code is not None else ""
        reasons = [words for words in (why, killed, blame) if words]
        if reasons and preset:  # the first line is what a finding repeats
            reasons[0] = f"{reasons[0].rstrip('.')}; {preset}"
        rest = "\n".join([*reasons, rest])
        return ProgramFailed(purpose, self._shown, code, rest)

    def _kill(self) -> None:
        """Ends the program by a signal that it can handle first, so that a launcher ends its ranks on other hosts, too."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(RANKS_GRACE if self._ranks else GRACE)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
