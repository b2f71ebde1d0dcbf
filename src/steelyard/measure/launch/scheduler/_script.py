"""Common parts of several schedulers: lists of hosts, the batch script, and the notation of times."""

import shlex
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.measure.launch.scheduler import Request
from steelyard.model import Host


def script(request: Request, mark: str, words: Iterable[str], ending: str = "") -> str:
    """Returns a batch script: a line of `mark` for each of the words, quoted for the scheduler, then the command."""
    lines = ["#!/bin/sh", *(f"{mark} {word}" for word in words)]
    return "\n".join([*lines, f"exec {shlex.join([*request.program, *request.words])}{ending}", ""])


def redirect_output(request: Request, outputs: str, number: str) -> str:
    """Returns redirections that make the output visible at once, for schedulers that hold it back until the job ends.

    `number` is the shell's expression for the number of the job.
    """
    folder = shlex.quote(str(request.folder))
    out, error = (f"{folder}/{outputs.format(job=number, kind=kind)}" for kind in ("out", "err"))
    return f" >{out} 2>{error}"


def read_hosts_file(file: str, called: str) -> tuple[Host, ...]:
    """Reads the hosts from a scheduler's file with a line for each rank; `called` names the file in an error. MachineFailed."""
    try:
        lines = Path(file).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise MachineFailed(
            f"{called}='{file}' cannot be read: {error}. Do not set this variable yourself. Start a new job."
        ) from None
    return tuple(Host(name, count) for name, count in Counter(lines).items())


def clock(seconds: float) -> str:
    """5400 → '01:30:00'."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
