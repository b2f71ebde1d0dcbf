"""Asks a program: what it prints within a time and a size. What hangs is ended, with the processes that it started."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

SECONDS = 10.0  # a program that is only asked answers in some 10 ms; over a slow network file system it may take a second or two
MOST = 1 << 20  # bytes of an answer
LOOK = 0.02  # seconds between two looks at what has been printed


class NoAnswer(OSError):
    """Why there is none, as words that follow the program's name: "cannot be started: …"."""


class Hangs(NoAnswer):
    """It did not answer in time, or its answer has no end."""


def ask(
    command: Sequence[str],
    seconds: float = SECONDS,
    given: str = "",
    environment: Mapping[str, str] | None = None,
    most: int = MOST,
) -> subprocess.CompletedProcess[str]:
    """Exit code, standard output and standard error of a program that reads `given`.

    NoAnswer where it cannot be started; Hangs where it does not end in time, or prints more than `most` bytes.
    """
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(open(os.memfd_create(name), "w+b")) for name in ("given", "out", "err")]
        source, out, err = files
        source.write(given.encode())
        source.seek(0)
        try:
            process = subprocess.Popen(
                command, stdin=source, stdout=out, stderr=err, env=environment, start_new_session=True
            )
        except (OSError, ValueError) as problem:  # a zero byte in a word
            raise NoAnswer(f"cannot be started: {getattr(problem, 'strerror', None) or problem}") from None
        try:
            until = time.monotonic() + seconds
            while not _ended(process):
                if max(os.fstat(file.fileno()).st_size for file in (out, err)) > most:
                    raise Hangs(f"prints more than {most >> 10} KiB")
                if time.monotonic() > until:
                    raise Hangs(f"did not answer within {seconds:.0f} s")
        except BaseException:  # Ctrl-C, too
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        texts = [_start(file.fileno(), most).decode("utf-8", "replace") for file in (out, err)]
        return subprocess.CompletedProcess(command, process.returncode, *texts)


def _start(file: int, most: int) -> bytes:
    return os.pread(file, most, 0)


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended by now, or does within LOOK seconds."""
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
