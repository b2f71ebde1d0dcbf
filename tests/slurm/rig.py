"""Brings up a real Slurm on one machine: a login node with the controller, and four compute nodes, each a host of its own."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

sys.path.insert(0, str(Path(__file__).parents[1] / "hosts"))
from cluster import Cluster, prepare
from inhabitants import MissingError

NODES = ("n1", "n2", "n3", "n4")
LOGIN = "login"  # where the controller runs, and where users sit: every compute node can be lost
CPUS = 2  # of a node, as Slurm is told; the nodes share the machine's
_PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge", "libpmix2", "iproute2")  # Debian's
_APT_SECONDS = 240.0
_SECONDS = 60.0  # for a daemon to start or a node to change its state; a quiet machine needs one or two

# linuxproc, no task plug-in, no gathering: what works without control groups of Slurm's own. A silent node is given
# up after SlurmdTimeout. PMIx keeps its sockets below TmpFS: the nodes share /tmp, so that each has its own there.
_CONFIGURATION = """
ClusterName=steelyard
SlurmctldHost={login}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
TmpFS={folder}/%n/tmp
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
SlurmctldPort=16817
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
SlurmdTimeout={timeout}
KillWait=5
SwitchType=switch/none
MailProg=/bin/true
NodeName={nodes} CPUs={cpus} RealMemory=1000 Port=16818
PartitionName=test Nodes={nodes} Default=YES MaxTime=30 State=UP
"""
_NODE_SECONDS = 6  # of silence, until Slurm takes a node for lost


class Rig:
    """A Slurm that runs: `run` commands of its users, lose a node and get it back. A context manager.

    The nodes have networks, names and shared memory of their own, and the machine's files: what a program writes
    is on every node, as on a cluster with one file system. MissingError where that cannot be made here. `more` are lines of
    the configuration, `first` a script for a node that runs there before its slurmd starts.
    """

    def __init__(self, more: str = "", first: Mapping[str, Callable[[Path], str]] | None = None) -> None:
        self._more, self._first = more, first or {}
        self._cluster = Cluster(len(NODES) + 1)
        self._hosts = dict(zip((*NODES, LOGIN), self._cluster.hosts, strict=True))
        self.folder = self._cluster.folder / "slurm"  # all that Slurm writes, its logs among it
        self._started: list[subprocess.Popen[str]] = []
        self.environment: Mapping[str, str] = {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self) -> Self:
        prepare()
        install(_PACKAGES, _slurm_is_there)
        self._cluster.__enter__()
        try:
            self._name_hosts()
            self._configure()
            self._start_daemons()
        except BaseException:
            self._cluster.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster.__exit__(kind, error, trace)

    def enter(self, node: str) -> list[str]:
        """The words before a command that run it on `node` (or `LOGIN`): same folder, same environment."""
        return self._cluster.enter(self._hosts[node])

    def run(
        self,
        words: Sequence[str],
        node: str = LOGIN,
        *,
        told: str = "",
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        seconds: float = 240.0,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command on `node`, as its users do, with `told` as its input; returns what it said and its exit code.

        RuntimeError with what it said, if it does not end within `seconds`.
        """
        try:
            return subprocess.run(
                [*self.enter(node), *words],
                env={**os.environ, **self.environment, **(environment or {})},
                cwd=folder,
                input=told,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            said = b"\n".join((late.stdout or b"", late.stderr or b"")).decode(errors="replace")
            raise RuntimeError(
                f"'{' '.join(words)}' on {node} did not end in {seconds:g} s. It said:\n{said}"
            ) from None

    def start(self, words: Sequence[str], node: str = LOGIN, folder: Path | None = None) -> "subprocess.Popen[str]":
        """As `run`, but does not wait for the end; `tidy` ends it."""
        process = subprocess.Popen(
            [*self.enter(node), *words],
            env={**os.environ, **self.environment},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        self._started.append(process)
        return process

    def states(self) -> dict[str, str]:
        """The state of each node in sinfo's words: idle, allocated, down …"""
        said = self._done(["sinfo", "-h", "-N", "-o", "%N %T"]).split()
        return dict(zip(said[::2], said[1::2], strict=True))

    def kill_node(self, node: str) -> None:
        """As if its power failed: the network is silent, and nothing runs there any more. Slurm has to find out."""
        self._done(["ip", "link", "set", "eth0", "down"], node)
        for fatal in (signal.SIGSTOP, signal.SIGKILL):  # none may live to write that another one was killed
            done: set[int] = set()
            while running := set(self._cluster.processes(self._hosts[node])) - done:
                for pid in running:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, fatal)
                done |= running if fatal == signal.SIGSTOP else set()

    def start_node(self, node: str) -> None:
        """Brings a lost node back; returns when Slurm has it."""
        self._done(["ip", "link", "set", "eth0", "up"], node)
        self._done(["slurmd", "-c"], node)
        self.wait(lambda: self.states()[node] in ("idle", "allocated"), f"{node} does not come back")

    def tidy(self) -> None:
        """As at the beginning: nothing that was started, no jobs, and every node idle."""
        while self._started:
            process = self._started.pop()
            process.kill()
            process.communicate()
        self._done(["scancel", f"--user={os.getuid()}"])
        for node, state in self.states().items():
            if state.startswith("down") or state.endswith("*"):
                self.start_node(node)
        self.wait(lambda: self.states() == dict.fromkeys(NODES, "idle"), "The nodes are not all idle")

    def wait(self, reached: Callable[[], bool], failure: str) -> None:
        """Returns when `reached` is true; RuntimeError with `failure` and the end of Slurm's logs when that takes too long."""
        last = time.monotonic() + _SECONDS
        while not reached():
            if time.monotonic() > last:
                raise RuntimeError(f"{failure}; the logs end with:\n{self.logs()}")
            time.sleep(0.1)

    def logs(self) -> str:
        """The end of what each daemon has written."""
        files = sorted([*self.folder.glob("*.log"), *self.folder.glob("munge/log")])
        return "".join(f"--- {file.name}:\n{file.read_text(errors='replace')[-2000:]}" for file in files)

    def _name_hosts(self) -> None:
        """Slurm knows a node by its host's name: the hosts are renamed, and found under that name."""
        # In place: the hosts have this very file as their /etc/hosts.
        lines = [f"{self._cluster.address(host)} {node} {host}\n" for node, host in self._hosts.items()]
        (self._cluster.folder / "hosts").write_text("".join(["127.0.0.1 localhost\n", *lines]), encoding="utf-8")
        for node in self._hosts:
            self._done(["sh", "-c", f"echo {node} >/proc/sys/kernel/hostname"], node)

    def _configure(self) -> None:
        for name in ("", "munge", "state", *NODES, *(f"{node}/tmp" for node in NODES)):
            (self.folder / name).mkdir(mode=0o755)
        (self.folder / "munge").chmod(0o711)  # munged insists
        text = _CONFIGURATION.format(
            login=LOGIN, folder=self.folder, nodes=",".join(NODES), cpus=CPUS, timeout=_NODE_SECONDS
        )
        (self.folder / "slurm.conf").write_text(text + self._more, encoding="utf-8")
        key = self.folder / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))

    def _start_daemons(self) -> None:
        munge = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        self._done(["munged", "--force", *(f"--{word}={self.folder}/munge/{name}" for word, name in munge.items())])
        self._done(["slurmctld", "-c"])
        for node, script in self._first.items():
            self._done(["sh", "-c", script(self.folder)], node)
        for node in NODES:
            self._done(["slurmd", "-c"], node)
        self.wait(lambda: self._seen() == dict.fromkeys(NODES, "idle"), "The nodes are not all idle")

    def _seen(self) -> dict[str, str]:
        try:
            return self.states()
        except RuntimeError:
            return {}  # the controller does not answer yet

    def _done(self, words: Sequence[str], node: str = LOGIN) -> str:
        # Daemons outlive the command and keep its output open: it goes to a file that nobody has to read to its end.
        path = self._cluster.folder / "said"
        with path.open("w+", encoding="utf-8", errors="replace") as said:
            code = subprocess.run(
                [*self.enter(node), *words],
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=False,
            ).returncode
            said.seek(0)
            text = said.read()
        if code != 0:
            raise RuntimeError(f"'{' '.join(words)}' on {node} ended with exit code {code}:\n{text}\n{self.logs()}")
        return text


def install(packages: Sequence[str], installed: Callable[[], bool]) -> None:
    """Installs Debian packages where it may, until `installed` says that all is there. MissingError says what to do."""
    install = ["apt-get", "-q", "-y", "install", "--no-install-recommends", *packages]
    said = ""
    # Lists that are out of date name packages that are gone: they are renewed, and it is tried again.
    for words in (install, ["apt-get", "-q", "update"], install):
        if installed() or os.geteuid() != 0 or not shutil.which("apt-get"):
            break
        # RUNLEVEL=1: the packages' own daemons are not started.
        ended = subprocess.run(
            words,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_APT_SECONDS,
            check=False,
        )
        said = ended.stdout
    if not installed():
        raise MissingError(
            f"Something is missing that these tests need. As root, on Debian: {' '.join(install)}\n{said}"
        )


def _slurm_is_there() -> bool:
    return all(map(shutil.which, ("slurmctld", "slurmd", "sbatch", "munged", "ip")))
