"""`steelyard report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from steelyard.compare.side import Side
    from steelyard.model import Evaluation, Factors
    from steelyard.show.report.sides_of_report import ReportSides

from steelyard.show.command_line.completion import complete_side
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
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            metavar="FOLDER",
            help="Folder for the figures as files, such as plots, instead of the report (default: write the report). "
            "Those of several sides have titles with the result.",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="Format of the figures: svg, pdf or png (default: svg)."),
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(
            "--width",
            metavar="LENGTH",
            help="Width of the figures, such as 85mm, 8.5cm, 3.3in or 240pt (default: 170mm).",
        ),
    ] = None,
    height: Annotated[
        str | None,
        typer.Option(
            "--height",
            metavar="LENGTH",
            help="Height of the figures, such as 60mm (default: by content). A long legend adds to it.",
        ),
    ] = None,
    letters: Annotated[
        float | None,
        typer.Option(
            "--font-size",
            metavar="POINTS",
            min=3,
            max=48,
            help="Size of the letters in the figures, such as 7 (default: 8).",
        ),
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
) -> None:
    """Write the HTML report of a run again, or of several runs, groups of runs and published systems side by side.

    The report is one file that needs no network. With several sides, each figure has a line for each side, and the page
    Comparison has all values with their ratios.

    Examples: **steelyard report --output node17.html** · **steelyard report node17 node3 "4x AMD 8350 Barcelona"** ·
    **steelyard report --group old='runs/2025*' --group new='runs/2026*'** ·
    **steelyard report small large --price small=0.096/h --price large=0.768/h --price energy=0.30/kWh**
    (also for the same money) ·
    **steelyard report --trace lu-2 --trace lu-4** (made by steelyard trace) · **steelyard report --figures plots --format pdf
    --width 85mm**
    """
    import sys

    from steelyard.compare import prices
    from steelyard.errors import UsageError, one_line
    from steelyard.measure import records
    from steelyard.model.words import plural
    from steelyard.show.command_line import conclusion
    from steelyard.system import files

    if not figures and (form or width or height or letters):
        raise UsageError(
            "--format, --width, --height and --font-size apply only to figures as files. Add --figures FOLDER."
        )
    if figures and output:
        raise UsageError(
            "--output and --figures cannot be used together. Write the report and the figures with two commands."
        )
    if output:
        files.expect_output(output, "The report")
    if against:
        names = [*(names or [str(records.find(runs, None))]), *against]
    evaluation, sides = _read(names or [], groups or [], baseline, runs, paths or [], traces or [], price or [])
    if figures:
        from steelyard.show.report import figure_files
        from steelyard.show.report.pictures import read_size

        size = read_size(width or "170mm", height, letters or 8)
        written = figure_files.write(evaluation, figures, form or "svg", size, sides)
        print(f"{plural(len(written), 'figure')}: {one_line(str(figures))}")
    else:
        print(one_line(str(conclusion.write_report(evaluation, output, sides))))
    if price and sides and (unused := prices.explain_unused(price, sides.judged.comparison.machines)):
        print(f"steelyard: {unused}", file=sys.stderr)


def _read(
    names: list[str],
    groups: list[str],
    baseline: str | None,
    runs: Path,
    paths: list[Path],
    traces: list[Path],
    prices: list[str],
) -> "tuple[Evaluation | None, ReportSides | None]":
    """Returns the run that the report shows, and all sides if there are several."""
    from dataclasses import replace

    from steelyard.errors import UsageError
    from steelyard.measure import records
    from steelyard.show.command_line import report_sides
    from steelyard.show.command_line.evaluated_run import read
    from steelyard.show.command_line.sides import find_named, put_first, read_sides

    factors = _read_factors(traces) if traces else ()
    reader = report_sides.RunReader(paths)
    if len(names) <= 1 and not groups:
        only = find_named(names[0], runs) if names else records.find(runs, None)
        if isinstance(only, Path):
            single = (
                f"The baseline '{baseline}' (given by --baseline)"
                if baseline
                else f"--price {prices[0]}"
                if prices
                else ""
            )
            if single:
                raise UsageError(f"{single} needs at least two sides. Name the runs to compare.")
            return replace(read(only, paths), traces=factors), None
        chosen: tuple[Side, ...] = (only,)
    else:
        chosen = read_sides(names, groups, runs, paths, reader.read)
    sides = report_sides.compare(put_first(chosen, names, baseline), reader, prices)
    if sides.own is None:
        if traces:
            raise UsageError("--trace needs a run, but all sides are published systems. Name a run, or omit --trace.")
        return None, sides
    return replace(reader.evaluate(sides.sides[sides.own].runs[-1]), traces=factors), sides


def _read_factors(traces: list[Path]) -> "tuple[Factors, ...]":
    from steelyard import doors
    from steelyard.errors import UsageError
    from steelyard.measure.machine import describe

    readers = doors.modules(doors.TRACES)
    if not readers:
        raise UsageError(
            "This installation cannot read traces (given by --trace). Install Steelyard with its folder whatif."
        )
    machine = describe()
    # Our own reader, the last, says why it cannot read a trace that none accepts.
    return tuple((doors.trace_reader(trace) or readers[-1]).factors(trace, machine) for trace in traces)
