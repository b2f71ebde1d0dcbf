"""`steelyard show`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from steelyard.errors import UsageError
from steelyard.show.command_line import output_forms
from steelyard.show.command_line.options import All, Json, Paths, RunName, Runs, Strict

PLACE = 60


def command(
    name: RunName = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    all_: All = False,
    json_: Json = False,
    strict: Strict = False,
    samples: Annotated[
        bool,
        typer.Option("--samples", help="Add every case, record and sample to --json, as export --format json does."),
    ] = False,
) -> None:
    """Show a run on one screen: verdict, main figures, the most important findings. --all shows everything.

    --json prints a summary of less than 1 MB: verdicts, main figures, findings. --samples adds every case, record and sample.

    The exit code is 0 for any run that can be shown. With --strict, it is that of run --strict.

    Examples: **steelyard show** (the newest run) · **steelyard show --all | less -R**
    """
    from steelyard.measure import records

    if samples and not json_:
        raise UsageError("--samples adds every case, record and sample to the output of --json. Add --json.")
    asked = output_forms.choose_form(all_, json_)
    form: output_forms.Form = "summary" if asked == "json" and not samples else asked
    path = records.find(runs, name)
    report = path / "report.html"
    where = report if report.is_file() else None
    from steelyard.show.command_line.evaluated_run import find_summary, read

    if output_forms.is_short(form):
        output_forms.show_short(find_summary(path, paths or []), form, where)
        if not strict:
            return
    evaluation = read(path, paths or [])
    if not output_forms.is_short(form):
        output_forms.show(evaluation, form, where)
    if strict:
        from steelyard.show.command_line.conclusion import exit_code

        sys.exit(exit_code(evaluation, strict))
