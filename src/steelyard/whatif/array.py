"""A question that the tasks of a batch array share: the work of each task, its answers, and all answers together."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from steelyard import files, signals
from steelyard.errors import MachineFailed
from steelyard.launch import batch
from steelyard.launch.batch import BatchSystem
from steelyard.launch.scheduler import Request
from steelyard.machine import describe
from steelyard.whatif import engine
from steelyard.whatif.engine import Part
from steelyard.words import plural

MOST = 1000  # tasks: the default of Slurm's MaxArraySize is 1001
WORK, SHARE = "work.json", "--share"
PAUSE = 1.0  # s between two checks
GRACE = 30.0  # s that a network file system may take to show a file of a task that has ended
LAST = 10  # lines of the output of a failed task that are shown


@dataclass(frozen=True)
class Work:
    """The trace, and the engine's lines: task k has each `tasks`-th line from line k on."""

    trace: str
    flops: float
    part: Part
    lines: tuple[str, ...]
    tasks: int


def lay_out(folder: Path, work: Work) -> None:
    """Writes the file with the work of the tasks."""
    files.write(folder / WORK, "The work of the tasks", json.dumps(asdict(work)))


def carry_out(folder: Path, task: int) -> None:
    """Answers the lines of a task on all its processors."""
    work = json.loads((folder / WORK).read_text(encoding="utf-8"))
    asked = work["part"]
    part = Part(asked["iterations"], asked["regions"] and tuple(asked["regions"]), asked["without_waits"])
    threads = len(os.sched_getaffinity(0))  # their number changes no answer
    with engine.engine(Path(work["trace"]), describe(), work["flops"], part) as running:
        lines = work["lines"][task :: work["tasks"]]
        answers = {line: running.ask(re.sub(r"\bthreads=\d+", f"threads={threads}", line)) for line in lines}
    files.write(_answers(folder, task), "The answers of a task", json.dumps(answers))


def request(folder: Path, program: tuple[str, ...], tasks: int, options: tuple[str, ...], to: BatchSystem) -> Request:
    """Returns the request of the array for the scheduler."""
    assert to.batch.array
    words = ("whatif", SHARE, str(folder))
    return Request(
        program=program, words=words, folder=folder, nodes=1, options=(*to.batch.array.words(folder, tasks), *options)
    )


def gather(folder: Path, job: str, tasks: int, to: BatchSystem, show: Callable[[int, int], None]) -> dict[str, Any]:
    """Waits for all tasks. MachineFailed, with its last lines of output, if a task ended without an answer."""
    assert to.batch.array
    idle = 0.0
    while missing := [task for task in range(tasks) if not _answers(folder, task).exists()]:
        show(tasks - len(missing), tasks)
        idle = idle + PAUSE if to.batch.array.active(job, to.around.ask) == 0 else 0.0
        if idle > GRACE:
            raise MachineFailed(_failed(folder, job, missing, to))
        to.around.sleep(PAUSE)
    show(tasks, tasks)
    answers: dict[str, Any] = {}
    for task in range(tasks):
        answers |= json.loads(_answers(folder, task).read_text(encoding="utf-8"))
    return answers


def run_array(
    folder: Path, work: Work, start: Request, to: BatchSystem, show: Callable[[int, int], None]
) -> dict[str, Any]:
    """Returns the answers to all lines. Ctrl-C cancels the job."""
    lay_out(folder, work)
    job = ""
    try:
        with signals.held():
            job = batch.submit(to.batch.script(start), to)
        return gather(folder, job, work.tasks, to, show)
    except KeyboardInterrupt:
        if job:
            batch.cancel(job, to)
        raise


def _answers(folder: Path, task: int) -> Path:
    return folder / f"answers-{task}.json"


def _failed(folder: Path, job: str, missing: list[int], to: BatchSystem) -> str:
    outputs = [path for task in missing if (path := folder / f"task-{task}.err").exists()]
    last = "\n".join(outputs[0].read_text(encoding="utf-8", errors="replace").splitlines()[-LAST:]) if outputs else ""
    return (
        f"{plural(len(missing), 'task')} of {to.title} job {job} ended without an answer; the first is task {missing[0]}. Their "
        f"output is in '{folder}'. Check that the nodes can reach this folder and the trace under the same path.\n{last}"
    ).rstrip()
