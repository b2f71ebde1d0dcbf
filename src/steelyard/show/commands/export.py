"""`steelyard export`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from steelyard.show.command_line.completion import complete_benchmark
from steelyard.show.command_line.options import Paths, Runs, output_option

PLACE = 80


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="Id or folder of a run, or a trace that steelyard trace or another tool wrote (default: the newest run).",
        ),
    ] = None,
    form: Annotated[
        str,
        output_option(
            "--format",
            metavar="FORMAT",
            help="Format: json, csv, parquet, markdown, latex, reframe-log, reframe-report or openmetrics; for a trace "
            "ti, goal, prv, perfetto or parquet.",
        ),
    ] = "json",
    output: Annotated[
        Path | None,
        output_option(
            "--output",
            "-o",
            metavar="PATH",
            help="File to write, such as run.csv (default: standard output). The traces ti, prv and parquet need a new folder.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        output_option(
            "--only",
            metavar="NAME",
            help="Export only this benchmark or group, such as memory.stream (default: all of the run).",
            autocompletion=complete_benchmark,
        ),
    ] = None,
    main: Annotated[
        bool,
        output_option("--main", help="Export only the main figures of the run; markdown and latex: one table."),
    ] = False,
    runs: Runs = Path("runs"),
    paths: Paths = None,
) -> None:
    """Export a run for spreadsheets, data frames, scripts, papers and other tools, or a trace for other tools.

    Examples: **steelyard export --format csv > run.csv** · **steelyard export --format latex --main -o table.tex** ·
    **steelyard export --format openmetrics --only memory.stream** · **steelyard export --format reframe-report -o report.json** ·
    **steelyard export cg --format goal -o cg.goal** · **steelyard export cg --format prv -o cg-paraver** ·
    **steelyard export cg --format parquet -o cg-table**
    """
    from steelyard import doors
    from steelyard.errors import UsageError, nearest
    from steelyard.measure import records
    from steelyard.show.command_line import conclusion
    from steelyard.show.report import export
    from steelyard.system import files

    if name and (traces := doors.trace_reader(Path(name))):
        if only or main:
            raise UsageError("A trace is exported as a whole. Leave out --only and --main.")
        _export_trace(traces, Path(name), form, output)
        return
    if form not in export.FORMATS:
        raise UsageError(f"A run cannot be exported as '{form}' (given by --format). {nearest(form, export.FORMATS)}")
    if output:
        files.expect_output(output, export.WHAT)
    run = conclusion.read(records.find(runs, name), paths or [])
    run = export.select(run, only or [], main and form not in export.DOCUMENTS)
    if output is None and form != "parquet":
        sys.stdout.writelines(export.parts(run, form, main))
    else:
        export.write(run, form, output, main)


def _export_trace(traces: Any, trace: Path, form: str, output: Path | None) -> None:
    from steelyard.errors import UsageError, nearest
    from steelyard.measure.machine import describe
    from steelyard.model.words import plural

    if form not in traces.FORMATS:
        raise UsageError(f"A trace has no format '{form}' (given by --format). {nearest(form, traces.FORMATS)}")
    if not output:
        raise UsageError("The export of a trace needs --output. Give a file, or a new folder for ti, prv and parquet.")
    exported = traces.export(trace, form, output, describe())
    if exported.apart:
        print(
            f"steelyard: {plural(exported.apart, 'wait')} for several receives became waits for one receive each, because TI "
            "has no wait for some of the open receives. The times of a replay may differ a little.",
            file=sys.stderr,
        )
