"""The MPIs that are known: one file a flavour, found by itself. Here is what a file declares, and what is asked of all."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import Literal

from steelyard.declarations import declared
from steelyard.errors import MachineFailed
from steelyard.model import Host, Tool

HOW_TO_INSTALL = "Install one: apt-get install libopenmpi-dev, or: steelyard mpi install openmpi"
GROUP = "steelyard.mpi"  # the entry point by which another package adds a flavour
# Variables that launchers and the libraries below MPI read.
VARIABLES = re.compile(
    r"(OMPI_MCA|PRTE_MCA|PMIX_MCA|MPIR_CVAR|MPICH|HYDRA|I_MPI|FI|UCX|MV2|MVP|PSM[23]?|OPAL|OSHMEM)_\w+"
)
# What the ranks must find in their environment on every host, where it is set.
PASSED = ("STEELYARD_CPUS", "STEELYARD_MEMORY", "STEELYARD_NODES")


Order = Literal["block", "cyclic"]
Transport = Literal["default", "no shared memory", "tcp"]


@dataclass(frozen=True)
class Job:
    """One start of `ranks` processes of `program`.

    `hosts` empty: this machine alone. `ranks_per_node` is how many each host gets (None: its slots). `mapping`: the first ranks
    fill the first host ("block"), or go round the hosts ("cyclic"). `transport`: "no shared memory" takes the MPI's own switch,
    "tcp" also leaves every faster network aside. `cpus` are the processors of a host's local ranks 0, 1 …; empty: not pinned.
    """

    program: Path
    ranks: int
    mpi: Tool  # flavour, path of its C++ wrapper, version
    hosts: tuple[Host, ...] = ()
    ranks_per_node: int | None = None
    mapping: Order = "block"
    transport: Transport = "default"
    cpus: tuple[int, ...] = ()
    extra: tuple[str, ...] = ()  # further words for the launcher, as the user gave them (--launcher-option)
    environment: Mapping[str, str] = field(default_factory=dict)  # what the ranks must find in theirs


@dataclass(frozen=True, kw_only=True)
class Flavour:
    """The facts of an MPI. `name` stands in the records, before the version; `title` is how its makers write it.

    The C++ wrapper says who it is: asked `question` (one word), a line that it says fits the regular expression `answer`,
    whose groups, with dots between them, are the version. `words` is the command line of its mpiexec, after mpiexec itself, with
    the program: a pure function. The programs pin themselves before MPI starts, so that all launchers do it alike: whatever binds
    is switched off.

    `environment` is what its ranks need, whoever starts them, and `transports` the further variables of each transport but the
    default. An mpiexec that sets none of OMPI_COMM_WORLD_RANK, PMI_RANK … tells by STEELYARD_RANK_IN and STEELYARD_LOCAL_RANK_IN
    which variables hold a rank's number and its number on its host.
    """

    name: str
    title: str
    question: str
    answer: str
    words: Callable[[Job], list[str]]
    transports: Mapping[Transport, Mapping[str, str]]
    environment: Mapping[str, str] = field(default_factory=dict)
    as_root: Mapping[str, str] = field(
        default_factory=dict
    )  # what its mpiexec wants to see before root may start ranks
    wrappers: tuple[str, ...] = ("mpicxx",)  # names of the C++ wrapper
    starters: tuple[str, ...] = (
        "mpiexec",
        "mpirun",
    )  # beside the wrapper, the first that is there; (): a scheduler's only
    shows: tuple[str, ...] = ("-show",)  # asked each of these words, the wrapper prints what it adds to a command line
    meets: str = (
        ""  # how its ranks find each other where a scheduler starts them: "pmix", "pmi2"; "": the site's default
    )
    package: str = (
        ""  # the Python package that brings wrapper, headers and mpiexec, as a requirement; "": there is none
    )
    shmem: bool = False  # whether it may bring OpenSHMEM along
    # Advice, parts of a sentence; "": nothing is known.
    eager: str = ""  # what moves the size up to which it sends at once
    shared_memory: str = ""  # what must hold for shared memory to be used
    waiting: str = ""  # what makes its ranks give the processor away while they wait
    verbose: str = ""  # what makes it tell which transport it takes


@lru_cache
def flavours() -> dict[str, Flavour]:
    """All by name, sorted. UsageError for an entry point that is none."""
    return declared(__name__, GROUP, Flavour)


def of(mpi: Tool) -> Flavour:
    """Returns the flavour of an MPI. MachineFailed where its file, or the package that brought it, is gone."""
    flavour = flavours().get(mpi.name)
    if flavour is None:
        raise MachineFailed(
            f"Steelyard does not support the MPI '{mpi.name}' ({mpi.path}). It supports: {', '.join(flavours())}. Install the "
            "Python package that supported this MPI when the run was started, or start a new run."
        )
    return flavour


def labelled(label: str) -> Flavour | None:
    """Returns the flavour of the name in a record, "mpich-5.0.2"; None where nothing is known of it."""
    return flavours().get(label.rpartition("-")[0])


def environment(job: Job) -> dict[str, str]:
    """Returns the variables that every rank needs in its environment, for any launcher."""
    cpus = {"STEELYARD_CPUS": ",".join(map(str, job.cpus))} if job.cpus else {}
    return {**_own(job), **cpus, **job.environment}


def names(job: Job) -> tuple[str, ...]:
    """The variables that must reach the ranks on every host."""
    return (*PASSED, *job.environment, *_own(job))


def _own(job: Job) -> dict[str, str]:
    flavour = of(job.mpi)
    return {**flavour.environment, **flavour.transports.get(job.transport, {})}


def slots(job: Job) -> str:
    """The hosts with as many places as each is to be given: 'a:2,b:2'."""
    return ",".join(f"{h.name}:{job.ranks_per_node or h.slots}" for h in job.hosts)


def places(job: Job) -> tuple[str, ...]:
    """The name of the host of rank 0, 1 …, for a job with hosts. With more ranks than places each host gets some more."""
    room = [job.ranks_per_node or host.slots for host in job.hosts]
    rounds = -(-job.ranks // sum(room))
    per_host = [[host.name] * (count * rounds) for host, count in zip(job.hosts, room, strict=True)]
    if job.mapping == "block":
        return tuple(islice((name for names in per_host for name in names), job.ranks))
    return tuple(islice((name for names in zip_longest(*per_host) for name in names if name), job.ranks))
