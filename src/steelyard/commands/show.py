"""`steelyard show`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.commands import forms
from steelyard.commands.options import All, Json, Paths, RunName, Runs
from steelyard.errors import UsageError


def command(
    name: RunName = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    all_: All = False,
    json_: Json = False,
    samples: Annotated[
        bool, typer.Option("--samples", help="With --json: every case, record and sample, as export --format json.")
    ] = False,
) -> None:
    """Show a run on one screen: verdict, main figures, the findings that matter most; with --all everything.

    --json prints a summary below 1 MB: verdicts, main figures, findings. --samples adds every case, record and sample.

    Examples: **steelyard show** (the newest run) · **steelyard show --all | less -R**
    """
    from steelyard import records
    from steelyard.commands import stored

    if samples and not json_:
        raise UsageError("--samples needs --json: it adds every case, record and sample to that form.")
    asked = forms.one(all_, json_)
    form: forms.Form = "summary" if asked == "json" and not samples else asked
    path = records.find(runs, name)
    report = path / "report.html"
    where = report if report.is_file() else None
    if forms.is_short(form):
        forms.show_short(stored.summary(path, paths or []), form, where)
        return
    from steelyard.commands.evaluated import read

    forms.show(read(path, paths or []), form, where)
