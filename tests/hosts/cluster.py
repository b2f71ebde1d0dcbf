"""Makes several hosts on one Linux machine: namespaces joined by a bridge, with an agent in the place of ssh.

A host has its own network, name, /etc/hosts, /sys, /dev/shm and IPC; it shares processors, memory, disks and
process numbers with the machine. Nothing is named in the machine's own namespaces, so clusters cannot collide,
and the kernel takes a host away with its last process.
"""

import contextlib
import itertools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from inhabitants import MissingError, bytes_of, cluster_name, command_line, dismiss, done, end, inhabitants, keep, sweep

SWITCH = "switch"  # the namespace of the bridge; no traffic but the hosts' passes there
NETWORK = "10.77.0"
_PACKAGES = {"ip": "iproute2", "tc": "iproute2", "nft": "nftables", "iptables": "iptables", "nsenter": "util-linux"}
_APT_SECONDS = 240.0
_BUCKET = "64kb"  # the largest packet that passes between namespaces in one piece
# What a queue before a slow link keeps before it drops: a tenth of a second is an ordinary switch port.
_QUEUE = "100ms"
_number = itertools.count(1)

_HOST = """
set -e
echo "$1" >/proc/sys/kernel/hostname
mount --bind "$2/hosts" /etc/hosts
mount -t tmpfs -o mode=1777 "$3" /dev/shm  # by this source, whatever runs here is found in /proc
# A /sys of its own shows the host's network devices; the control groups are mounted below it.
mkdir /dev/shm/groups
mount --rbind /sys/fs/cgroup /dev/shm/groups
mount -t sysfs sysfs /sys
mount --move /dev/shm/groups /sys/fs/cgroup
rmdir /dev/shm/groups
ip link set lo up
echo ready
exec cat >/dev/null
"""

_ENTER = """#!/bin/sh
# enter HOST COMMAND...: runs it as if on that host, in the place of this process.
host=$1
shift
exec nsenter --target "$(cat {folder}/"$host".pid)" --net --uts --ipc --mount --wdns="$(pwd -P)" -- "$@"
"""

# As with ssh, nothing of the caller's environment, folder and session reaches the other side.
_AGENT = """#!/bin/sh
# agent [OPTIONS] HOST COMMAND...: what ssh is to the launchers of MPI.
while :; do
  case $1 in
    -l | -p | -o | -i | -F) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=$1
shift
cd "$HOME" 2>/dev/null || cd /
exec setsid --fork --wait {folder}/enter "$host" env -i HOME="$HOME" USER=root LOGNAME=root SHELL=/bin/sh \\
  PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /bin/sh -c "$*"
"""

_LOSS = """
table bridge steelyard {{
  counter seen {{}}
  counter dropped {{}}
  chain loss {{
    type filter hook forward priority 0; policy accept;
    ether type ip ip protocol tcp counter name seen numgen random mod 1000 <= {last} counter name dropped drop
  }}
}}
"""


def prepare() -> None:
    """Sees that hosts can be made: root, and the tools, which it installs where it may. MissingError says why not."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        raise MissingError("Hosts are made out of Linux namespaces, and only root may make those.")
    missing = sorted({package for tool, package in _PACKAGES.items() if not shutil.which(tool)})
    if not missing:
        return
    install = ["apt-get", "-q", "-y", "install", "--no-install-recommends", *missing]
    if shutil.which("apt-get"):
        for command in (install, ["apt-get", "-q", "update"], install):
            with contextlib.suppress(RuntimeError):  # out of date lists: they are renewed, and it is tried again
                done(command, environment={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, seconds=_APT_SECONDS)
            if all(map(shutil.which, _PACKAGES)):
                return
    raise MissingError(f"The tools are missing that make hosts. As root, on Debian: {' '.join(install)}")


class Cluster:
    """`count` hosts, named host1, host2 … inside, at 10.77.0.1 …, each with the one network device eth0.

    A context manager: everything is gone at its end, and what a killed run left goes at the next
    beginning. MissingError where the machine does not let namespaces be made.
    """

    def __init__(self, count: int) -> None:
        self.hosts = tuple(f"host{i}" for i in range(1, count + 1))
        self.name = cluster_name(next(_number))
        self.folder = Path(tempfile.gettempdir()) / self.name
        self.agent = self.folder / "agent"  # for -launcher-exec, plm_rsh_agent, plm_ssh_agent
        self._keepers: dict[str, subprocess.Popen[str]] = {}  # the process that keeps a host's namespaces
        self._delays: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> Self:
        sweep()
        self.folder.mkdir(mode=0o755)
        try:
            self._write_scripts()
            for host in (SWITCH, *self.hosts):
                self._make(host)
            self._join()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def enter(self, host: str) -> list[str]:
        """The words before a command that run it on `host`: same process, same environment, same folder."""
        self._known(host)
        return [str(self.folder / "enter"), host]

    def address(self, host: str) -> str:
        """The IPv4 address of `host`."""
        return f"{NETWORK}.{self._known(host)}"

    def limit(self, host: str, rate: str = "100mbit") -> None:
        """Lets no more than `rate` (as tc writes rates) into `host`, and no more out of it.

        Single messages of less than 64 KiB do not feel it: so much passes at once after a pause.
        """
        for where, device in ((host, "eth0"), (SWITCH, f"port{self._known(host)}")):
            shape = ["root", "tbf", "rate", rate, "burst", _BUCKET, "latency", _QUEUE]
            self._at(where, "tc", "qdisc", "replace", "dev", device, *shape)

    def delay(self, host: str, seconds: float) -> None:
        """Holds every packet that reaches `host` for `seconds`: each round trip with it takes so much longer.

        What the host sends is not held, so that half a round trip grows by half of it. A process does it, since
        many kernels are built without netem; it adds some 25 microseconds.
        """
        self._end_delay(host)
        program = str(Path(__file__).with_name("delay.py"))
        command = [*self.enter(host), sys.executable, "-S", "-E", program, repr(seconds)]
        self._delays[host] = keep(command, f"no packet can be held on {host}")
        self._at(host, "iptables", "-w", "-A", "INPUT", "-i", "eth0", "-j", "NFQUEUE", "--queue-bypass")

    def lose(self, permille: int) -> None:
        """Drops so many of a thousand TCP packets in the switch, at random, where no host can see it; 0: none."""
        # To declare a table before it is deleted makes the deletion right in both cases.
        rules = "table bridge steelyard\ndelete table bridge steelyard\n"
        rules += _LOSS.format(last=permille - 1) if permille else ""
        self._at(SWITCH, "nft", "-f", "-", told=rules)

    def clear(self) -> None:
        """Takes every limit, delay and loss away."""
        self.lose(0)
        for host in self.hosts:
            self._end_delay(host)
            for where, device in ((host, "eth0"), (SWITCH, f"port{self._known(host)}")):
                if "tbf" in self._at(where, "tc", "qdisc", "show", "dev", device):
                    self._at(where, "tc", "qdisc", "del", "dev", device, "root")

    def rates(self) -> dict[str, tuple[int, int]]:
        """The bytes that each host's eth0 has received and sent so far: what passed over the network shows there."""
        return {host: bytes_of(self._keepers[host].pid, "eth0") for host in self.hosts}

    def processes(self, host: str) -> dict[int, str]:
        """What runs on `host`: the machine's process numbers and the command lines."""
        self._known(host)
        found = inhabitants(self.name)
        return {pid: command_line(pid) for pid, place in found if place == host and pid not in self._own()}

    def end_processes(self) -> None:
        """Kills whatever runs on the hosts, frozen or not."""
        end(self.name, self._own())

    def _own(self) -> set[int]:
        return {process.pid for process in (*self._keepers.values(), *self._delays.values())}

    def _known(self, host: str) -> int:
        """The number of `host`."""
        if host not in self.hosts:
            raise ValueError(f"There is no host '{host}'; there are {', '.join(self.hosts)}.")
        return self.hosts.index(host) + 1

    def _write_scripts(self) -> None:
        lines = ["127.0.0.1 localhost", *(f"{self.address(host)} {host}" for host in self.hosts)]
        (self.folder / "hosts").write_text("\n".join(lines) + "\n", encoding="utf-8")
        for name, script in (("enter", _ENTER), ("agent", _AGENT)):
            (self.folder / name).write_text(script.format(folder=shlex.quote(str(self.folder))), encoding="utf-8")
            (self.folder / name).chmod(0o755)

    def _make(self, host: str) -> None:
        words = ["unshare", "--net", "--uts", "--ipc", "--mount", "sh", "-c", _HOST, "host"]
        words += [host, str(self.folder), f"{self.name}/{host}"]
        self._keepers[host] = keep(words, "namespaces cannot be made here")
        (self.folder / f"{host}.pid").write_text(f"{self._keepers[host].pid}\n", encoding="utf-8")

    def _join(self) -> None:
        """A bridge in the switch, and a cable from each host to it."""
        self._at(SWITCH, "ip", "link", "add", "bridge", "type", "bridge")
        self._at(SWITCH, "ip", "link", "set", "bridge", "up")
        for i, host in enumerate(self.hosts, 1):
            here, there = str(self._keepers[host].pid), str(self._keepers[SWITCH].pid)
            cable = ["type", "veth", "peer", "name", f"port{i}", "netns", there]
            done(["ip", "link", "add", "name", "eth0", "netns", here, *cable])
            self._at(SWITCH, "ip", "link", "set", f"port{i}", "master", "bridge", "up")
            self._at(host, "ip", "address", "add", f"{self.address(host)}/24", "dev", "eth0")
            self._at(host, "ip", "link", "set", "eth0", "up")

    def _at(self, host: str, *command: str, told: str = "") -> str:
        """Runs a tool in a host's namespaces and returns what it said."""
        place = ["nsenter", "--target", str(self._keepers[host].pid), "--net", "--mount", "--"]
        return done([*place, *command], told)

    def _end_delay(self, host: str) -> None:
        process = self._delays.pop(host, None)
        if process:
            self._at(host, "iptables", "-w", "-F", "INPUT")
            dismiss(process)

    def _remove(self) -> None:
        try:
            end(self.name)
        finally:
            for process in (*self._delays.values(), *self._keepers.values()):
                dismiss(process)
            shutil.rmtree(self.folder, ignore_errors=True)
