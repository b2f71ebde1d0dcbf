"""`steelyard whatif --submit`: divides the lines of a question over the tasks of a batch array, and collects the answers."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from steelyard.errors import MachineFailed, UsageError
from steelyard.measure.launch import batch
from steelyard.measure.launch.batch import BatchSystem
from steelyard.measure.launch.scheduler import Request
from steelyard.measure.machine import describe
from steelyard.model.words import plural
from steelyard.show.commands import submit
from steelyard.system import files, signals
from steelyard.whatif import engine, question
from steelyard.whatif.engine import Engine, Part
from steelyard.whatif.question import Question

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


def answer(
    running: Engine,
    questions: Sequence[Question],
    trace: Path,
    whole: Mapping[str, Any],
    tasks: int,
    options: Sequence[str],
    quiet: bool,
) -> None:
    """Lets the tasks answer the questions through a folder, which it removes; the engine then has the answers.

    Ctrl-C cancels the job.
    """
    to = _find_scheduler()
    batch.require(to)
    lines = tuple(line for asked in questions for _, line in question.group_points(asked))
    tasks = min(tasks, len(lines))
    folder = Path(f"whatif-{datetime.now():%Y%m%d-%H%M%S}").absolute()
    start = _make_request(folder, tasks, options, to)
    submit.refuse(start, to)
    folder.mkdir()
    if not quiet:
        print(
            f"Submitting {len(lines)} parts in {plural(tasks, 'task')} to {to.title}. Folder: {folder}",
            file=sys.stderr,
        )
    lay_out(folder, Work(str(trace.absolute()), whole["flops"], engine.part(whole), lines, tasks))
    job = ""
    try:
        with signals.held():
            job = batch.submit(to.batch.script(start), to)
        running.know(collect(folder, job, tasks, to, lambda done, of: None if quiet else _say(done, of)))
    except KeyboardInterrupt:
        if job:
            batch.cancel(job, to)
        raise
    shutil.rmtree(folder)


def run_task(folder: Path) -> None:
    """Does the work of one task. The scheduler puts the number of the task into the environment."""
    to = _find_scheduler()
    number = os.environ.get(to.batch.array.variable, "") if to.batch.array else ""
    if not number.isdecimal():
        raise UsageError(
            f"{SHARE} is only for the tasks that --submit starts, and this process is not such a task. Give a trace to "
            "replay."
        )
    answer_share(folder, int(number))


def lay_out(folder: Path, work: Work) -> None:
    """Writes the file with the work of the tasks."""
    files.write(folder / WORK, "The work of the tasks", json.dumps(asdict(work)))


def answer_share(folder: Path, task: int) -> None:
    """Answers the lines of a task on all its processors."""
    work = json.loads((folder / WORK).read_text(encoding="utf-8"))
    asked = work["part"]
    part = Part(asked["iterations"], asked["regions"] and tuple(asked["regions"]), asked["without_waits"])
    threads = len(os.sched_getaffinity(0))  # their number changes no answer
    with engine.start(Path(work["trace"]), describe(), work["flops"], part) as running:
        lines = work["lines"][task :: work["tasks"]]
        answers = {line: running.ask(re.sub(r"\bthreads=\d+", f"threads={threads}", line)) for line in lines}
    files.write(_name_answers_file(folder, task), "The answers of a task", json.dumps(answers))


def collect(folder: Path, job: str, tasks: int, to: BatchSystem, show: Callable[[int, int], None]) -> dict[str, Any]:
    """Waits for all tasks. MachineFailed, with its last lines of output, if a task ended without an answer."""
    assert to.batch.array
    idle, shown = 0.0, -1
    while missing := [task for task in range(tasks) if not _name_answers_file(folder, task).exists()]:
        if tasks - len(missing) != shown:
            show(shown := tasks - len(missing), tasks)
        idle = idle + PAUSE if to.batch.array.active(job, to.around.ask) == 0 else 0.0
        if idle > GRACE:
            raise MachineFailed(_explain_failure(folder, job, missing, to))
        to.around.sleep(PAUSE)
    show(tasks, tasks)
    answers: dict[str, Any] = {}
    for task in range(tasks):
        answers |= json.loads(_name_answers_file(folder, task).read_text(encoding="utf-8"))
    return answers


def _make_request(folder: Path, tasks: int, options: Sequence[str], to: BatchSystem) -> Request:
    """Returns the request of the array for the scheduler."""
    assert to.batch.array
    return Request(
        program=submit.find_program(),
        words=("whatif", SHARE, str(folder)),
        folder=folder,
        nodes=1,
        options=(*to.batch.array.words(folder, tasks), *options),
    )


def _say(done: int, of: int) -> None:
    print(f"steelyard: {done} of {of} tasks have answered", file=sys.stderr, flush=True)


def _name_answers_file(folder: Path, task: int) -> Path:
    return folder / f"answers-{task}.json"


def _explain_failure(folder: Path, job: str, missing: list[int], to: BatchSystem) -> str:
    outputs = [path for task in missing if (path := folder / f"task-{task}.err").exists()]
    last = "\n".join(outputs[0].read_text(encoding="utf-8", errors="replace").splitlines()[-LAST:]) if outputs else ""
    return (
        f"{plural(len(missing), 'task')} of {to.title} job {job} ended without an answer; the first is task {missing[0]}. Their "
        f"output is in '{folder}'. Check that the nodes can reach this folder and the trace under the same path.\n{last}"
    ).rstrip()


def _find_scheduler() -> BatchSystem:
    """Returns the scheduler of this machine. UsageError if Steelyard cannot use job arrays with it."""
    to = batch.system(None, batch.Around(listener=submit.Printed()))
    if not to.batch.array:
        raise UsageError(
            f"--submit needs Slurm, because it uses Slurm's job arrays. The scheduler of this machine is {to.title}."
        )
    return to
