"""`steelyard whatif --submit`: the scenarios of a question go over the tasks of a batch array."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.commands import submit
from steelyard.errors import UsageError
from steelyard.launch import batch
from steelyard.launch.batch import BatchSystem
from steelyard.launch.scheduler import Request
from steelyard.words import plural

if TYPE_CHECKING:
    from steelyard.whatif import Question
    from steelyard.whatif.array import Work
    from steelyard.whatif.engine import Engine


def carry_out(folder: Path) -> None:
    """Does the work of one task. The scheduler puts the number of the task into the environment."""
    from steelyard.whatif import array

    to = _system()
    number = os.environ.get(to.batch.array.variable, "") if to.batch.array else ""
    if not number.isdecimal():
        raise UsageError(
            f"{array.SHARE} is only for the tasks that --submit starts, and this process is not such a task. Give a trace to "
            "replay."
        )
    array.carry_out(folder, int(number))


def answer(
    running: "Engine",
    questions: "Sequence[Question]",
    trace: Path,
    whole: Mapping[str, Any],
    tasks: int,
    options: Sequence[str],
    quiet: bool,
) -> None:
    """Lets the tasks answer the questions through a folder, which it removes; the engine then has the answers."""
    from steelyard.whatif import array, engine, question

    to = _system()
    batch.require(to)
    lines = tuple(line for asked in questions for _, line in question.lines(asked))
    tasks = min(tasks, len(lines))
    folder = Path(f"whatif-{datetime.now():%Y%m%d-%H%M%S}").absolute()
    start = array.request(folder, submit.find_program(), tasks, tuple(options), to)
    submit.refuse(start, to)
    folder.mkdir()
    if not quiet:
        print(
            f"Submitting {len(lines)} parts in {plural(tasks, 'task')} to {to.title}. Folder: {folder}",
            file=sys.stderr,
        )
    work = array.Work(str(trace.absolute()), whole["flops"], engine.part(whole), lines, tasks)
    _ask(running, folder, work, start, to, quiet)


def _ask(running: "Engine", folder: Path, work: "Work", start: Request, to: BatchSystem, quiet: bool) -> None:
    from steelyard.whatif import array

    last = -1

    def show(done: int, of: int) -> None:
        nonlocal last
        if done != last and not quiet:
            print(f"steelyard: {done} of {of} tasks have answered", file=sys.stderr, flush=True)
        last = done

    running.know(array.run_array(folder, work, start, to, show))
    shutil.rmtree(folder)


def _system() -> BatchSystem:
    """Returns the scheduler of this machine. UsageError if Steelyard cannot use job arrays with it."""
    to = batch.system(None, batch.Around(listener=submit.Printed()))
    if not to.batch.array:
        raise UsageError(
            f"--submit needs Slurm, because it uses Slurm's job arrays. The scheduler of this machine is {to.title}."
        )
    return to
