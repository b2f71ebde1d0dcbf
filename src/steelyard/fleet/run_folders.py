"""The folders of runs that a user means: runs, and folders that contain runs."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from steelyard.errors import SteelyardError, UsageError, one_line
from steelyard.measure import records
from steelyard.show.command_line.evaluated_run import find_older_summary, read_summary
from steelyard.show.command_line.progress_line import Line
from steelyard.show.report.summary import Summary
from steelyard.system.copies import open_copies

MANY = 8  # runs without a summary, from which on processes judge them side by side

Answer = tuple[Summary, bool] | str  # a summary, and whether an earlier version made it; or why there is none


def find(names: Sequence[str], runs: Path) -> list[Path]:
    """Returns the folder of each run once, in their order. UsageError for a name that leads to none."""
    if not names:
        found = records.all_runs(runs)
        if not found:
            raise UsageError(f"There are no runs in '{one_line(str(runs))}'. Give a folder of runs, or --runs FOLDER.")
        return found
    folders: dict[Path, Path] = {}
    for name in names:
        inside = records.all_runs(Path(name)) if not (Path(name) / "run.json").is_file() else []
        for folder in inside or [records.find(runs, name)]:
            folders.setdefault(folder.resolve(), folder)
    return list(folders.values())


def read_summaries(folders: Sequence[Path], paths: Sequence[Path], *, quiet: bool) -> list[Answer]:
    """Returns the summary of each run, also one of an earlier version. Runs without one are judged, with progress."""
    with Line(quiet) as line:
        answers: dict[Path, Answer] = {}
        for number, folder in enumerate(folders, 1):
            line.show(f"Reading run {number} of {len(folders)}")
            if stored := read_summary(folder, paths):
                answers[folder] = stored
        left = [folder for folder in folders if folder not in answers]
        began = time.monotonic()
        for number, (folder, answer) in enumerate(_judge(left, paths), 1):
            answers[folder] = answer
            seconds = (time.monotonic() - began) / number * (len(left) - number)
            line.show(f"Judging runs: {number} of {len(left)} done", seconds)
    return [answers[folder] for folder in folders]


def _judge(folders: Sequence[Path], paths: Sequence[Path]) -> Iterator[tuple[Path, Answer]]:
    """Yields each run with its summary, judged in a process for each processor if there are many."""
    processors = len(os.sched_getaffinity(0))
    if len(folders) < MANY or processors < 2:
        yield from ((folder, _judge_one(folder, paths)) for folder in folders)
        return
    from concurrent.futures import as_completed
    from concurrent.futures.process import BrokenProcessPool

    from steelyard.judge import evaluation  # noqa: F401 (loaded once, and not in each process)
    from steelyard.show.report import summarised_run  # noqa: F401

    left = set(folders)
    with open_copies(processors) as pool:
        try:
            futures = {pool.submit(_judge_one, folder, paths): folder for folder in folders}
            for future in as_completed(futures):
                folder, answer = futures[future], future.result()
                left.discard(folder)
                yield folder, answer
        except BrokenProcessPool:  # a process was killed, for example for lack of memory
            yield from ((folder, _judge_one(folder, paths)) for folder in folders if folder in left)


def _judge_one(folder: Path, paths: Sequence[Path]) -> Answer:
    try:
        return find_older_summary(folder, paths)
    except SteelyardError as error:
        return one_line(str(error)).rstrip(".")
