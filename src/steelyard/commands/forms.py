"""What a run is printed as: one screen, everything, JSON of two sizes, or NPB's own blocks."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from steelyard.errors import UsageError
from steelyard.model import Evaluation

if TYPE_CHECKING:
    from steelyard.report.summary import Summary

Form = Literal["screen", "all", "json", "summary", "npb"]


def one(everything: bool, as_json: bool, npb_output: bool = False) -> Form:
    """Which form of output is asked for. UsageError where several are."""
    asked = {"--all": everything, "--json": as_json, "--npb-output": npb_output}
    named = [option for option, given in asked.items() if given]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are forms of the same output: choose one.")
    forms: dict[str, Form] = {"--all": "all", "--json": "json", "--npb-output": "npb"}
    return forms[named[0]] if named else "screen"


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
    elif form == "npb":
        from steelyard.benchmarks.application.npb.output import blocks

        print(blocks(judged), end="")
    elif form == "json":
        from steelyard.report import export

        sys.stdout.writelines(export.parts(judged, "json"))
    else:
        from rich.console import Console

        from steelyard.report import terminal

        terminal.show(judged, Console())
