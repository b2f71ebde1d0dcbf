"""The supported batch schedulers, with one file each, which is found automatically. This file has the common types."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from steelyard.errors import UsageError, nearest
from steelyard.measure.mpi import Job
from steelyard.model import Host
from steelyard.model.declarations import declared
from steelyard.system import answers, keeper
from steelyard.system.starts import find_program

GROUP = "steelyard.scheduler"  # the entry point by which another package adds a scheduler
USUAL = "slurm"  # preferred if several are installed, since it has wrappers with PBS's names, and assumed if none is installed
_SECONDS = 60.0  # time limit of a scheduler's command
_MOST = 64 << 20  # maximum size of an answer in bytes: an array may have thousands of tasks

Answer = subprocess.CompletedProcess[str]
Ask = Callable[[Sequence[str], str], Answer]


@dataclass(frozen=True)
class Allocation:
    """The allocation of this job: its number, and its hosts in order, with the number of ranks of each."""

    job: str
    hosts: tuple[Host, ...]


@dataclass(frozen=True)
class Launcher:
    """The start of ranks: a command line and its environment. Both are pure functions.

    `name` is what --launcher calls it, and the program that must be on the PATH for it to be taken by itself. `alone` returns
    the words that start a command once on a host: in this allocation, otherwise in a job of its own. None: ssh starts it.
    """

    name: str
    argv: Callable[[Job], list[str]]
    environment: Callable[[Job, Mapping[str, str]], dict[str, str]]
    alone: Callable[[str, bool], list[str]] | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """A run that a scheduler shall start. `folder` holds the runs and the job's output: the nodes see the same one."""

    program: tuple[str, ...]  # steelyard, as the nodes start it
    words: tuple[str, ...]  # its command, "run" or "resume", and what belongs to it
    folder: Path
    nodes: int | None = None  # None: as further words of the submission say, or else one
    ranks_per_node: int | None = None  # None: as the scheduler does where nobody says
    time: str | None = None  # time limit in the scheduler's notation; None: the default limit
    partition: str | None = None  # or queue
    account: str | None = None
    options: tuple[str, ...] = ()  # further words of the submission; they win over what is written here


# The final states of a job, as the user reads them. The file of each scheduler translates its names to these.
FINAL = {
    "COMPLETED": "has ended",
    "FAILED": "failed",
    "CANCELLED": "was cancelled",
    "NODE_FAIL": "ended because a node went down",
    "TIMEOUT": "was ended by {scheduler} because it reached its time limit",
    "OUT_OF_MEMORY": "was ended by {scheduler} because it used more memory than its limit",
    "PREEMPTED": "was ended by {scheduler} because a job with a higher priority needed its nodes",
    "BOOT_FAIL": "could not start because a node did not boot",
    "DEADLINE": "was ended by {scheduler} at its deadline",
    "REVOKED": "was removed by {scheduler} before it ended",
    "GONE": "has ended so long ago that {scheduler} no longer has any data about it",
}


@dataclass(frozen=True)
class State:
    """The state of a job. `nodes` and `host` are "" before it starts, `code` and `signal` 0 until it has ended."""

    name: str  # one of FINAL, or another one, which the user sees in small letters: PENDING, RUNNING …
    reason: str = ""
    nodes: str = ""
    host: str = ""  # the host that runs its script
    code: int = 0
    signal: int = 0
    took: str = ""  # hours:minutes:seconds


@dataclass(frozen=True)
class Ran:
    """The time of a job on a host, in whole seconds since 1970; `end` of a running job is now."""

    host: str
    begin: float
    end: float


@dataclass(frozen=True)
class Array:
    """One job of many equal tasks. `words` are the options for so many tasks, with output to task-N.out and task-N.err.

    `variable` has the number of a task, from 0. `active` returns how many tasks wait or run (None: no answer now).
    """

    words: Callable[[Path, int], tuple[str, ...]]
    variable: str
    active: Callable[[str, Ask], int | None]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The submission of a run as a job, and the state of the job."""

    commands: tuple[str, ...]  # that must be on the PATH; the first one submits
    submit: tuple[str, ...]  # reads the script from standard input
    job: str  # a regular expression for what that says, whose first group is the job's number
    script: Callable[[Request], str]
    outputs: str  # where the script's output goes, below the folder: "{job}" is the number, "{kind}" is "out" or "err"
    cancel: tuple[str, ...]  # the number follows
    watch: str  # the command that a user sees the job with; the number follows
    # The state of a job. If the scheduler does not answer, this is None, and the second value says why.
    state: Callable[[str, Ask], tuple[State | None, str]]
    time: Callable[[float], str]  # seconds as a time limit in the scheduler's form
    times: str  # a regular expression for time limits that are in that form already
    lost: Callable[[str, Ask], list[str]] = lambda nodes, ask: []  # those of a job's nodes that are down or silent now
    # When and where a job ran, asked at a moment (seconds since 1970); None: the scheduler is not asked for that.
    ran: Callable[[str, float, Ask], tuple[Ran, ...]] | None = None
    array: Array | None = None
    same: Callable[[State], str] = lambda state: ""  # the word that asks for the same nodes again; "": there is none


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """A batch scheduler. `allocation` tells from the environment what it gave this job, None outside of one.

    MachineFailed if the variables contradict each other. Without a `launcher` of its own mpiexec starts the ranks, without
    `batch` nothing is submitted.
    """

    name: str  # in small letters: of its file, of --scheduler, of the outputs
    title: str  # spelling of its makers
    allocation: Callable[[Mapping[str, str]], Allocation | None]
    launcher: Launcher | None = None
    batch: Batch | None = None
    # Advice of the doctor; "": nothing is known.
    full_nodes: str = ""  # the word that asks for nodes without other jobs
    all_memory: str = ""  # the word that asks for all memory of a node


@lru_cache
def schedulers() -> dict[str, Scheduler]:
    """Returns all schedulers by name, sorted. UsageError for an entry point without a scheduler."""
    return declared(__name__, GROUP, Scheduler)


def launchers() -> dict[str, Launcher]:
    """Returns the launchers of ranks: the mpiexec of the MPI, and those of schedulers."""
    from steelyard.measure.launch import (
        mpiexec,  # which knows the machine: a command that starts nothing need not load that
    )

    brought = (scheduler.launcher for scheduler in schedulers().values())
    return {
        "mpiexec": Launcher("mpiexec", mpiexec.argv, mpiexec.environment),
        **{one.name: one for one in brought if one},
    }


def launcher(name: str) -> Launcher:
    """Returns the launcher of that name. UsageError if there is none."""
    all_launchers = launchers()
    if name not in all_launchers:
        raise UsageError(
            f"There is no launcher '{name}' (given by --launcher, or by an earlier run). {nearest(name, all_launchers)}"
        )
    return all_launchers[name]


def find_allocation() -> tuple[Scheduler, Allocation] | None:
    """Returns the scheduler and the allocation of this process; None outside of an allocation."""
    for scheduler in schedulers().values():
        if allocated := scheduler.allocation(os.environ):
            return scheduler, allocated
    return None


def find_batch_scheduler(name: str | None) -> tuple[Scheduler, Batch]:
    """Returns the scheduler of that name, or else an installed one, with its batch functions. UsageError for an unknown name."""
    able = {scheduler.name: (scheduler, scheduler.batch) for scheduler in schedulers().values() if scheduler.batch}
    if name is not None and name not in able:
        raise UsageError(f"There is no scheduler '{name}' (given by --scheduler). {nearest(name, able)}")
    order = sorted(able, key=lambda scheduler: scheduler != USUAL)
    present = (scheduler for scheduler in order if all(map(find_program, able[scheduler][1].commands)))
    return able[name or next(present, USUAL)]


def parse_state(done: Answer, read: Callable[[str], State]) -> tuple[State | None, str]:
    """Returns the state that `read` finds in an answer, or None and the output: another version may print anything."""
    try:
        return read(done.stdout), ""
    except Exception:
        return None, answers.reason(done)


def ask(words: Sequence[str], text: str = "") -> Answer:
    """Runs a command of a scheduler and waits for its answer."""
    try:
        environment = {**os.environ, "LC_ALL": "C"}
        if text:  # a batch script: its job is not a process of this command, also where it runs on this host
            environment.pop(keeper.NAME, None)
        return answers.ask(words, _SECONDS, text, environment, _MOST)
    except answers.NoAnswer as problem:
        return subprocess.CompletedProcess(words, 127, "", f"{words[0]} {problem}")
