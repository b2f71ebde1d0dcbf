"""The MPIs that are known: one file a flavour, found by itself. Here is what a file declares, and what is asked of all."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import Literal

from steelyard.errors import MachineFailed
from steelyard.model import Host, Setting, Tool
from steelyard.model.declarations import declared
from steelyard.system.installation import suggest_package

HOW_TO_INSTALL = f"Install one: {suggest_package('mpi') or 'with its headers'}, or: steelyard mpi install openmpi"
GROUP = "steelyard.mpi"  # the entry point by which another package adds a flavour
# Any MPI may read the variables of launchers and of the libraries below it. Those that identify a job are left out.
_LIBRARIES = "FI|UCX|UCC|PSM[23]?|HCOLL|SHARP_COLL|MXM|ROMIO|SHMEM|SMA|RDMAV|MLX[45]|CXIL?|HFI"
_BELOW = rf"({_LIBRARIES})_\w+|SLURM_MPI\w*|FLUX_(?!(URI|JOB|TASK|KVS|TERMINUS|ENCLOSING|PROXY)(_|$))\w+"
_BELOW_TRANSPORT = (
    r"UCX_(TLS|NET_DEVICES|POSIX\w*|SYSV\w*|SHM\w*)|FI_(PROVIDER|SHM\w*)|(PSM[23]?|MXM)_(DEVICES|TLS|SHM\w*)"
)
# Where an MPI or a compiler lies, what is printed, and who may start ranks, changes no message.
_WITHOUT_EFFECT = re.compile(
    r"\w+_(ROOT|DIR|HOME|PATH|PREFIX|VERSION|CC|CXX|FC|F77|F90|(?i:verbose)|DISPLAY)|\w+_(?i:warn|show|print)_\w+|I_MPI_DEBUG\w*"
    rf"|({_LIBRARIES})_LOG_\w+|\w+_ALLOW_RUN_AS_ROOT(_CONFIRM)?"
)
# Variables that the ranks need on every host, if they are set here.
PASSED = ("STEELYARD_CPUS", "STEELYARD_MEMORY", "STEELYARD_NODES")


Order = Literal["block", "cyclic"]
Transport = Literal["default", "no shared memory", "tcp"]


@dataclass(frozen=True)
class Job:
    """One start of `ranks` processes of `program`.

    `hosts` empty: this machine alone. `ranks_per_node` is how many each host gets (None: its slots). `mapping`: the first ranks
    fill the first host ("block"), or go round the hosts ("cyclic"). `transport`: "no shared memory" takes the MPI's own switch,
    "tcp" also leaves every faster network aside. `cpus` are the processors of a host's local ranks 0, 1 …; empty: not pinned.
    `folder` is where the ranks run on each host; None: in the current folder. Open MPI appends an empty entry to the
    LD_LIBRARY_PATH of other hosts, so that ranks would load libraries of the current folder.
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
    environment: Mapping[str, str] = field(default_factory=dict)  # variables that the ranks need in their environment
    folder: Path | None = None


@dataclass(frozen=True)
class ParameterFile:
    """A file from which an MPI, or a library below it, takes parameters: lines of "name = value", or of options as mpiexec's.

    `places` are paths, those that win first; they may contain variables ($HOME), patterns, and $prefix, the folder of the MPI. A
    place that is only a variable, if it is set, names the files that are read instead of the following ones.
    `variable` is the variable that does what a name in the file does. `wins`: also over variables of the environment.
    """

    places: tuple[str, ...]
    variable: str = "{}"
    wins: bool = False


_FILES_BELOW = (
    ParameterFile(
        ("$UCX_CONFIG_DIR/ucx.conf", "$HOME/ucx.conf", "$HOME/.ucx/ucx.conf", "$prefix/etc/ucx/ucx.conf", "/etc/ucx/ucx.conf")
    ),
    ParameterFile(("$UCC_CONFIG_FILE", "$HOME/ucc.conf", "$prefix/share/ucc.conf")),
    ParameterFile(("$prefix/etc/libfabric.conf", "/etc/libfabric.conf")),
)  # fmt: skip


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

    `variables` is a regular expression for the variables by which a user steers it, `transport_variables` for those that decide
    how messages within a host travel. `files` are its own files of parameters.
    """

    name: str
    title: str
    question: str
    answer: str
    words: Callable[[Job], list[str]]
    transports: Mapping[Transport, Mapping[str, str]]
    variables: str = ""
    transport_variables: str = ""
    files: tuple[ParameterFile, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    # Without these, its mpiexec does not let root start ranks.
    as_root: Mapping[str, str] = field(default_factory=dict)
    wrappers: tuple[str, ...] = ("mpicxx",)  # names of the C++ wrapper
    starters: tuple[str, ...] = ("mpiexec", "mpirun")  # beside the wrapper, the first that is there; (): a scheduler's
    shows: tuple[str, ...] = ("-show",)  # asked each of these words, the wrapper prints what it adds to a command line
    meets: str = ""  # how its ranks find each other where a scheduler starts them: "pmix", "pmi2"; "": as the site does
    package: str = ""  # the Python package that brings wrapper, headers and mpiexec, as a requirement; "": none
    shmem: bool = False  # whether it may bring OpenSHMEM along
    # Advice, parts of a sentence; "": nothing is known.
    eager: str = ""  # the setting for the size up to which messages are sent at once
    shared_memory: str = ""  # the condition for the use of shared memory
    waiting: str = ""  # the setting with which waiting ranks yield the processor
    verbose: str = ""  # the setting with which the MPI reports its transport


@lru_cache
def flavours() -> dict[str, Flavour]:
    """Returns all by name, sorted. UsageError for an entry point that is none."""
    return declared(__name__, GROUP, Flavour)


def of(mpi: Tool) -> Flavour:
    """Returns the flavour of an MPI. MachineFailed if its file, or the package that brought it, is gone."""
    flavour = flavours().get(mpi.name)
    if flavour is None:
        raise MachineFailed(
            f"Steelyard does not support the MPI '{mpi.name}' ({mpi.path}). It supports: {', '.join(flavours())}. Install the "
            "Python package that supported this MPI when the run was started, or start a new run."
        )
    return flavour


def find_by_label(label: str) -> Flavour | None:
    """Returns the flavour of the name in a record, "mpich-5.0.2"; None if nothing is known of it."""
    return flavours().get(label.rpartition("-")[0])


def is_steering(name: str, of_flavours: Iterable[Flavour] | None = None) -> bool:
    """Returns whether the variable steers one of these MPIs (None: of all that are known)."""
    forms = (f.variables for f in (flavours().values() if of_flavours is None else of_flavours))
    return not _WITHOUT_EFFECT.fullmatch(name) and any(re.fullmatch(form, name) for form in (_BELOW, *forms))


def parameter_files(flavour: Flavour) -> tuple[ParameterFile, ...]:
    """Returns the files of parameters that this MPI and the libraries below it read."""
    return (*flavour.files, *_FILES_BELOW)


def in_effect(
    settings: Iterable[Setting], flavour: Flavour, transport: str, variables: Collection[str] = ()
) -> tuple[Setting, ...]:
    """Returns the settings that reach ranks of this MPI, which have set `variables` of their own: a variant, for example.

    What Steelyard itself sets for these ranks wins over the user's environment and files.
    """
    switched = next((v for name, v in flavour.transports.items() if name == transport), {})
    replaced = {*flavour.environment, *switched, *variables}
    return tuple(s for s in settings if is_steering(s.name, [flavour]) and s.name not in replaced)


def steers_transport(setting: Setting, flavour: Flavour) -> bool:
    """Returns whether the setting decides how messages within a host travel."""
    return re.fullmatch(f"{_BELOW_TRANSPORT}|{flavour.transport_variables}", setting.name) is not None


def environment(job: Job) -> dict[str, str]:
    """Returns the variables that every rank needs in its environment, for any launcher."""
    cpus = {"STEELYARD_CPUS": ",".join(map(str, job.cpus))} if job.cpus else {}
    return {**_list_own_variables(job), **cpus, **job.environment}


def names(job: Job) -> tuple[str, ...]:
    """Returns the variables that must reach the ranks on every host."""
    return (*PASSED, *job.environment, *_list_own_variables(job))


def _list_own_variables(job: Job) -> dict[str, str]:
    flavour = of(job.mpi)
    return {**flavour.environment, **flavour.transports.get(job.transport, {})}


def within(job: Job, option: str) -> list[str]:
    """Returns the launcher's words for the folder of the ranks; `option` is "--chdir=", or "-wdir" with a word of its own."""
    words = [option + str(job.folder)] if option.endswith("=") else [option, str(job.folder)]
    return words if job.folder else []


def slots(job: Job) -> str:
    """Returns the hosts with the number of places on each: 'a:2,b:2'."""
    return ",".join(f"{h.name}:{job.ranks_per_node or h.slots}" for h in job.hosts)


def leave_out_unused_hosts(job: Job) -> Job:
    """Returns the job with the hosts that get ranks. A launcher starts a daemon on each host, and fails if one host is lost."""
    if job.ranks > sum(job.ranks_per_node or host.slots for host in job.hosts):
        return job
    used = set(places(job))
    return replace(job, hosts=tuple(host for host in job.hosts if host.name in used))


def places(job: Job) -> tuple[str, ...]:
    """Returns the name of the host of rank 0, 1 …, for a job with hosts. With more ranks than places each host gets some more."""
    room = [job.ranks_per_node or host.slots for host in job.hosts]
    rounds = -(-job.ranks // sum(room))
    per_host = [[host.name] * (count * rounds) for host, count in zip(job.hosts, room, strict=True)]
    if job.mapping == "block":
        return tuple(islice((name for names in per_host for name in names), job.ranks))
    return tuple(islice((name for names in zip_longest(*per_host) for name in names if name), job.ranks))
