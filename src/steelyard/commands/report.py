"""`steelyard report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from steelyard.model import Factors

from steelyard.command_line.options import Paths, RunName, Runs

PLACE = 70


def command(
    name: RunName = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="HTML file to write, such as node17.html (default: report.html in the run's folder).",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="RUN",
            help="Compare the node benchmarks with a run of another system, such as 20261120-101500 (default: none).",
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
            help="Folder for the figures as files, such as plots, instead of the report (default: write the report).",
        ),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="Format of the figures: svg or pdf (default: svg).")
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
) -> None:
    """Write the HTML report of a run again: one file that needs no network.

    Examples: **steelyard report --output node17.html** · **steelyard report node17 --against node3** ·
    **steelyard report --trace lu-2 --trace lu-4** (made by steelyard trace) · **steelyard report --figures plots --format pdf**
    """
    from steelyard import files, records
    from steelyard.command_line import conclusion
    from steelyard.compare import modes
    from steelyard.errors import UsageError, spelled
    from steelyard.words import plural

    if form and not figures:
        raise UsageError(f"The format '{form}' (given by --format) applies only to figures. Add --figures FOLDER.")
    if figures and output:
        raise UsageError(
            "--output and --figures cannot be used together. Write the report and the figures with two commands."
        )

    if output:
        files.expect_output(output, "The report")
    base = modes.find_base(runs, against) if against else None
    path = records.find(runs, name)
    factors = _read_factors(traces) if traces else ()
    if figures:
        written = conclusion.write_figures(path, paths or [], figures, form or "svg", base, factors)
        print(f"{plural(len(written), 'figure')}: {spelled(str(figures))}")
        return
    print(spelled(str(conclusion.write_report(path, paths or [], output, base, factors))))


def _read_factors(traces: list[Path]) -> "tuple[Factors, ...]":
    from steelyard import doors
    from steelyard.errors import UsageError
    from steelyard.machine import describe

    readers = doors.modules(doors.TRACES)
    if not readers:
        raise UsageError(
            "This installation cannot read traces (given by --trace). Install Steelyard with its folder whatif."
        )
    machine = describe()
    # Our own reader, the last, says why it cannot read a trace that none accepts.
    return tuple((doors.trace_reader(trace) or readers[-1]).factors(trace, machine) for trace in traces)
