"""`steelyard list`."""

from pathlib import Path

from steelyard.commands.options import Json, Paths, Runs


def command(runs: Runs = Path("runs"), paths: Paths = None, json_: Json = False) -> None:
    """List the benchmarks and the runs.

    Example: **steelyard list --json**
    """
    from steelyard import records
    from steelyard.commands import tables
    from steelyard.plan import catalogue

    tables.everything(catalogue.find(paths or []), records.all_runs(runs), json_)
