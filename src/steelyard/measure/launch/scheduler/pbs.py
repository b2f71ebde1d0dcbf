"""PBS: OpenPBS and PBS Professional. mpiexec starts the ranks. From its documentation: it was never run here.

Sources: qsub(1B), qstat(1B), pbs_job_attributes(7B) and job.h of OpenPBS.
"""

import shlex
from collections.abc import Mapping
from dataclasses import replace

from steelyard.measure.launch.scheduler import Allocation, Ask, Batch, Request, Scheduler, State, parse_state
from steelyard.measure.launch.scheduler._script import clock, read_hosts_file, redirect_output, script
from steelyard.system.answers import parsed

OUTPUTS = "pbs-{job}.{kind}"
# The letters of job_state. `read_state` handles F, M (moved to another server) and X (a finished part of an array).
STATES = {
    "B": "RUNNING",
    "E": "EXITING",
    "H": "HELD",
    "Q": "QUEUED",
    "R": "RUNNING",
    "S": "SUSPENDED",
    "T": "MOVING",
    "U": "SUSPENDED",
    "W": "WAITING",
}
_SIGNALLED = 256  # an exit status from here on is a signal's number and this
_SHELL_SIGNALLED = 128  # and from here on the same by the shell's convention


def allocation(environ: Mapping[str, str]) -> Allocation | None:
    """Reads the file in PBS_NODEFILE, which has a line with the host of each rank."""
    job, file = environ.get("PBS_JOBID"), environ.get("PBS_NODEFILE")
    if not job or not file:
        return None
    return Allocation(job, read_hosts_file(file, "PBS's file of nodes PBS_NODEFILE"))


def batch_script(request: Request) -> str:
    """Returns the batch script: each chunk on a separate node, without other jobs. PBS's messages go to a separate file."""
    ranks = request.ranks_per_node
    chunk = f":ncpus={ranks}:mpiprocs={ranks}" if ranks else ""
    # Without -S the job would use the user's shell. If PBS restarted the job, it would start a new run.
    words = ["-N steelyard", "-S /bin/sh", "-r n", "-j oe", f"-o {shlex.quote(f'{request.folder}/')}"]
    if request.nodes or ranks:
        words.append(f"-l select={request.nodes or 1}{chunk}")
    words.append("-l place=scatter:excl")
    asked = {"-l walltime=": request.time, "-q ": request.partition, "-A ": request.account}
    words += [f"{word}{value}" for word, value in asked.items() if value is not None]
    return script(request, "#PBS", [*words, *request.options], redirect_output(request, OUTPUTS, '"$PBS_JOBID"'))


def state(job: str, ask: Ask) -> tuple[State | None, str]:
    """Returns the state of a job from qstat. A server without history does not know a job after its end."""
    done = ask(["qstat", "-x", "-f", "-F", "json", job], "")
    if "Unknown Job Id" in done.stderr or "Job has finished" in done.stderr:
        return State("GONE"), ""
    return parse_state(done, lambda output: read_state(next(iter(parsed(output)["Jobs"].values()))))


def read_state(about: Mapping[str, object]) -> State:
    """Converts the attributes of a job."""
    letter, comment = str(about.get("job_state", "")), str(about.get("comment", ""))
    hosts = [part.partition("/")[0] for part in str(about.get("exec_host", "")).split("+")]
    took, asked = (_read_walltime(about.get(name)) for name in ("resources_used", "Resource_List"))
    common = State("", comment, "+".join(dict.fromkeys(hosts)), hosts[0], took=took)
    if letter in STATES:
        return replace(common, name=STATES[letter], reason="" if letter in "BR" else comment)
    status = about.get("Exit_status")
    if letter == "M":
        return replace(common, name="REVOKED")
    if not isinstance(status, int):  # deleted before it began
        return replace(common, name="CANCELLED")
    if status < 0:  # PBS could not start it, or gave it up (JOB_EXEC_… in job.h)
        return replace(common, name="BOOT_FAIL")
    if status <= _SHELL_SIGNALLED:
        return replace(common, name="FAILED" if status else "COMPLETED", code=status)
    signal = status - (_SIGNALLED if status > _SIGNALLED else _SHELL_SIGNALLED)
    over = asked and _parse_seconds(took) >= _parse_seconds(asked)
    return replace(common, name="TIMEOUT" if over else "FAILED", signal=signal)


def _read_walltime(resources: object) -> str:
    return str(resources.get("walltime", "")) if isinstance(resources, Mapping) else ""


def _parse_seconds(clock: str) -> int:
    """'01:30:00' → 5400; 0 for anything else."""
    parts = clock.split(":")
    return sum(60**i * int(part) for i, part in enumerate(reversed(parts))) if all(map(str.isdecimal, parts)) else 0


scheduler = Scheduler(
    name="pbs",
    title="PBS",
    allocation=allocation,
    batch=Batch(
        commands=("qsub", "qstat", "qdel"),
        submit=("qsub",),
        job=r"(?m)^(\d+[\w.\-]*)$",
        script=batch_script,
        outputs=OUTPUTS,
        cancel=("qdel",),
        watch="qstat -x",
        state=state,
        time=clock,
        times=r"\d+(:\d+){1,2}",
    ),
    full_nodes="-l place=excl",
)
