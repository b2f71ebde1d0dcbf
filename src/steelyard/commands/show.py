"""`steelyard show`."""

from pathlib import Path

from steelyard.commands import forms
from steelyard.commands.options import All, Json, NpbOutput, Paths, RunName, Runs


def command(
    name: RunName = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    all_: All = False,
    json_: Json = False,
    npb_output: NpbOutput = False,
) -> None:
    """Show a run on one screen: verdict, main figures, the findings that matter most; with --all everything.

    Examples: **steelyard show** (the newest run) · **steelyard show --all | less -R** ·
    **steelyard show --npb-output** (for scripts that read NPB's output)
    """
    from steelyard import records
    from steelyard.commands import outcome

    form = forms.one(all_, json_, npb_output)
    outcome.present(records.find(runs, name), paths or [], form)
