"""Slurm: srun starts the ranks inside of an allocation, sbatch submits a run. Tested under a real one (make test-slurm)."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from steelyard.errors import MachineFailed
from steelyard.measure import mpi
from steelyard.measure.launch.scheduler import (
    Allocation,
    Array,
    Ask,
    Batch,
    Launcher,
    Request,
    Scheduler,
    State,
    parse_state,
)
from steelyard.measure.launch.scheduler._script import clock, script
from steelyard.measure.launch.scheduler._slurm_past import list_runs
from steelyard.measure.machine import hostlist
from steelyard.measure.mpi import Job, places, within
from steelyard.model import Host

# Variables of sbatch, salloc or the user for other steps, which srun would use for this one without an option.
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
_COUNT = re.compile(r"(\d{1,6})(?:\(x(\d{1,6})\))?", re.ASCII)


def argv(job: Job) -> list[str]:
    """Returns the command line. Without hosts all ranks run on the allocation's first node, where a batch script runs.

    Binding is off, since the programs pin themselves in the same way with every launcher. Slurm sorts the nodes of a step. For
    another order, or different numbers of ranks, the command line names the host of every rank.
    """
    meets = mpi.of(job.mpi).meets
    words = ["srun", *([f"--mpi={meets}"] if meets else []), *_name_places(job), f"--ntasks={job.ranks}"]
    # Only the first rank reads the cases. A rank that dies ends all, since the others would wait for ever.
    words += ["--input=0", "--unbuffered", "--kill-on-bad-exit=1", "--cpu-bind=none", "--export=ALL"]
    return [*words, *within(job, "--chdir="), *job.extra, str(job.program)]


def environment(job: Job, base: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of srun, which the ranks inherit: `base` without settings of other steps, plus the MPI's."""
    kept = {name: value for name, value in base.items() if name not in CLEARED}
    # A shell in a step (srun --pty bash) has the whole allocation, so that a step in it must share it.
    overlap = {"SLURM_OVERLAP": "1"} if "SLURM_STEP_ID" in base else {}
    return {**kept, **overlap, **mpi.environment(job)}


def start_alone(host: str, within: bool) -> list[str]:
    """Returns the words that run a command once on a host, as a step of this job or as a job of its own.

    The command sees no allocation, so it measures this host only.
    """
    hidden = [f"--unset={name}" for name in sorted(CLEARED)]
    share = ["--overlap"] if within else ["--exclusive", "--mem=0", "--job-name=steelyard"]
    step = ["srun", *share, "--nodes=1", "--ntasks=1", f"--nodelist={host}", "--cpu-bind=none", "--export=ALL"]
    return ["env", *hidden, *step, "env", "--unset=SLURM_JOB_ID", "--unset=SLURM_JOBID"]


def _name_places(job: Job) -> list[str]:
    """Returns the options for the number of ranks on each node."""
    if not job.hosts:
        crowded = ["--overcommit"] if job.ranks > 1 else []  # the number of allocated processors is not known
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
    if len(set(counts.values())) == 1 and list(counts) == sorted(counts, key=_split_natural):
        return [
            *words,
            f"--ntasks-per-node={counts[placed[0]]}",
            f"--distribution={job.mapping}",
            f"--nodelist={','.join(counts)}",
        ]
    return [*words, "--distribution=arbitrary", f"--nodelist={','.join(placed)}"]


def _split_natural(name: str) -> list[tuple[int, str]]:
    """Returns a sort key that puts n9 before n10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


# --------------------------------------------------------------------------- what was allocated


def allocation(environ: Mapping[str, str]) -> Allocation | None:
    """Reads Slurm's variables: the nodes, and for each the tasks, or else the processors, or else one."""
    job = environ.get("SLURM_JOB_ID") or environ.get("SLURM_JOBID")
    name = next((n for n in ("SLURM_JOB_NODELIST", "SLURM_NODELIST") if environ.get(n)), None)
    if not job or not name:
        return None
    nodes = _read_variable(environ, name, hostlist.expand)
    counts = []
    # In a step's environment (srun --pty bash) the tasks are those of the step.
    within = "SLURM_STEP_ID" in environ
    for variable in ("SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"):
        is_set = environ.get(variable) and not (within and variable == "SLURM_TASKS_PER_NODE")
        counted = _read_variable(environ, variable, expand_counts) if is_set else ()
        if counted and len(counted) != len(nodes):
            raise MachineFailed(
                f"Slurm's variable {variable}='{environ[variable]}' is for {len(counted)} nodes, but {name}='{environ[name]}' "
                f"names {len(nodes)}. Do not set these variables yourself. Request a new allocation."
            )
        counts.append(counted)
    tasks, cpus = counts
    slots = tasks or cpus or (1,) * len(nodes)
    return Allocation(job, tuple(Host(node, count) for node, count in zip(nodes, slots, strict=True)))


def expand_counts(text: str) -> tuple[int, ...]:
    """'2(x3),1' → (2, 2, 2, 1): a number for each node; '' → (). Raises ValueError for anything else."""
    counts: list[int] = []
    for part in text.split(",") if text else ():
        match = _COUNT.fullmatch(part)
        times = int(match[2] or 1) if match else 0
        if not match or not 0 < times <= hostlist.MOST_HOSTS - len(counts):
            raise ValueError(f"'{part}' in '{text}' is neither a number nor a repetition such as 2(x3)")
        counts += [int(match[1])] * times
    return tuple(counts)


_Read = TypeVar("_Read")


def _read_variable(environ: Mapping[str, str], name: str, read: Callable[[str], _Read]) -> _Read:
    try:
        return read(environ[name])
    except ValueError as error:
        raise MachineFailed(
            f"Slurm's variable {name} cannot be read: {error}. Do not set this variable yourself. Request a new allocation."
        ) from None


# --------------------------------------------------------------------------- a run as a job

OUTPUTS = "slurm-{job}.{kind}"


def batch_script(request: Request) -> str:
    """Returns the batch script, which asks for whole nodes with all their memory, without other jobs."""
    asked = {
        "nodes": request.nodes,
        "ntasks-per-node": request.ranks_per_node,
        "time": request.time,
        "partition": request.partition,
        "account": request.account,
        "output": f"{_escape_percents(request.folder)}/{OUTPUTS.format(job='%j', kind='out')}",
        "error": f"{_escape_percents(request.folder)}/{OUTPUTS.format(job='%j', kind='err')}",
    }
    words = ["--job-name=steelyard", *(f"--{name}={value}" for name, value in asked.items() if value is not None)]
    # If Slurm restarted the job, it would start a new run.
    words += ["--exclusive", "--mem=0", "--no-requeue", *request.options]
    return script(request, "#SBATCH", map(shlex.quote, words))


def _escape_percents(folder: Path) -> str:
    """Returns the folder with doubled percent signs, which Slurm would otherwise replace."""
    return str(folder).replace("%", "%%")


def state(job: str, ask: Ask) -> tuple[State | None, str]:
    """Returns the state of a job from scontrol."""
    done = ask(["scontrol", "show", "job", "--oneliner", job], "")
    if "Invalid job id" in done.stderr:
        return State("GONE"), ""
    return parse_state(done, read_state) if done.returncode == 0 and done.stdout.strip() else (None, done.stderr)


def read_state(output: str) -> State:
    """Converts a line of `scontrol show job --oneliner`. Its names of states are those of FINAL."""
    fields = dict(re.findall(r"(?:^|\s)([\w/:]+)=(\S*)", output))
    code, _, signal = fields.get("ExitCode", "0:0").partition(":")
    reason, nodes, host = (
        "" if fields.get(name) in (None, "None", "(null)") else fields[name]
        for name in ("Reason", "NodeList", "BatchHost")
    )
    return State(
        fields.get("JobState", "UNKNOWN"),
        reason,
        nodes,
        host,
        int(code or 0),
        int(signal or 0),
        fields.get("RunTime", ""),
    )


def lost_nodes(nodes: str, ask: Ask) -> list[str]:
    """Returns the nodes of the list (n[1-4]) that are down or do not answer now."""
    done = ask(["sinfo", "--noheader", "--Node", f"--nodes={nodes}", "--format=%N %T"], "")
    pairs = (line.split() for line in done.stdout.splitlines())
    return sorted(
        {pair[0] for pair in pairs if len(pair) == 2 and (pair[1].startswith("down") or pair[1].endswith("*"))}
    )


def array_words(folder: Path, tasks: int) -> tuple[str, ...]:
    """Returns the options for so many tasks, numbered from 0."""
    return (
        f"--array=0-{tasks - 1}",
        f"--output={_escape_percents(folder)}/task-%a.out",
        f"--error={_escape_percents(folder)}/task-%a.err",
    )


def active_tasks(job: str, ask: Ask) -> int | None:
    """Returns the number of tasks that wait or run, from squeue, which does not list a job some minutes after its end."""
    done = ask(["squeue", "--noheader", "--array", f"--job={job}", "--format=%T"], "")
    if "Invalid job id" in done.stderr:
        return 0
    return len(done.stdout.split()) if done.returncode == 0 else None


scheduler = Scheduler(
    name="slurm",
    title="Slurm",
    allocation=allocation,
    launcher=Launcher("srun", argv, environment, start_alone),
    batch=Batch(
        commands=("sbatch", "scontrol", "scancel"),
        submit=("sbatch", "--parsable"),
        job=r"(?m)^(\d+)(?:;.*)?$",
        script=batch_script,
        outputs=OUTPUTS,
        cancel=("scancel",),
        watch="squeue --job",
        state=state,
        time=clock,
        times=r"\d+-\d+(:\d+){0,2}|\d+(:\d+){1,2}",
        lost=lost_nodes,
        array=Array(array_words, "SLURM_ARRAY_TASK_ID", active_tasks),
        ran=list_runs,
        same=lambda state: f"--nodelist={state.nodes}",
    ),
    full_nodes="--exclusive",
    all_memory="--mem=0",
)
