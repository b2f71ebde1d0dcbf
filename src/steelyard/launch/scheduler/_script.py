"""What the files of several schedulers share: the batch script, and times as they write them."""

import shlex
from collections.abc import Iterable

from steelyard.launch.scheduler import Request


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


def clock(seconds: float) -> str:
    """5400 → '01:30:00'."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
