"""`steelyard list`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from steelyard.show.command_line.completion import complete_benchmark
from steelyard.show.command_line.options import Json, Paths, Runs

PLACE = 50


def command(
    benchmark: Annotated[
        str | None,
        typer.Argument(
            metavar="BENCHMARK",
            autocompletion=complete_benchmark,
            help="Benchmark or group whose parameters are listed, such as memory.stream (default: all benchmarks and runs).",
        ),
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    json_: Json = False,
) -> None:
    """List the benchmarks, the published systems, and the runs with their verdicts; or the parameters of one benchmark.

    Examples: **steelyard list** · **steelyard list memory.stream** (its parameters, for --set) · **steelyard list --json**
    """
    if benchmark is not None:
        _show_parameters(benchmark, paths or [], json_)
        return
    from importlib.metadata import entry_points

    from steelyard.measure import records
    from steelyard.measure.benchmarks import texts
    from steelyard.show.command_line import tables

    benchmarks = list(texts.list_own().values())
    if paths or entry_points(group="steelyard.benchmarks"):
        from steelyard.measure.plan import catalogue

        benchmarks = catalogue.listed(paths or [])
    tables.print_lists(benchmarks, records.all_runs(runs), json_)


def _show_parameters(benchmark: str, paths: Sequence[Path], as_json: bool) -> None:
    from steelyard.measure import machine
    from steelyard.measure.plan import catalogue
    from steelyard.show.command_line import parameter_table

    chosen = catalogue.choose(catalogue.find(paths), [benchmark], given="")
    parameter_table.show(chosen.values(), machine.describe(), as_json)
