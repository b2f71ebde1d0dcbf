"""A run beside the earlier runs of the same machine, which lie in the same folder."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from steelyard.errors import SteelyardError, one_line
from steelyard.measure import records
from steelyard.model.units import percent
from steelyard.model.words import joined, plural
from steelyard.show.command_line.evaluated_run import read_summary
from steelyard.show.report.summary import Summary, list_values

MOST, MOST_READ = 10, 50  # earlier runs that count, and folders that are looked at, the newest first
UNUSUAL = 0.05  # chance that any figure of a usual run is called unusual


def describe(run: Summary) -> str:
    """Returns whether the main figures are as in earlier runs, in words; "" with fewer than five, or for an import."""
    if run.condition.foreign or not run.figures:
        return ""
    earlier = list(_find_earlier(run))
    if not earlier:
        return ""
    from steelyard.statistics.difference.newest import LEAST, judge_newest

    if len(earlier) < LEAST:
        return ""
    values = [list_values(one) for one in reversed(earlier)]
    judged = [
        (figure, newest)
        for key, (figure, value) in list_values(run).items()
        if (newest := judge_newest([*(of[key][1] for of in values if key in of), value]))
    ]
    if not judged:
        return ""
    unusual = [
        f"{figure.title} is {percent(abs(newest.ratio - 1), 1)} {'higher' if newest.ratio > 1 else 'lower'}"
        for figure, newest in judged
        if not newest.is_usual and newest.p < UNUSUAL / len(judged)
    ]
    found = f"{joined(unusual)} than" if unusual else f"{plural(len(judged), 'figure')} as"
    command = f"steelyard history --runs {shlex.quote(one_line(str(Path(run.path).parent)))}"
    return f"{found} in the {plural(len(earlier), 'run')} before. All values: {command}"


def _find_earlier(run: Summary) -> Iterator[Summary]:
    """Yields the runs of this machine before the run, the newest first, if their summaries are stored."""
    path, count = Path(run.path), 0
    for folder in reversed(records.all_runs(path.resolve().parent)[-MOST_READ:]):
        try:
            found = read_summary(folder, ())
        except (OSError, SteelyardError):
            continue
        if found and found[0].machine.host == run.machine.host and found[0].started < run.started:
            yield found[0]
            count += 1
            if count == MOST:
                return
