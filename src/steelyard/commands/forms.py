"""What a run is printed as: one screen, everything, JSON, or NPB's own blocks."""

import json
from pathlib import Path
from typing import Literal

from steelyard.errors import UsageError
from steelyard.model import Evaluation

Form = Literal["screen", "all", "json", "npb"]


def one(everything: bool, as_json: bool, npb_output: bool = False) -> Form:
    """Which form of output is asked for. UsageError where several are."""
    asked = {"--all": everything, "--json": as_json, "--npb-output": npb_output}
    named = [option for option, given in asked.items() if given]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are forms of the same output: choose one.")
    forms: dict[str, Form] = {"--all": "all", "--json": "json", "--npb-output": "npb"}
    return forms[named[0]] if named else "screen"


def show(judged: Evaluation, form: Form, report: Path | None) -> None:
    """Print the evaluation; `report` is the place that the screen names."""
    if form == "npb":
        from steelyard.benchmarks.application.npb.output import blocks

        print(blocks(judged), end="")
    elif form == "json":
        from steelyard.report.export import as_json

        print(json.dumps(as_json(judged), indent=1))
    elif form == "all":
        from rich.console import Console

        from steelyard.report import terminal

        terminal.show(judged, Console())
    else:
        from steelyard.report import lines, screen

        screen.show(judged, lines.console(), report)
