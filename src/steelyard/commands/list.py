"""`steelyard list`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.commands.completion import complete_benchmark
from steelyard.commands.options import Json, Paths, Runs


def command(
    benchmark: Annotated[
        str | None,
        typer.Argument(
            metavar="[BENCHMARK]",
            autocompletion=complete_benchmark,
            help="Benchmark or group whose parameters are listed, as memory.stream (default: list all benchmarks and runs).",
        ),
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    json_: Json = False,
) -> None:
    """List the benchmarks, the runs and the published systems; or the parameters of a benchmark.

    Examples: **steelyard list** · **steelyard list memory.stream** (its parameters, for --set) · **steelyard list --json**
    """
    from steelyard import records
    from steelyard.commands import tables
    from steelyard.plan import catalogue

    benchmarks = catalogue.find(paths or [])
    if benchmark is None:
        tables.everything(benchmarks, records.all_runs(runs), json_)
        return
    from steelyard import machine
    from steelyard.commands import parameter_table

    parameter_table.show(catalogue.choose(benchmarks, [benchmark]).values(), machine.describe(), json_)
