"""`steelyard report`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.show.command_line.completion import complete_benchmark, complete_side
from steelyard.show.command_line.options import Baseline, Groups, Paths, Price, Runs

PLACE = 70


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SIDE]...",
            autocompletion=complete_side,
            help="Run (its id or folder), or with several names also a published system (default: the newest run).",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="HTML file to write, such as node17.html (default: report.html in the first run's folder).",
        ),
    ] = None,
    groups: Groups = None,
    baseline: Baseline = None,
    price: Price = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against", metavar="SIDE", help="Further side, such as 20261120-101500; the same as a further name."
        ),
    ] = None,
    traces: Annotated[
        list[Path] | None,
        typer.Option(
            "--trace",
            metavar="FOLDER",
            help="Trace that steelyard trace wrote, such as lu-2 (default: none). "
            "The page Scaling then shows why efficiency is lost.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Show only this benchmark or group, such as memory.stream, in the file --output (default: all of the runs).",
            autocompletion=complete_benchmark,
        ),
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
) -> None:
    """Write the HTML report of a run again, or of several runs, groups of runs and published systems side by side.

    The report is one file that needs no network. With several sides, each figure has a line for each side, and the page
    Comparison has all values with their ratios. With six sides or more, it begins with the rank of the first one.

    Examples: **steelyard report --output node17.html** · **steelyard report node17 node3 "4x AMD 8350 Barcelona"** ·
    **steelyard report --group old='runs/2025*' --group new='runs/2026*'** ·
    **steelyard report small large --price small=0.096/h --price large=0.768/h --price energy=0.30/kWh**
    (also for the same money) ·
    **steelyard report --trace lu-2 --trace lu-4** (made by steelyard trace) ·
    **steelyard report node17 --only memory --output memory.html**
    """
    import sys

    from steelyard.compare import prices
    from steelyard.errors import UsageError, one_line
    from steelyard.measure import records
    from steelyard.show.command_line import conclusion, report_sides
    from steelyard.system import files

    if only and not output:
        raise UsageError("A report of some benchmarks needs a file of its own. Give it with --output FILE.")
    if output:
        files.expect_output(output, "The report")
    if against:
        names = [*(names or [str(records.find(runs, None))]), *against]
    evaluation, sides = report_sides.read_report(
        names or [], groups or [], baseline, runs, paths or [], traces or [], price or [], only or []
    )
    print(one_line(str(conclusion.write_report(evaluation, output, sides))))
    if price and sides and (unused := prices.explain_unused(price, sides.judged.comparison.machines)):
        print(f"steelyard: {unused}", file=sys.stderr)
