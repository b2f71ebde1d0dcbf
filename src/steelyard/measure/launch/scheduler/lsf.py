"""LSF. mpiexec starts the ranks. From its documentation: it was never run here.

Source: IBM Spectrum LSF, the command reference (bsub, bjobs -json) and the environment variables.
"""

import math
from collections.abc import Mapping

from steelyard.errors import MachineFailed
from steelyard.measure.launch.scheduler import Allocation, Ask, Batch, Request, Scheduler, State, parse_state
from steelyard.measure.launch.scheduler._script import read_hosts_file, redirect_output, script
from steelyard.model import Host
from steelyard.system.answers import parsed

OUTPUTS = "lsf-{job}.{kind}"
FIELDS = "stat exit_code exit_reason exec_host pend_reason run_time"
STATES = {"PEND": "PENDING", "RUN": "RUNNING", "PSUSP": "HELD", "USUSP": "SUSPENDED", "SSUSP": "SUSPENDED"}
# Beginning of a termination reason → state.
REASONS = {
    "TERM_RUNLIMIT": "TIMEOUT",
    "TERM_MEMLIMIT": "OUT_OF_MEMORY",
    "TERM_SWAP": "OUT_OF_MEMORY",
    "TERM_PREEMPT": "PREEMPTED",
    "TERM_DEADLINE": "DEADLINE",
    "TERM_OWNER": "CANCELLED",
    "TERM_ADMIN": "CANCELLED",
    "TERM_FORCE": "CANCELLED",
}
_SIGNALLED = 128  # an exit code above is a signal's number and this


def allocation(environ: Mapping[str, str]) -> Allocation | None:
    """Reads the file in LSB_DJOB_HOSTFILE (a line for each slot), or else LSB_MCPU_HOSTS ('a 2 b 1')."""
    job, file, counts = (environ.get(f"LSB_{name}") for name in ("JOBID", "DJOB_HOSTFILE", "MCPU_HOSTS"))
    if not job or not (file or counts):
        return None
    if not counts:
        return Allocation(job, read_hosts_file(str(file), "LSF's file of hosts LSB_DJOB_HOSTFILE"))
    words = counts.split()
    if len(words) % 2 or not all(count.isdecimal() and int(count) for count in words[1::2]):
        raise MachineFailed(
            f"LSF's variable LSB_MCPU_HOSTS='{counts}' cannot be read. It must contain names of hosts, each followed by its "
            "number of slots. Do not set this variable yourself. Start a new job."
        )
    return Allocation(job, tuple(Host(name, int(count)) for name, count in zip(words[::2], words[1::2], strict=True)))


def batch_script(request: Request) -> str:
    """Returns the batch script, which asks for hosts without other jobs. LSF's report goes to a file, not by mail."""
    words = ["-J steelyard", f'-o "{request.folder}/lsf-%J.report"', "-x", "-rn"]
    if request.nodes or request.ranks_per_node:
        ranks = request.ranks_per_node or 1
        words += [f"-n {(request.nodes or 1) * ranks}", f'-R "span[ptile={ranks}]"']
    asked = {"-W": request.time, "-q": request.partition, "-P": request.account}
    words += [f"{word} {value}" for word, value in asked.items() if value is not None]
    return script(request, "#BSUB", [*words, *request.options], redirect_output(request, OUTPUTS, '"$LSB_JOBID"'))


def limit(seconds: float) -> str:
    """5400 → '01:30': hours and minutes."""
    minutes = math.ceil(seconds / 60)
    return f"{minutes // 60:02}:{minutes % 60:02}"


def state(job: str, ask: Ask) -> tuple[State | None, str]:
    """Returns the state of a job from bjobs."""
    done = ask(["bjobs", "-json", "-o", FIELDS, job], "")
    if "is not found" in done.stdout + done.stderr:
        return State("GONE"), ""
    return parse_state(done, lambda output: read_state(parsed(output)["RECORDS"][0]))


def read_state(record: Mapping[str, str]) -> State:
    """Converts a record of bjobs; each field is a text, "" if it is not known."""
    # 4*a:4*b
    hosts = [part.rpartition("*")[2] for part in record.get("EXEC_HOST", "").split(":") if part]
    nodes, host, took = " ".join(dict.fromkeys(hosts)), (hosts or [""])[0], record.get("RUN_TIME", "")
    name = record["STAT"]
    if name == "DONE":
        return State("COMPLETED", "", nodes, host, took=took)
    if name != "EXIT":
        waits = record.get("PEND_REASON", "") if name == "PEND" else ""
        return State(STATES.get(name, name), waits, nodes, host, took=took)
    why = record.get("EXIT_REASON", "")
    ended = next((end for begin, end in REASONS.items() if why.startswith(begin)), "FAILED")
    status = record.get("EXIT_CODE", "")
    code = int(status) if status.isdecimal() else 0
    signal = code - _SIGNALLED if code > _SIGNALLED else 0
    return State(ended, why, nodes, host, 0 if signal else code, signal, took)


scheduler = Scheduler(
    name="lsf",
    title="LSF",
    allocation=allocation,
    batch=Batch(
        commands=("bsub", "bjobs", "bkill"),
        submit=("bsub",),
        job=r"Job <(\d+)> is submitted",
        script=batch_script,
        outputs=OUTPUTS,
        cancel=("bkill",),
        watch="bjobs",
        state=state,
        time=limit,
        times=r"\d+:\d+",
        same=lambda state: f'-m "{state.nodes}"',
    ),
    full_nodes="-x",
)
