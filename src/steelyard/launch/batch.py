"""Talks with Slurm about a batch job: submits it, follows it to its end, cancels it."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from steelyard.errors import MachineFailed, ProgramFailed

FINAL = {  # Slurm's states after which nothing comes (squeue(1), "job state codes"), in the user's words
    "COMPLETED": "has ended",
    "FAILED": "failed",
    "CANCELLED": "was cancelled",
    "NODE_FAIL": "ended because a node went down",
    "TIMEOUT": "was ended by Slurm because its time was over",
    "OUT_OF_MEMORY": "was ended by Slurm because it took more memory than it was given",
    "PREEMPTED": "was ended by Slurm for a more important job",
    "BOOT_FAIL": "could not start because a node did not boot",
    "DEADLINE": "was ended by Slurm at its deadline",
    "REVOKED": "was withdrawn by Slurm",
    "GONE": "has ended so long ago that Slurm has forgotten it",
}
PAUSES = (1.0, 10.0)  # seconds between two questions: soon after a change, and where nothing has changed for long
PATIENCE = 600.0  # seconds without an answer of Slurm's controller, which a site may restart under running jobs
_SECONDS = 60.0  # that a command of Slurm's may take

Answer = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class State:
    """What Slurm says of a job. `nodes` and `host` are "" before it starts; `code` and `signal` are 0 until it has ended."""

    name: str  # PENDING, RUNNING …
    reason: str = ""
    nodes: str = ""
    host: str = ""  # where its script runs
    code: int = 0
    signal: int = 0
    took: str = ""  # hours:minutes:seconds


def require() -> None:
    """MachineFailed where Slurm's commands are not installed."""
    for name in ("sbatch", "scontrol", "scancel"):
        if not shutil.which(name):
            raise MachineFailed(
                f"There is no '{name}' on the PATH: this machine does not submit to Slurm. Go to a login node of the cluster "
                "(on some: module load slurm), or see what would be submitted with --dry-run."
            )


def ask(words: Sequence[str], told: str = "") -> Answer:
    """Runs a command of Slurm's, and waits for its answer."""
    try:
        # A session of its own: Ctrl-C is for this tool alone.
        return subprocess.run(
            words,
            input=told,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 1, "", f"{words[0]} did not answer within {_SECONDS:.0f} s")


@dataclass(frozen=True)
class Around:
    """What following a job depends on besides the job; tests replace it."""

    ask: Callable[[Sequence[str], str], Answer] = ask
    sleep: Callable[[float], None] = time.sleep


def submit(script: str, around: Around) -> str:
    """Submits a batch script and returns the job's number. ProgramFailed, with Slurm's words whole, where it refuses."""
    done = around.ask(["sbatch", "--parsable"], script)
    number = re.search(r"^(\d+)(?:;.*)?$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not number:
        shown = f"sbatch --parsable <<'end'\n{script}end"
        raise ProgramFailed("Submitting the job", shown, done.returncode, done.stdout + done.stderr)
    sys.stderr.write(done.stderr)  # a site's own remarks
    return number.group(1)


def cancel(job: str, around: Around) -> None:
    """Cancels a job. ProgramFailed where Slurm does not."""
    done = around.ask(["scancel", job], "")
    if done.returncode != 0:
        raise ProgramFailed("Cancelling the job", f"scancel {job}", done.returncode, done.stdout + done.stderr)


def lost_nodes(nodes: str, around: Around) -> list[str]:
    """Those of the nodes (n[1-4]) that are down or silent now."""
    done = around.ask(["sinfo", "--noheader", "--Node", f"--nodes={nodes}", "--format=%N %T"], "")
    pairs = (line.split() for line in done.stdout.splitlines())
    return sorted(
        {pair[0] for pair in pairs if len(pair) == 2 and (pair[1].startswith("down") or pair[1].endswith("*"))}
    )


def read_state(said: str) -> State:
    """One line of `scontrol show job --oneliner` as a State."""
    found = dict(re.findall(r"(?:^|\s)([\w/:]+)=(\S*)", said))
    code, _, signal = found.get("ExitCode", "0:0").partition(":")
    reason, nodes, host = (
        "" if found.get(name) in (None, "None", "(null)") else found[name]
        for name in ("Reason", "NodeList", "BatchHost")
    )
    return State(
        found.get("JobState", "UNKNOWN"),
        reason,
        nodes,
        host,
        int(code or 0),
        int(signal or 0),
        found.get("RunTime", ""),
    )


def sentence(job: str, state: State) -> str:
    """'Slurm job 12 is pending (Resources)'."""
    if state.name in FINAL:
        return f"Slurm job {job} {FINAL[state.name]}"
    place = f" on {state.nodes}" if state.nodes else ""
    return f"Slurm job {job} is {state.name.lower()}{place}" + (f" ({state.reason})" if state.reason else "")


def follow(job: str, outputs: Mapping[str, Path], around: Around) -> State:
    """Passes on what the job writes ("out", "err") and each change of its state; returns when it has ended.

    MachineFailed when Slurm has been silent for long: the job goes on.
    """
    read = dict.fromkeys(outputs, 0)
    last, pause, silent = State(""), PAUSES[0], 0.0
    while True:
        state, trouble = _state(job, around)
        # The output is read after the state: that of a job that has ended is whole.
        for kind, path in outputs.items():
            added = _pass_on(path, read[kind], sys.stdout if kind == "out" else sys.stderr)
            read[kind] += added
            pause = PAUSES[0] if added else pause
        if state and state.name in FINAL:
            return state
        if state and (state.name, state.reason, state.nodes) != (last.name, last.reason, last.nodes):
            print(f"steelyard: {sentence(job, state)}", file=sys.stderr, flush=True)
            last, pause = state, PAUSES[0]
        if silent > PATIENCE and not state:
            raise MachineFailed(
                f"Slurm has not answered for {PATIENCE:.0f} s: job {job} is not followed any more, but it goes on. "
                f"See it with: squeue --job {job}\nIts words go to {', '.join(map(str, outputs.values()))}.\n"
                f"Slurm's last ones:\n{trouble}"
            )
        around.sleep(pause)
        silent = 0.0 if state else silent + pause
        pause = min(1.2 * pause, PAUSES[1])


def _state(job: str, around: Around) -> tuple[State | None, str]:
    """The job's state; None, and why, where Slurm does not tell just now."""
    done = around.ask(["scontrol", "show", "job", "--oneliner", job], "")
    if "Invalid job id" in done.stderr:
        return State("GONE"), ""
    return (read_state(done.stdout), "") if done.returncode == 0 and done.stdout.strip() else (None, done.stderr)


def _pass_on(path: Path, start: int, stream: TextIO) -> int:
    """Writes what a file holds beyond `start` bytes to a stream of text; returns how many bytes that is."""
    try:
        with path.open("rb") as file:  # opened anew: a network file system then looks for what is new
            file.seek(start)
            added = file.read()
    except OSError:
        return 0  # not there yet
    if added:
        stream.flush()
        stream.buffer.write(added)
        stream.flush()
    return len(added)
