"""A run beside the earlier runs of the same machine, which lie in the same folder."""

import shlex
from itertools import islice
from pathlib import Path

from steelyard.errors import one_line
from steelyard.model.units import percent
from steelyard.model.words import joined, plural
from steelyard.show.command_line.evaluated_run import list_beside
from steelyard.show.report.summary import Summary, list_values

MOST, MOST_READ = 10, 50  # earlier runs that count, and folders that are looked at, the newest first


def describe(run: Summary) -> str:
    """Returns whether the main figures are as in earlier runs, in words; "" with fewer than five, or for an import."""
    if run.condition.foreign or not run.figures:
        return ""
    before = (one for one in list_beside(run, MOST_READ) if one.started < run.started)
    earlier = list(islice(before, MOST))
    if not earlier:
        return ""
    from steelyard.statistics.difference.newest import LEAST, are_unusual, judge_newest

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
        for (figure, newest), is_unusual in zip(judged, are_unusual([newest for _, newest in judged]), strict=True)
        if is_unusual
    ]
    found = f"{joined(unusual)} than" if unusual else f"{plural(len(judged), 'figure')} as"
    command = f"steelyard history --runs {shlex.quote(one_line(str(Path(run.path).parent)))}"
    return f"{found} in the {plural(len(earlier), 'run')} before. All values: {command}"
