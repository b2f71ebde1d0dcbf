"""Ends a command of the user's and all that it has started, also where this process is killed and can do nothing any more."""

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

GONE = 5  # looks that must find nothing: a process that is about to become another program is not seen for a moment
KILLED = 5.0  # seconds until a killed process is gone; a busy machine needs a part of one
NAME = "STEELYARD_COMMAND"  # the environment's name by which what a command has started is found
# Nobody writes to its input, which ends when this process ends. It looks several times: see GONE.
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
        """Sends the signal to all of them; those that are there after so many seconds are killed.

        A process that cannot be killed (another user's, or one that waits for a device) is left after some more seconds.
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
def kept() -> Iterator[Kept]:
    """Within, a second process waits for the end of this one, and then kills what bears the mark."""
    processes = Kept(uuid.uuid4().hex)
    command = ["/bin/sh", "-c", _KEEPER, f"{NAME}={processes.mark}"]
    quiet = subprocess.DEVNULL
    # A session of its own: neither Ctrl-C nor the end of the terminal reaches it.
    keeper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        yield processes
    finally:
        keeper.kill()  # before its input ends: daemons that the command has left are its user's
        keeper.wait()
        if keeper.stdin:
            keeper.stdin.close()


def _send(process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)
