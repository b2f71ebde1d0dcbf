"""Shared by several schedulers: lists of hosts, the batch script, and the notation of times."""

import shlex
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.launch.scheduler import Request
from steelyard.model import Host


def script(request: Request, mark: str, words: Iterable[str], ending: str = "") -> str:
    """A batch script: a line of `mark` for each of the words, quoted as the scheduler reads them, then the command."""
    lines = ["#!/bin/sh", *(f"{mark} {word}" for word in words)]
    return "\n".join([*lines, f"exec {shlex.join([*request.program, *request.words])}{ending}", ""])


def redirected(request: Request, outputs: str, number: str) -> str:
    """The command's ending where a scheduler keeps its output back until the job ends: so it can be followed.

    `number` is the shell's word for the job's number.
    """
    folder = shlex.quote(str(request.folder))
    out, error = (f"{folder}/{outputs.format(job=number, kind=kind)}" for kind in ("out", "err"))
    return f" >{out} 2>{error}"


def listed(file: str, called: str) -> tuple[Host, ...]:
    """The hosts in a scheduler's file, which has a line for each rank; `called`: how a user finds it. MachineFailed."""
    try:
        lines = Path(file).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise MachineFailed(
            f"{called}='{file}' cannot be read: {error}. Do not set it yourself; ask for a new job."
        ) from None
    return tuple(Host(name, count) for name, count in Counter(lines).items())


def clock(seconds: float) -> str:
    """5400 → '01:30:00'."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
