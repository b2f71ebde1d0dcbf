"""Runs a program for its answer, within a time and a size. Ends a program that hangs, with all processes that it started.

The answer is searched for by its form, line by line: first on standard output, then on standard error. With a wrong variable
such as LD_PRELOAD every program prints lines of the loader.
"""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from steelyard.system import signals
from steelyard.system.starts import start_program

SECONDS = 10.0  # such a program usually answers in 10 ms; on a slow network file system it may take a second or two
MOST = 1 << 20  # bytes of an answer
LOOK = 0.02  # seconds between two checks of the output
# Lines at which the JSON in an answer may begin. For each one that is none, the decoder counts all lines above it.
_MOST_TRIES = 500
_SHOWN = 300  # maximum length of a line that a sentence quotes, in letters
# A line with a level of severity, or one that the loader, a shell, modules or a licence server print before the program.
_LEVEL = r"(?:error|warning|warn|note|notice|remark|info|debug)"
_WHO = r"(?:perl|bash|sh|ccache|sccache|distcc|lmod|libibverbs)"
_REMARK = re.compile(
    rf"(?i)^\W*(?:(?:[\w./+-]+: )*{_LEVEL}\b(?: #\d+)?[\]:]|[\w+]+-{_LEVEL}-|{_LEVEL} |{_WHO}: |lmod |"
    r"(?:un|re)?loading |(?:switching|replacing) |inactive modules|due to |the following )|licen[cs]e|"
    r"ld\.so: object|cannot be preloaded|setlocale|no version information available"
)
# Those of these lines after which the program goes on.
_HARMLESS = re.compile(
    r"(?i)ld\.so: object|cannot be preloaded|locale|no version information available|\bwarning\b[:\]]"
)

Answer = subprocess.CompletedProcess[str]


class NoAnswer(OSError):
    """The reason for a missing answer, in words that follow the program's name: "cannot be started: …"."""


class Hangs(NoAnswer):
    """The program did not answer in time, or its answer is too long."""


def ask(
    command: Sequence[str],
    seconds: float = SECONDS,
    given: str = "",
    environment: Mapping[str, str] | None = None,
    most: int = MOST,
) -> Answer:
    """Returns exit code, standard output and standard error of a program that reads `given`.

    NoAnswer if it cannot be started; Hangs if it does not end in time, or prints more than `most` bytes.
    """
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(open(os.memfd_create(name), "w+b")) for name in ("given", "out", "err")]
        source, out, err = files
        source.write(given.encode())
        source.seek(0)
        try:
            process = start_program(command, environment, stdin=source, stdout=out, stderr=err, start_new_session=True)
        except (OSError, ValueError) as problem:  # a zero byte in a word
            raise NoAnswer(f"cannot be started: {getattr(problem, 'strerror', None) or problem}") from None
        try:
            until = time.monotonic() + seconds
            while not _has_ended(process):
                if max(os.fstat(file.fileno()).st_size for file in (out, err)) > most:
                    raise Hangs(f"prints more than {most >> 10} KiB")
                if time.monotonic() > until:
                    raise Hangs(f"did not answer within {seconds:.0f} s")
            signals.await_own(process.returncode)
        except BaseException:  # Ctrl-C, too
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        texts = [_read_start(file.fileno(), most).decode("utf-8", "replace") for file in (out, err)]
        return subprocess.CompletedProcess(command, process.returncode, *texts)


def search(done: Answer, form: str | re.Pattern[str]) -> re.Match[str] | None:
    """Returns the match of the first line that fits `form`, on standard output or else on standard error. Skips remarks."""
    fits = re.compile(form)
    return next((match for line in _lines(done) if not _REMARK.search(line) and (match := fits.search(line))), None)


def is_remark(line: str) -> bool:
    """Returns whether a line comes from the loader, a shell or the like, and the program went on after it."""
    return _HARMLESS.search(line) is not None


def remarks(done: Answer) -> list[str]:
    """Returns the lines that are not part of the answer, such as "ERROR: ld.so: object …", without repetitions."""
    return list(dict.fromkeys(line[:_SHOWN] for line in _lines(done) if _REMARK.search(line)))


def reason(done: Answer) -> str:
    """Returns why a program failed: its errors, or else its output; "" if it printed nothing.

    Lines of the loader and the like are left out if there are others.
    """
    for text in (done.stderr, done.stdout):
        lines = [line for line in text.splitlines() if line.strip()]
        if telling := [line for line in lines if not _HARMLESS.search(line)]:
            return "\n".join(telling).strip()
    return (done.stderr or done.stdout).strip()


def parsed(text: str) -> Any:
    """Returns the JSON in an answer, which begins and ends with a whole line. ValueError if there is none."""
    decoder = json.JSONDecoder()
    for start in islice(re.finditer(r"^[ \t]*(?=[\[{])", text, re.MULTILINE), _MOST_TRIES):
        with contextlib.suppress(ValueError, RecursionError):
            value, end = decoder.raw_decode(text, start.end())
            if not text[end:].partition("\n")[0].strip():
                return value
    raise ValueError("there is no JSON in the answer")


def _lines(done: Answer) -> Iterator[str]:
    return (line.strip() for text in (done.stdout, done.stderr) for line in text.splitlines() if line.strip())


def _read_start(file: int, most: int) -> bytes:
    return os.pread(file, most, 0)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Waits at most LOOK seconds for the end of a process, and returns whether it has ended."""
    try:
        file = os.pidfd_open(process.pid)
    except OSError:  # an old kernel
        time.sleep(LOOK / 10)
        return process.poll() is not None
    try:
        select.select([file], [], [], LOOK)
    finally:
        os.close(file)
    return process.poll() is not None
