"""Flux: flux run starts the ranks inside of an instance, flux batch submits a run. From its documentation: it was never run here.

Sources: flux-environment(7), flux-batch(1), flux-jobs(1), flux-run(1), flux-shell-options(7).
"""

import shlex
from collections import Counter
from collections.abc import Mapping

from steelyard.errors import MachineFailed
from steelyard.measure import mpi
from steelyard.measure.launch.scheduler import (
    Allocation,
    Ask,
    Batch,
    Launcher,
    Request,
    Scheduler,
    State,
    ask,
    parse_state,
)
from steelyard.measure.launch.scheduler._script import clock, script
from steelyard.measure.machine import hostlist
from steelyard.measure.mpi import Job, places, within
from steelyard.model import Host
from steelyard.system.answers import parsed, search
from steelyard.system.starts import find_program

OUTPUTS = "flux-{job}.{kind}"
STATES = {
    "NEW": "PENDING",
    "DEPEND": "PENDING",
    "PRIORITY": "PENDING",
    "SCHED": "PENDING",
    "RUN": "RUNNING",
    "CANCELED": "CANCELLED",
}
_SIGNALLED = 128  # a return code above is a signal's number and this


def argv(job: Job) -> list[str]:
    """Returns the command line. Without hosts all ranks run on the instance's first node, where a batch script runs.

    Flux spreads ranks evenly over nodes in its own order. MachineFailed if the job asks for other numbers.
    """
    # Open MPI supports only PMIx, which is a plug-in of Flux; the others use Flux's default.
    meets = ["-opmi=pmix"] if mpi.of(job.mpi).meets == "pmix" else []
    words = ["flux", "run", *_name_places(job), f"--taskmap={job.mapping}", *meets]
    # Only the first rank reads the cases. A rank that dies ends all, since the others would wait for ever.
    words += ["--input=0", "--unbuffered", "-oexit-on-error", "-ocpu-affinity=off"]
    return [*words, *within(job, "--cwd="), *job.extra, str(job.program)]


def environment(job: Job, base: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of flux, which the ranks inherit."""
    ranks = {"STEELYARD_RANK_IN": "FLUX_TASK_RANK", "STEELYARD_LOCAL_RANK_IN": "FLUX_TASK_LOCAL_ID"}
    return {**base, **ranks, **mpi.environment(job)}


def start_alone(host: str, within: bool) -> list[str]:
    """Returns the words that run a command once on a whole host. The command sees no allocation."""
    words = ["flux", "run", "--nodes=1", "--ntasks=1", "--exclusive", f"--requires=hosts:{host}", "-ocpu-affinity=off"]
    return [*words, "env", "--unset=FLUX_URI", "--unset=FLUX_JOB_ID"]


def _name_places(job: Job) -> list[str]:
    if not job.hosts:
        return ["--nodes=1", "--requires=rank:0", f"--tasks-per-node={job.ranks}"]
    counts = Counter(places(job))
    ranks = list(counts.values())
    words = [f"--nodes={len(counts)}", f"--requires=hosts:{','.join(counts)}"]
    if len(set(ranks)) == 1:
        return [*words, f"--tasks-per-node={ranks[0]}"]
    if ranks != sorted(ranks, reverse=True) or ranks[0] - ranks[-1] > 1:
        shown = ", ".join(f"{count} on {name}" for name, count in counts.items())
        raise MachineFailed(
            f"'flux run' spreads the ranks evenly over the hosts, but {job.ranks} ranks were requested as {shown}. Choose a "
            "number of ranks that the hosts can share equally (--set ranks=…), or start the ranks with the MPI's launcher: "
            "--launcher mpiexec"
        )
    return [*words, f"--ntasks={job.ranks}"]


# --------------------------------------------------------------------------- what was allocated


def allocation(environ: Mapping[str, str]) -> Allocation | None:
    """Asks the instance, since Flux sets only FLUX_URI for a batch script. None for an instance that is not a job."""
    if not environ.get("FLUX_URI") or not find_program("flux"):
        return None
    job = ask(["flux", "getattr", "jobid"])
    number = search(job, r"^\S+$")
    if job.returncode != 0 or not number:
        return None
    nodes = hostlist.expand(_ask_flux("getattr", "hostlist"))
    given = environ.get("STEELYARD_RANKS_PER_NODE", "")  # set by our own batch script
    cores = _ask_flux("resource", "list", "--states=all", "--no-header", "--format={ncores}")
    slots = int(given) if given.isdecimal() else int(cores) // len(nodes) if cores.isdecimal() else 1
    return Allocation(number.group(), tuple(Host(name, max(1, slots)) for name in nodes))


def _ask_flux(*words: str) -> str:
    done = ask(["flux", *words])
    word = search(done, r"^\S+$")
    if done.returncode != 0 or not word:
        raise MachineFailed(
            f"Flux does not report the hosts of this allocation: 'flux {shlex.join(words)}' ended with exit code "
            f"{done.returncode}.\n"
            f"{done.stderr.strip()}\nName the hosts yourself: --hosts A:N,B:N --launcher flux"
        )
    return word.group()


# --------------------------------------------------------------------------- a run as a job


def batch_script(request: Request) -> str:
    """Returns the batch script, which asks for whole nodes without other jobs."""
    asked = {
        "nodes": request.nodes or 1,
        "time-limit": request.time,
        "queue": request.partition,
        "bank": request.account,
        "env": f"STEELYARD_RANKS_PER_NODE={request.ranks_per_node}" if request.ranks_per_node else None,
        "output": request.folder / OUTPUTS.format(job="{{id.dec}}", kind="out"),
        "error": request.folder / OUTPUTS.format(job="{{id.dec}}", kind="err"),
    }
    words = ["--job-name=steelyard", *(f"--{name}={value}" for name, value in asked.items() if value is not None)]
    return script(request, "# flux:", map(shlex.quote, [*words, "--exclusive", *request.options]))


def state(job: str, ask: Ask) -> tuple[State | None, str]:
    """Returns the state of a job from flux jobs."""
    done = ask(["flux", "jobs", "--json", job], "")
    if f"JobID {job} unknown" in done.stdout + done.stderr:
        return State("GONE"), ""
    return parse_state(done, lambda output: read_state(parsed(output)))


def read_state(about: Mapping[str, object]) -> State:
    """Reads the state of a job from the answer of flux jobs --json."""
    name, nodes = str(about["status"]), str(about.get("nodelist", ""))
    host = (hostlist.expand(nodes) or ("",))[0]
    took, code = about.get("runtime"), about.get("returncode")
    code = code if isinstance(code, int) else 0
    signal = -code if code < 0 else max(0, code - _SIGNALLED)
    return State(
        STATES.get(name, name),
        _read_reason(about),
        nodes,
        host,
        0 if signal else code,
        signal,
        clock(took) if isinstance(took, int | float) else "",
    )


def _read_reason(about: Mapping[str, object]) -> str:
    """Returns why a job waits, or what ended it."""
    part: object = about
    for name in ("annotations", "sched", "reason_pending"):
        part = part.get(name) if isinstance(part, Mapping) else None
    ended = about.get("exception")
    note = ended.get("note") if isinstance(ended, Mapping) else None
    return str(part or note or "")


scheduler = Scheduler(
    name="flux",
    title="Flux",
    allocation=allocation,
    launcher=Launcher("flux", argv, environment, start_alone),
    batch=Batch(
        commands=("flux",),
        # The number in decimal digits, since Flux's form (ƒiFkbMhFM) is not suitable for file names.
        submit=("sh", "-c", 'job=$(flux batch) && flux job id --to=dec "$job"'),
        job=r"(?m)^(\d+)$",
        script=batch_script,
        outputs=OUTPUTS,
        cancel=("flux", "cancel"),
        watch="flux jobs",
        state=state,
        time=lambda seconds: f"{seconds:.0f}s",
        times=r"\d+(\.\d+)?d",
        same=lambda state: f"--requires=hosts:{state.nodes}",
    ),
    full_nodes="--exclusive",
)
