"""The forms in which a run is printed: one screen, everything, or JSON of two sizes."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from steelyard.errors import UsageError
from steelyard.model import Evaluation

if TYPE_CHECKING:
    from steelyard.show.report.summary import Summary

Form = Literal["screen", "all", "json", "summary"]


def choose_form(everything: bool, as_json: bool) -> Form:
    """Returns the form of output that the options choose. UsageError if both are given."""
    if everything and as_json:
        raise UsageError("--all and --json cannot be used together. Choose one of them.")
    if everything:
        return "all"
    return "json" if as_json else "screen"


def is_short(form: Form) -> bool:
    """Returns whether the form needs only the summary of a run."""
    return form in ("screen", "summary")


def show_short(evaluation: "Evaluation | Summary", form: Form, report: Path | None, earlier: str = "") -> None:
    """Prints the screen, or the summary as JSON. The screen names the path `report`, and says what `earlier` does."""
    from steelyard.show.report import json_output, lines, screen, summary

    short = evaluation if isinstance(evaluation, summary.Summary) else screen.summarise(evaluation)
    if form == "summary":
        json_output.print_json(summary.as_json(short))
    else:
        screen.show(short, lines.console(), report, earlier)


def show(evaluation: Evaluation, form: Form, report: Path | None, short: "Summary | None" = None) -> None:
    """Prints the evaluation in the given form. The screen names the path `report`. `short`: its summary, if it was just made."""
    if is_short(form):
        from steelyard.show.command_line import earlier_runs  # with NumPy, which `steelyard show` does not wait for

        show_short(
            short or evaluation, form, report, earlier_runs.describe(short) if short and form == "screen" else ""
        )
    elif form == "json":
        from steelyard.show.report import export

        sys.stdout.writelines(export.parts(evaluation, "json"))
    else:
        from rich.console import Console

        from steelyard.show.report import terminal

        terminal.show(evaluation, Console())
