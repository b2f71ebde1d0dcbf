"""What a run is printed as: one screen, everything, or JSON of two sizes."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from steelyard.errors import UsageError
from steelyard.model import Evaluation

if TYPE_CHECKING:
    from steelyard.report.summary import Summary

Form = Literal["screen", "all", "json", "summary"]


def one(everything: bool, as_json: bool) -> Form:
    """Which form of output is asked for. UsageError where both are."""
    if everything and as_json:
        raise UsageError("--all and --json are forms of the same output: choose one.")
    if everything:
        return "all"
    return "json" if as_json else "screen"


def is_short(form: Form) -> bool:
    """Whether a summary of the run is all that the form shows."""
    return form in ("screen", "summary")


def show_short(judged: "Evaluation | Summary", form: Form, report: Path | None) -> None:
    """Print the screen, or the summary as JSON; `report` is the place that the screen names."""
    from steelyard.report import lines, screen, summary

    if form == "summary":
        of = judged if isinstance(judged, summary.Summary) else summary.summarised(judged)
        print(json.dumps(summary.as_json(of), indent=1))
    else:
        screen.show(judged, lines.console(), report)


def show(judged: Evaluation, form: Form, report: Path | None) -> None:
    """Print the evaluation; `report` is the place that the screen names."""
    if is_short(form):
        show_short(judged, form, report)
    elif form == "json":
        from steelyard.report import export

        sys.stdout.writelines(export.parts(judged, "json"))
    else:
        from rich.console import Console

        from steelyard.report import terminal

        terminal.show(judged, Console())
