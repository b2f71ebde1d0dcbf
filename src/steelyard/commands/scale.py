"""`steelyard scale`: a sweep, carried out as an ordinary run, and its laws."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from steelyard.command_line import output_forms
from steelyard.command_line.options import (
    All,
    Budget,
    Compilers,
    Hosts,
    Json,
    LauncherName,
    LauncherWords,
    Mpis,
    Name,
    Paths,
    Preset,
    Quiet,
    Report,
    Runs,
    Seed,
    Settings,
    System,
    Wait,
)
from steelyard.command_line.output_forms import Form

PLACE = 20


def command(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Benchmark, such as application.npb_cg.")],
    over: Annotated[
        str | None,
        typer.Option(
            "--over",
            metavar="WHAT",
            help="What grows: threads, ranks, nodes or ranks_per_node (default: threads and ranks, if the benchmark has both).",
        ),
    ] = None,
    counts: Annotated[
        str | None,
        typer.Option(
            "--counts", metavar="N,N…", help="Counts to compare, such as 1,2,8 (default: 1, 2, 4 … and all processors)."
        ),
    ] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="Let the work grow with the count (default: the same work for all counts).")
    ] = False,
    preset: Preset = "quick",
    settings: Settings = None,
    toolchains: Compilers = None,
    budget: Budget = None,
    wait: Wait = None,
    system: System = None,
    mpis: Mpis = None,
    hosts: Hosts = None,
    launcher: LauncherName = None,
    launcher_words: LauncherWords = None,
    seed: Seed = 1,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    name: Name = None,
    report: Report = None,
    all_: All = False,
    json_: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how a benchmark scales: speed-up, efficiency, serial fraction, the laws that fit, and where to stop.

    It is a run like any other, and is resumed like one. Of all other parameters one value is taken, of sizes the preset's
    largest; --set chooses.

    Examples: **steelyard scale application.npb_cg --set class=A** · **steelyard scale node.vector --weak --counts 1,2,4** ·
    **steelyard scale cluster.flops --over nodes --hosts node1:4,node2:4**
    """
    from steelyard.command_line import request as asking
    from steelyard.plan import sweep
    from steelyard.run import session

    form = output_forms.one(all_, json_)
    wanted = sweep.wanted(benchmark, over, counts, weak, paths or [])
    asked = asking.request(
        preset=preset,
        only=[benchmark],
        settings=settings,
        toolchains=toolchains,
        budget=budget,
        wait=wait,
        system=system,
        mpis=mpis,
        hosts=hosts,
        launcher=launcher,
        launcher_words=launcher_words,
        seed=seed,
        paths=paths,
    )
    asked = replace(asked, shape=sweep.shape(wanted, paths or []))
    _conclude(session.start(asked, runs, quiet, name=name), paths or [], report, form)


def _conclude(path: Path, paths: Sequence[Path], report: Path | None, form: Form) -> None:
    """Shows a run's scaling, writes its report, names it last, and ends with the exit code that the run deserves."""
    from rich.console import Console

    from steelyard import report as reports
    from steelyard.command_line import conclusion
    from steelyard.report import lines, scaling_rows, screen
    from steelyard.statistics.results.sweeps import sweeps

    judged = conclusion.read(path, paths)
    where = reports.write(judged, report or path / "report.html")
    found = sweeps(judged)
    if form == "json":
        print(json.dumps({"run": judged.run.id, "report": str(where), "sweeps": scaling_rows.as_json(found)}, indent=1))
    elif form == "all":
        scaling_rows.show(found, Console())
    else:
        console = lines.console()
        screen.printed(screen.screen(judged, console.width, where, scaling_rows.brief(found, console.width)), console)
    if not found:
        print("steelyard: nothing can be compared: fewer than two counts gave results.", file=sys.stderr)
    for reason in dict.fromkeys(r.error for result in judged.results for r in result.records if r.error):
        print(f"steelyard: {reason}", file=sys.stderr)
    if form != "screen":
        print(f"\nThe report: {where}", file=sys.stderr if form == "json" else sys.stdout)
    if code := conclusion.exit_code(judged):
        sys.exit(code)
