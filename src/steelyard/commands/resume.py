"""`steelyard resume`."""

from pathlib import Path

from steelyard.commands import forms
from steelyard.commands.options import All, Json, Paths, Quiet, RunName, Runs


def command(
    name: RunName = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    all_: All = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run that was interrupted or killed; nothing that was finished is measured again.

    Example: **steelyard resume 20261120-101500**
    """
    from steelyard import records
    from steelyard.commands import outcome
    from steelyard.run import session

    form = forms.one(all_, json_)
    outcome.conclude(session.go_on(records.find(runs, name), paths or [], quiet), paths or [], None, form)
