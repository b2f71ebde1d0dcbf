"""What a run is printed as: one screen, everything, JSON, or NPB's own blocks."""

import json
from pathlib import Path
from typing import Literal

from steelyard.model import Evaluation

Form = Literal["screen", "all", "json", "npb"]


def show(judged: Evaluation, form: Form, report: Path | None) -> None:
    """Print the evaluation; `report` is the place that the screen names."""
    if form == "npb":
        from steelyard.benchmarks.application.npb.output import blocks

        print(blocks(judged), end="")
    elif form == "json":
        from steelyard.export import as_json

        print(json.dumps(as_json(judged), indent=1))
    elif form == "all":
        from rich.console import Console

        from steelyard.report import terminal

        terminal.show(judged, Console())
    else:
        from steelyard.report import lines, screen

        screen.show(judged, lines.console(), report)
