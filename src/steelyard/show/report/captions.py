"""The captions of figures in papers: what is drawn, from how many launches, with which interval, on which machine."""

import re
from collections.abc import Sequence

from steelyard.compare.side import Side
from steelyard.model import Evaluation, Result
from steelyard.model.words import few, joined, plural
from steelyard.show.report.citation import name_machine, reference
from steelyard.show.report.drawing import Drawn
from steelyard.show.report.sides_of_report import ReportSides
from steelyard.show.report.verdict_marks import LEGEND
from steelyard.statistics.validity.trust import ORDER

# The parts of a note that name other places of the report, or kinds of evidence that its table explains.
_ELSEWHERE = re.compile(
    r" (?:The table of results shows all the evidence|See the table|Move the pointer to a mark to see its name)\."
    r"| \((?:most often: )?[a-z ]+(?: \d+)?(?:, [a-z ]+(?: \d+)?)*\)(?=\.)"
)
_TABLE = "Some results of this benchmark are "


def describe(figure: Drawn, benchmark: str, evaluation: Evaluation | None, sides: ReportSides | None = None) -> str:
    """Returns the caption of a figure. `benchmark` is "" for a figure that is not of one benchmark."""
    of_benchmark = [r for r in evaluation.results if r.benchmark == benchmark] if evaluation else []
    notes = [note for note in figure.notes if not note.startswith(_TABLE)]
    levels = [level for level in ORDER if any(f" {level}" in note for note in notes)]
    parts = (
        _end(figure.title),
        *(_ELSEWHERE.sub("", text) for text in (figure.caption, *notes)),
        *(f"{level}: {LEGEND[level]}." for level in levels if level in LEGEND),
        _describe_values(figure, of_benchmark),
        _name(evaluation, sides),
    )
    return " ".join(" ".join(filter(None, parts)).split())


def _end(title: str) -> str:
    return title if title.endswith((".", "!", "?")) else f"{title}."


def _describe_values(figure: Drawn, results: Sequence[Result]) -> str:
    """Returns how many launches a value is the median of, and what its bar or band shows."""
    counts = sorted({len(r.times) for r in results if r.times})
    if not counts:
        return ""
    launches = f"{counts[0]} to {counts[-1]} launches" if len(counts) > 1 else plural(counts[0], "launch")
    has_ranges = "error_y" in figure.plot or '"band"' in figure.plot
    ranges = " The bars and bands show 95 % intervals." if has_ranges and "95 %" not in figure.caption else ""
    return f"Each value is the median of {launches}.{ranges}"


def _name(evaluation: Evaluation | None, sides: ReportSides | None) -> str:
    """Returns what was measured: the machine and its run, or all sides."""
    if sides and len(sides.sides) > 1:
        named = (f"{side.name} ({_name_runs(side) or side.kind})" for side in sides.sides)
        return f"Sides: {joined(named)}."
    run = evaluation.run if evaluation else None
    return f"{name_machine(run)}, {reference(run.id, run.path)}." if run else ""


def _name_runs(side: Side) -> str:
    return joined(few([reference(run.run, run.path) for run in side.runs if run.path], "run"))
