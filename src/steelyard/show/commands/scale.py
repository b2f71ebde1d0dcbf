"""`steelyard scale`: a sweep over counts of threads, ranks or nodes, which is an ordinary run, and its scaling laws."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from steelyard.model import Evaluation
from steelyard.show.command_line.options import OutputOptions, PlanOptions, RunOptions, work_option
from steelyard.show.command_line.output_forms import Form

PLACE = 20


def command(
    *,
    benchmark: Annotated[
        str, typer.Argument(metavar="BENCHMARK", help="Benchmark to measure, such as application.npb_cg.")
    ],
    over: Annotated[
        str | None,
        work_option(
            "--over",
            metavar="WHAT",
            help="Parameter that grows: threads, ranks, nodes or ranks_per_node (default: threads and ranks, as far as the "
            "benchmark has them).",
        ),
    ] = None,
    counts: Annotated[
        str | None,
        work_option(
            "--counts",
            metavar="N,N…",
            help="Counts to compare, such as 1,2,8 (default: 1, 2, 4 … up to all processors).",
        ),
    ] = None,
    weak: Annotated[
        bool,
        work_option(
            "--weak",
            help="Increase the work in proportion to the count: weak scaling (default: the same work for all counts).",
        ),
    ] = False,
    asked: PlanOptions,
    new: RunOptions,
    output: OutputOptions,
) -> None:
    """Measure how a benchmark scales: speed-up, efficiency, serial fraction, scaling laws, and how many cores are worth it.

    This is an ordinary run: **steelyard resume** can continue it. All other parameters have one value each: for sizes, the
    largest value of the preset. Choose other values with --set.

    Examples: **steelyard scale application.npb_cg --set class=A** · **steelyard scale node.vector --weak --counts 1,2,4** ·
    **steelyard scale cluster.flops --over nodes --hosts node1:4,node2:4**
    """
    from steelyard.measure.plan import sweep
    from steelyard.measure.run import session
    from steelyard.show import report as reports
    from steelyard.show.command_line import conclusion
    from steelyard.show.command_line.progress import Console
    from steelyard.show.command_line.request import read_request

    form, screen, paths = output.form, Console(output.quiet), asked.paths or []
    wanted = sweep.wanted(benchmark, over, counts, weak, paths)
    request = replace(read_request(asked, [benchmark], new.wait), shape=sweep.shape(wanted, paths))
    path = session.start(request, new.runs, screen, name=new.name)
    with screen.working("Evaluating the run and writing the report"):
        evaluation = conclusion.read(path, paths)
        report_path = reports.write(evaluation, new.report or path / "report.html")
    _conclude(evaluation, report_path, form, output.strict)


def _conclude(evaluation: Evaluation, report_path: Path, form: Form, strict: bool) -> None:
    """Prints the scaling of a run and the path of its report, and exits with the run's code."""
    from rich.console import Console

    from steelyard.show.command_line import conclusion
    from steelyard.show.report import json_output, lines, scaling_rows, screen
    from steelyard.statistics.results.sweeps import sweeps

    measured_sweeps = sweeps(evaluation)
    if form == "json":
        sweeps_as_json = scaling_rows.as_json(measured_sweeps)
        json_output.print_json({"run": evaluation.run.id, "report": str(report_path), "sweeps": sweeps_as_json})
    elif form == "all":
        scaling_rows.show(measured_sweeps, Console())
    else:
        console = lines.console()
        screen.printed(
            screen.screen(evaluation, console.width, report_path, scaling_rows.brief(measured_sweeps, console.width)),
            console,
        )
    if not measured_sweeps:
        print("steelyard: Fewer than two counts gave results, so there is nothing to compare.", file=sys.stderr)
    for reason in dict.fromkeys(r.error for result in evaluation.results for r in result.attempts if r.error):
        print(f"steelyard: {reason}", file=sys.stderr)
    if form != "screen":
        print(f"\nThe report: {report_path}", file=sys.stderr if form == "json" else sys.stdout)
    if code := conclusion.exit_code(evaluation, strict):
        sys.exit(code)
