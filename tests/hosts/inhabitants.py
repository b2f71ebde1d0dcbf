"""What runs on the hosts of a cluster: started, found in /proc, and ended."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

_NAME = r"steelyard-hosts-(\d+)-(\d+)-\d+"
# Each host's /dev/shm has its cluster's name and its own as the source: /proc shows that of every process there.
_MOUNT = re.compile(rf" - tmpfs ({_NAME})/(\w+) ")
_END_SECONDS = 20.0  # a killed process goes at once, unless it sits in the kernel


class MissingError(Exception):
    """There can be no hosts here; the text says why, and what to install."""


def cluster_name(number: int) -> str:
    """The name of this process's cluster `number`: it tells later whether its owner still lives."""
    return f"steelyard-hosts-{os.getpid()}-{_started(os.getpid())}-{number}"


def sweep() -> None:
    """Removes what clusters left whose owner was killed before it could."""
    folders = {path.name: path for path in Path(tempfile.gettempdir()).glob("steelyard-hosts-*")}
    for name in {*folders, *(cluster for cluster, _, _ in _everyone())}:
        owner = re.fullmatch(_NAME, name)
        if owner and _started(int(owner[1])) != owner[2]:
            end(name)
            if name in folders:
                shutil.rmtree(folders[name], ignore_errors=True)


def inhabitants(cluster: str) -> list[tuple[int, str]]:
    """Process number and host of every process on the hosts of `cluster`; the dead that nobody waited for are not."""
    return [(pid, host) for name, pid, host in _everyone() if name == cluster]


def end(cluster: str, spared: Iterable[int] = ()) -> None:
    """Kills every process of `cluster`, frozen or not, but for the `spared`. RuntimeError when one does not go."""
    spared = set(spared)
    last = time.monotonic() + _END_SECONDS
    while found := [pid for pid, _ in inhabitants(cluster) if pid not in spared]:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > last:
            raise RuntimeError(f"These processes on the hosts of {cluster} cannot be killed: {found}")
        time.sleep(0.01)


def command_line(pid: int) -> str:
    """The words that the process was started with; empty when it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    return ""


def bytes_of(pid: int, device: str) -> tuple[int, int]:
    """The bytes that a network device in the process's namespace has received and sent so far."""
    for line in Path(f"/proc/{pid}/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == device:
            numbers = counts.split()
            return int(numbers[0]), int(numbers[8])  # Linux, net/core/net-procfs.c: eight of each direction
    raise RuntimeError(f"Process {pid} sees no network device '{device}'.")


def keep(command: Sequence[str], failure: str) -> subprocess.Popen[str]:
    """Starts a process that says `ready` and then stays until `dismiss`. MissingError, with what it said instead."""
    # A session of its own: Ctrl-C must not take it away before its cluster.
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    assert process.stdout
    said = process.stdout.readline()
    if said.strip() != "ready":
        assert process.stdin
        process.stdin.close()
        said += process.stdout.read()
        process.wait()
        raise MissingError(f"{failure}: {said.strip()}")
    return process


def dismiss(process: subprocess.Popen[str]) -> None:
    """Ends a process that was kept: its input ends."""
    for stream in (process.stdin, process.stdout):
        if stream:
            stream.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def done(
    command: Sequence[str], told: str = "", environment: Mapping[str, str] | None = None, seconds: float = 60.0
) -> str:
    """Runs a tool and returns what it said. RuntimeError, with all of that, when it fails."""
    ended = subprocess.run(
        command,
        input=told,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )
    if ended.returncode != 0:
        raise RuntimeError(f"'{' '.join(command)}' ended with exit code {ended.returncode}:\n{ended.stdout}")
    return ended.stdout


def _everyone() -> Iterator[tuple[str, int, str]]:
    """Cluster, process number and host of every process on any cluster's hosts."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                found = _MOUNT.search((entry / "mountinfo").read_text())
                if found:
                    yield found[1], int(entry.name), found[4]


def _started(pid: int) -> str | None:
    """When the process started, in clock ticks since the machine did (proc(5)); None when there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return None
