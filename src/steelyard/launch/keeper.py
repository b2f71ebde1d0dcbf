"""Ends a command of the user with all processes that it started, even if this process is killed."""

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from steelyard.starts import start_program

GONE = 5  # searches without a result: a process that calls exec has no environment for a moment
KILLED = 5.0  # maximum seconds until a killed process is gone
NAME = "STEELYARD_COMMAND"  # variable that marks all processes of a command
# Nobody writes to its input, which ends when this process ends. It searches several times: see GONE.
_KEEPER = """
read -r gone
for once in 1 2 3 4 5; do
  for file in $(grep -lsaF -- "$0" /proc/[0-9]*/environ); do
    number=${file#/proc/}
    kill -s KILL "${number%/environ}"
  done
  sleep 0.1
done
"""


@dataclass(frozen=True)
class Kept:
    """Processes that belong together: their environment contains `environment`."""

    mark: str

    @property
    def environment(self) -> Mapping[str, str]:
        return {NAME: self.mark}

    def end(self, number: int, seconds: float) -> None:
        """Sends the signal to all processes, and kills those that are left after so many seconds.

        Gives up on a process that cannot be killed (another user's, or one that waits for a device) after some more seconds.
        """
        until, asked, gone = time.monotonic() + seconds, set[int](), 0
        while gone < GONE and time.monotonic() < until + KILLED:
            processes = self._there()
            late = time.monotonic() > until
            for process in processes:
                if late or process not in asked:
                    _send(process, signal.SIGKILL if late else number)
            asked |= {*processes}
            gone = 0 if processes else gone + 1
            time.sleep(0.02)

    def _there(self) -> list[int]:
        wanted = f"{NAME}={self.mark}".encode()
        processes = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    processes.append(int(name))
        return processes


@contextlib.contextmanager
def start() -> Iterator[Kept]:
    """Runs a second process during the block. It waits for the end of this process, and then kills the marked processes."""
    processes = Kept(uuid.uuid4().hex)
    command = ["/bin/sh", "-c", _KEEPER, f"{NAME}={processes.mark}"]
    quiet = subprocess.DEVNULL
    # In a new session neither Ctrl-C nor the end of the terminal reaches it.
    keeper = start_program(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        yield processes
    finally:
        keeper.kill()  # before its input ends, since the user's daemons may stay
        keeper.wait()
        if keeper.stdin:
            keeper.stdin.close()


def _send(process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)
