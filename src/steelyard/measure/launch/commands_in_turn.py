"""Runs two commands of the user in turn and times each run from outside."""

import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from steelyard.errors import MachineFailed, UsageError
from steelyard.system import keeper, signals
from steelyard.system.starts import start_program

LAST_WORDS = 2000  # bytes of what a failed command printed


@dataclass(frozen=True)
class Timing:
    """One run of a command: wall-clock seconds from start to end, and processor seconds of all its processes."""

    seconds: float
    processor: float


@dataclass
class Timings:
    """The runs of both commands, in pairs: run n of one was right before or after run n of the other."""

    first: list[Timing] = field(default_factory=list)
    second: list[Timing] = field(default_factory=list)
    interrupted: bool = False


def time_in_turn(
    first: Sequence[str],
    second: Sequence[str],
    rounds: int,
    seed: int,
    show: Callable[[int, float], None] = lambda done, left: None,
) -> Timings:
    """Returns the times of `rounds` pairs of runs, after one run of each that is not counted.

    A random draw decides which command of a pair runs first. `show` gets the pairs that are done and the seconds left.
    A signal ends the running command and keeps the pairs that are complete. UsageError if a command cannot be started;
    MachineFailed if one fails: the time of a failed run means nothing.
    """
    timings, chance, began = Timings(), random.Random(seed), 0.0
    with keeper.start() as kept, tempfile.TemporaryFile() as output:
        try:
            for command in (first, second):
                _time_command(command, kept, output)
            began = time.monotonic()
            for done in range(1, rounds + 1):
                first_leads = chance.random() < 0.5
                pair = (first, second) if first_leads else (second, first)
                measured = [_time_command(command, kept, output) for command in pair]
                a, b = measured if first_leads else reversed(measured)
                timings.first.append(a)
                timings.second.append(b)
                show(done, (time.monotonic() - began) / done * (rounds - done))
        except KeyboardInterrupt:
            signals.accept()
            timings.interrupted = True
    return timings


def _time_command(command: Sequence[str], kept: keeper.Kept, output: BinaryIO) -> Timing:
    output.seek(0)
    output.truncate()
    environment = {**os.environ, **kept.environment}
    begin = time.perf_counter()
    try:
        process = start_program(
            command, environment, of_user=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output
        )
    except OSError as error:
        raise UsageError(f"The command '{command[0]}' cannot be started: {error.strerror}.") from None
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    signals.await_own(process.returncode)
    if process.returncode:
        output.seek(max(0, output.seek(0, os.SEEK_END) - LAST_WORDS))
        words = output.read().decode("utf-8", "replace").strip()
        raise MachineFailed(
            f"The command '{' '.join(command)}' ended with exit code {process.returncode}. Its time is therefore not used."
            f"{chr(10) + words if words else ''}"
        )
    return Timing(seconds, usage.ru_utime + usage.ru_stime)
