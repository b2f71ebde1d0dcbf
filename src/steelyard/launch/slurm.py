"""Starts ranks by srun inside a Slurm allocation, and reads from Slurm's variables what was allocated."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice, product, zip_longest
from math import prod
from typing import TypeVar

from steelyard.errors import MachineFailed
from steelyard.launch.job import Job
from steelyard.launch.mpiexec import passed, transport_environment
from steelyard.model import Host

# How ranks meet under srun: Open MPI knows PMIx alone, MPICH and its kin PMI-2 everywhere. Another MPI: the site's default.
PLUGINS = {"openmpi": "pmix", "mpich": "pmi2", "mvapich": "pmi2", "intelmpi": "pmi2"}
# What sbatch, salloc or a user set for other steps, and srun would take for this one where no word overrides it.
CLEARED = {
    "SLURM_HOSTFILE",  # overrides --distribution
    "SLURM_LABELIO",  # a rank's number before each line: records would not be read
    "SLURM_STDOUTMODE",  # records would go elsewhere
    "SLURM_CPUS_PER_TASK",  # since Slurm 22.05 a step with it gets these processors alone
    "SLURM_EXACT",
    "SLURM_EXCLUSIVE",
    "SLURM_NTASKS_PER_CORE",
    "SLURM_NTASKS_PER_SOCKET",
    "SLURM_OPEN_MODE",
}
# Slurm's own limit of a bracket's range (MAX_RANGE), and far beyond any cluster.
_MOST_HOSTS = 1 << 16
_NAME = re.compile(r"(?:[^\[\],\s]+|\[[^\[\]\s]+\])+")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_COUNT = re.compile(r"(\d{1,6})(?:\(x(\d{1,6})\))?", re.ASCII)


def argv(job: Job) -> list[str]:
    """The command line. Without hosts it is the allocation's first node, where a batch script runs.

    The programs pin themselves, so that all launchers do it alike: binding is off. Slurm puts the nodes of a step into an order
    of its own; where the job asks for another one, or for different numbers of ranks, the host of every rank is spelt out.
    """
    plugin = [f"--mpi={PLUGINS[job.mpi.name]}"] if job.mpi.name in PLUGINS else []
    words = ["srun", *plugin, *_places(job), f"--ntasks={job.ranks}"]
    # Of the ranks the first alone reads the cases; one that dies ends all, or the others would wait for it for ever.
    words += ["--input=0", "--unbuffered", "--kill-on-bad-exit=1", "--cpu-bind=none", "--export=ALL"]
    return [*words, *job.extra, str(job.program)]


def environment(job: Job, base: Mapping[str, str]) -> dict[str, str]:
    """srun's environment, which the ranks inherit: `base` without other steps' settings, and what the ranks must know."""
    kept = {name: value for name, value in base.items() if name not in CLEARED}
    # A shell that srun itself gave (srun --pty bash) holds all that was allocated: a step within must share it.
    overlap = {"SLURM_OVERLAP": "1"} if "SLURM_STEP_ID" in base else {}
    return {**kept, **overlap, **transport_environment(job.mpi.name, job.transport), **passed(job), **job.environment}


def _places(job: Job) -> list[str]:
    """The words that say how many ranks are on which node."""
    if not job.hosts:
        crowded = ["--overcommit"] if job.ranks > 1 else []  # how many processors are allocated there is not known
        return [
            "--nodes=1",
            "--relative=0",
            f"--ntasks-per-node={job.ranks}",
            f"--distribution={job.mapping}",
            *crowded,
        ]
    placed = places(job)
    counts = Counter(placed)
    slots = {host.name: host.slots for host in job.hosts}
    crowded = ["--overcommit"] if any(count > slots[name] for name, count in counts.items()) else []
    words = [f"--nodes={len(counts)}", *crowded]
    if len(set(counts.values())) == 1 and list(counts) == sorted(counts, key=_natural):
        return [
            *words,
            f"--ntasks-per-node={counts[placed[0]]}",
            f"--distribution={job.mapping}",
            f"--nodelist={','.join(counts)}",
        ]
    return [*words, "--distribution=arbitrary", f"--nodelist={','.join(placed)}"]


def places(job: Job) -> tuple[str, ...]:
    """The name of the host of rank 0, 1 …, for a job with hosts. With more ranks than places each host gets some more."""
    room = [job.ranks_per_node or host.slots for host in job.hosts]
    rounds = -(-job.ranks // sum(room))
    each = [[host.name] * (count * rounds) for host, count in zip(job.hosts, room, strict=True)]
    if job.mapping == "block":
        return tuple(islice((name for names in each for name in names), job.ranks))
    return tuple(islice((name for names in zip_longest(*each) for name in names if name), job.ranks))


def _natural(name: str) -> list[tuple[int, str]]:
    """n9 before n10, as Slurm's administrators number their nodes."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


# --------------------------------------------------------------------------- what was allocated


@dataclass(frozen=True)
class Allocation:
    """What Slurm gave this job: its number, its nodes in Slurm's order, and for each the tasks and the processors."""

    job: str
    nodes: tuple[str, ...]
    tasks_per_node: tuple[int, ...]  # empty: Slurm does not tell
    cpus_per_node: tuple[int, ...]  # empty: Slurm does not tell

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The nodes with the ranks that each may be given: its tasks, or else its processors, or else one."""
        slots = self.tasks_per_node or self.cpus_per_node or (1,) * len(self.nodes)
        return tuple(Host(name, count) for name, count in zip(self.nodes, slots, strict=True))


def allocation(environ: Mapping[str, str]) -> Allocation | None:
    """The allocation that Slurm's variables describe; None outside of one. MachineFailed where they contradict each other."""
    job = environ.get("SLURM_JOB_ID") or environ.get("SLURM_JOBID")
    name = next((n for n in ("SLURM_JOB_NODELIST", "SLURM_NODELIST") if environ.get(n)), None)
    if not job or not name:
        return None
    nodes = _read(environ, name, expand_hosts)
    counts = []
    # In a step's environment (srun --pty bash) the tasks are those of the step.
    within = "SLURM_STEP_ID" in environ
    for variable in ("SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"):
        told = environ.get(variable) and not (within and variable == "SLURM_TASKS_PER_NODE")
        found = _read(environ, variable, expand_counts) if told else ()
        if found and len(found) != len(nodes):
            raise MachineFailed(
                f"Slurm's variable {variable}='{environ[variable]}' is for {len(found)} nodes, but {name}='{environ[name]}' "
                f"names {len(nodes)}. Do not set them yourself; ask for a new allocation."
            )
        counts.append(found)
    return Allocation(job, nodes, *counts)


def expand_hosts(text: str) -> tuple[str, ...]:
    """'n[1-3,07],x' → ('n1', 'n2', 'n3', 'n07', 'x'), in the order as written; zeros in front are kept, '' → ().

    Several brackets in one name count like digits, the last one fastest. Raises ValueError for anything else.
    """
    found: list[str] = []
    # A comma that a closing bracket follows before an opening one stands within a bracket.
    for name in re.split(r",(?![^\[]*\])", text) if text else ():
        if not _NAME.fullmatch(name):
            raise ValueError(f"'{name}' in '{text}' is no name of a host and no list of them such as n[1-3,7]")
        choices = [
            _numbers(inside, text) if inside else [plain]
            for inside, plain in re.findall(r"\[([^\]]+)\]|([^\[\]]+)", name)
        ]
        if len(found) + prod(map(len, choices)) > _MOST_HOSTS:
            raise ValueError(f"'{text}' stands for more than {_MOST_HOSTS} hosts")
        found += map("".join, product(*choices))
    return tuple(found)


def _numbers(inside: str, text: str) -> list[str]:
    """'08-10,3' → ['08', '09', '10', '3']."""
    found: list[str] = []
    for part in inside.split(","):
        match = _RANGE.fullmatch(part)
        if not match:
            raise ValueError(f"'[{inside}]' in '{text}' is no list of numbers and ranges such as [1-3,7]")
        low, high = match[1], match[2] or match[1]
        if not 0 <= int(high) - int(low) < _MOST_HOSTS:
            raise ValueError(f"'{part}' in '{text}' runs backwards, or over more than {_MOST_HOSTS} hosts")
        found += (str(number).zfill(len(low)) for number in range(int(low), int(high) + 1))
    return found


def expand_counts(text: str) -> tuple[int, ...]:
    """'2(x3),1' → (2, 2, 2, 1): a number for each node; '' → (). Raises ValueError for anything else."""
    found: list[int] = []
    for part in text.split(",") if text else ():
        match = _COUNT.fullmatch(part)
        times = int(match[2] or 1) if match else 0
        if not match or not 0 < times <= _MOST_HOSTS - len(found):
            raise ValueError(f"'{part}' in '{text}' is no number of a node's and no repetition such as 2(x3)")
        found += [int(match[1])] * times
    return tuple(found)


_Read = TypeVar("_Read")


def _read(environ: Mapping[str, str], name: str, read: Callable[[str], _Read]) -> _Read:
    try:
        return read(environ[name])
    except ValueError as error:
        raise MachineFailed(
            f"Slurm's variable {name} cannot be read: {error}. Do not set it yourself; ask for a new allocation."
        ) from None
