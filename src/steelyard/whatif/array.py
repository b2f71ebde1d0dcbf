"""A question that the tasks of a batch array share: what each is given, what it answers, and all answers together."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from steelyard import files
from steelyard.errors import MachineFailed
from steelyard.launch import batch
from steelyard.launch.batch import BatchSystem
from steelyard.launch.scheduler import Request
from steelyard.machine import describe
from steelyard.whatif import engine
from steelyard.whatif.engine import Part

MOST = 1000  # tasks: Slurm's MaxArraySize is 1001 where a site has not said more
WORK, SHARE = "work.json", "--share"
PAUSE = 1.0  # s between two looks
GRACE = 30.0  # s that a network file system may take to show a file of a task that has ended
LAST = 10  # lines of a task's words that are shown where it failed


@dataclass(frozen=True)
class Work:
    """The trace, and the engine's lines: task k has each `tasks`-th line from line k on."""

    trace: str
    flops: float
    part: Part
    lines: tuple[str, ...]
    tasks: int


def lay_out(folder: Path, work: Work) -> None:
    """Writes down what the tasks are to do."""
    files.write(folder / WORK, "The work of the tasks", json.dumps(asdict(work)))


def carry_out(folder: Path, task: int) -> None:
    """Answers the lines of a task, on all processors that it was given."""
    found = json.loads((folder / WORK).read_text(encoding="utf-8"))
    part = Part(found["part"]["iterations"], found["part"]["regions"] and tuple(found["part"]["regions"]))
    threads = len(os.sched_getaffinity(0))  # which change no answer
    with engine.engine(Path(found["trace"]), describe(), found["flops"], part) as running:
        own = found["lines"][task :: found["tasks"]]
        answers = {line: running.ask(re.sub(r"\bthreads=\d+", f"threads={threads}", line)) for line in own}
    made = _answers(folder, task)
    files.write(made.with_suffix(".part"), "The answers of a task", json.dumps(answers))
    made.with_suffix(".part").rename(made)  # at once: who looks for it reads all of it


def request(folder: Path, program: tuple[str, ...], tasks: int, options: tuple[str, ...], to: BatchSystem) -> Request:
    """What the scheduler shall start, so many times."""
    assert to.batch.array
    words = ("whatif", SHARE, str(folder))
    return Request(
        program=program, words=words, folder=folder, nodes=1, options=(*to.batch.array.words(folder, tasks), *options)
    )


def gather(folder: Path, job: str, tasks: int, to: BatchSystem, show: Callable[[int, int], None]) -> dict[str, Any]:
    """Waits for all tasks. MachineFailed, with its last words, where one has ended without an answer."""
    assert to.batch.array
    idle = 0.0
    while missing := [task for task in range(tasks) if not _answers(folder, task).exists()]:
        show(tasks - len(missing), tasks)
        idle = idle + PAUSE if to.batch.array.active(job, to.around.ask) == 0 else 0.0
        if idle > GRACE:
            raise MachineFailed(_failed(folder, job, missing, to))
        to.around.sleep(PAUSE)
    show(tasks, tasks)
    found: dict[str, Any] = {}
    for task in range(tasks):
        found |= json.loads(_answers(folder, task).read_text(encoding="utf-8"))
    return found


def shared(
    folder: Path, work: Work, start: Request, to: BatchSystem, show: Callable[[int, int], None]
) -> dict[str, Any]:
    """The answers to all lines. Who interrupts it cancels the job."""
    lay_out(folder, work)
    job = batch.submit(to.batch.script(start), to)
    try:
        return gather(folder, job, work.tasks, to, show)
    except KeyboardInterrupt:
        batch.cancel(job, to)
        raise


def _answers(folder: Path, task: int) -> Path:
    return folder / f"answers-{task}.json"


def _failed(folder: Path, job: str, missing: list[int], to: BatchSystem) -> str:
    said = [path for task in missing if (path := folder / f"task-{task}.err").exists()]
    last = "\n".join(said[0].read_text(encoding="utf-8", errors="replace").splitlines()[-LAST:]) if said else ""
    return (
        f"Of {to.title} job {job} {len(missing)} tasks have ended without an answer, task {missing[0]} first; what they wrote is "
        f"in '{folder}'. Do the nodes see this folder and the trace under the same path?\n{last}"
    ).rstrip()
