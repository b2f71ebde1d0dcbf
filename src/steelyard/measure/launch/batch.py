"""Submits a batch job, follows it to its end, and cancels it."""

import re
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.errors import MachineFailed, ProgramFailed
from steelyard.measure.launch import scheduler
from steelyard.measure.launch.scheduler import FINAL, Ask, Batch, State
from steelyard.system.starts import find_program

PAUSES = (1.0, 10.0)  # seconds between two queries: soon after a change, and without changes
PATIENCE = 600.0  # seconds without an answer of the scheduler, whose controller a site may restart under running jobs


class Listener:
    """Gets the events of a job; this base class ignores them."""

    def remarked(self, words: str) -> None:
        """Gets a message of the scheduler or the site at submission."""

    def changed(self, sentence: str) -> None:
        """Gets a sentence on the new state of the job."""

    def wrote(self, kind: str, added: bytes) -> None:
        """Gets new output of the job; `kind` is "out" or "err"."""


@dataclass(frozen=True)
class Around:
    """The clock and the commands that follow a job; tests replace them."""

    ask: Ask = scheduler.ask
    sleep: Callable[[float], None] = time.sleep
    listener: Listener = field(default_factory=Listener)


@dataclass(frozen=True)
class BatchSystem:
    """The scheduler for a job: its names and its batch functions."""

    name: str
    title: str
    batch: Batch
    around: Around = Around()


def system(name: str | None, around: Around = Around()) -> BatchSystem:
    """Returns the scheduler of that name, or else an installed one. UsageError for an unknown name."""
    chosen, batch = scheduler.find_batch_scheduler(name)
    return BatchSystem(chosen.name, chosen.title, batch, around)


def require(to: BatchSystem) -> None:
    """Raises MachineFailed if the scheduler's commands are not installed."""
    for name in to.batch.commands:
        if not find_program(name):
            raise MachineFailed(
                f"The command '{name}' is not in PATH, so this machine cannot submit jobs to {to.title}. Log in to a login "
                f"node of the cluster (some clusters also need: module load {to.name}), or print the batch script with --dry-run."
            )


def submit(script: str, to: BatchSystem) -> str:
    """Submits a batch script and returns the job's number. ProgramFailed, with the scheduler's words whole, where it refuses."""
    done = to.around.ask(to.batch.submit, script)
    number = re.search(to.batch.job, done.stdout)
    if done.returncode != 0 or not number:
        shown = f"{shlex.join(to.batch.submit)} <<'end'\n{script}end"
        raise ProgramFailed("Submitting the job", shown, done.returncode, done.stdout + done.stderr)
    if done.stderr:
        to.around.listener.remarked(done.stderr)
    return number.group(1)


def cancel(job: str, to: BatchSystem) -> None:
    """Cancels a job. ProgramFailed if the scheduler refuses."""
    words = [*to.batch.cancel, job]
    done = to.around.ask(words, "")
    if done.returncode != 0:
        raise ProgramFailed("Cancelling the job", shlex.join(words), done.returncode, done.stdout + done.stderr)


def describe_state(job: str, state: State, to: BatchSystem) -> str:
    """Returns 'Slurm job 12 is pending (Resources)'."""
    if state.name in FINAL:
        return f"{to.title} job {job} {FINAL[state.name].format(scheduler=to.title)}"
    place = f" on {state.nodes}" if state.nodes else ""
    return f"{to.title} job {job} is {state.name.lower()}{place}" + (f" ({state.reason})" if state.reason else "")


def follow(job: str, outputs: Mapping[str, Path], to: BatchSystem) -> State:
    """Passes on to the listener what the job writes ("out", "err") and each change of its state; returns when it has ended.

    MachineFailed when the scheduler has been silent for long: the job goes on.
    """
    read = dict.fromkeys(outputs, 0)
    last, pause, silent = State(""), PAUSES[0], 0.0
    while True:
        state, trouble = to.batch.state(job, to.around.ask)
        # The output is read after the state, so that the output of a job that has ended is complete.
        for kind, path in outputs.items():
            if added := _read_from(path, read[kind]):
                to.around.listener.wrote(kind, added)
                read[kind] += len(added)
                pause = PAUSES[0]
        if state and state.name in FINAL:
            return state
        if state and (state.name, state.reason, state.nodes) != (last.name, last.reason, last.nodes):
            to.around.listener.changed(describe_state(job, state, to))
            last, pause = state, PAUSES[0]
        if silent > PATIENCE and not state:
            raise MachineFailed(
                f"{to.title} has not answered for {PATIENCE:.0f} s. Steelyard no longer follows job {job}, but the job "
                f"continues. Watch it with: {to.batch.watch} {job}\nIts output goes to {', '.join(map(str, outputs.values()))}.\n"
                f"The last messages of {to.title}:\n{trouble}"
            )
        to.around.sleep(pause)
        silent = 0.0 if state else silent + pause
        pause = min(1.2 * pause, PAUSES[1])


def _read_from(path: Path, start: int) -> bytes:
    """Returns the content of a file after its first `start` bytes; "" if there is no file yet."""
    try:
        with path.open("rb") as file:  # a new open makes a network file system look for new content
            file.seek(start)
            return file.read()
    except OSError:
        return b""
