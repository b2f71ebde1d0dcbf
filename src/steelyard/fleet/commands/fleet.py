"""`steelyard fleet`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.errors import MachineFailed, UsageError
from steelyard.fleet.options import UNDECIDED, Format, read_slowness
from steelyard.model.numbers import option
from steelyard.show.command_line.options import OUTPUT, All, Json, Paths, Quiet, Runs, work_option

if TYPE_CHECKING:
    from steelyard.compare.side import Side
    from steelyard.fleet.acceptance import Acceptance
    from steelyard.fleet.nodes import Fleet
    from steelyard.show.report.summary import Summary

PLACE = 102
WORDS = ("--only", "memory", "--only", "core")  # of the run on each host
ACCEPT = "Acceptance"
AT_ONCE = 64  # starts of ssh that a login node carries


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN",
            help="Runs of the nodes by id or folder, or folders that contain runs, such as nodes/ (default: all runs). "
            "With --measure: options of steelyard run, after -- (default: --only memory --only core).",
        ),
    ] = None,
    measure: Annotated[
        bool,
        work_option(
            "--measure", help="Measure each node of the batch job alone, or the nodes of --hosts, then compare them."
        ),
    ] = False,
    hosts: Annotated[
        str | None,
        work_option(
            "--hosts",
            metavar="HOSTS",
            help="Measure these hosts, such as node[01-16], or those in a file (default with --measure: the nodes of the job).",
        ),
    ] = None,
    at_once: Annotated[
        int,
        work_option(
            "--at-once",
            metavar="NUMBER",
            parser=option("--at-once", 1),
            help="Most nodes that measure at the same time.",
        ),
    ] = AT_ONCE,
    times: Annotated[
        int, work_option("--times", metavar="NUMBER", parser=option("--times", 1), help="Runs of each node, such as 2.")
    ] = 1,
    launcher: Annotated[
        str | None,
        work_option(
            "--launcher",
            metavar="NAME",
            help="Program that starts a run on a node: srun, flux or ssh (default: the scheduler's in a batch job, else ssh). "
            "Outside of a job, srun and flux submit a job for each node.",
        ),
    ] = None,
    accept: Annotated[
        bool,
        typer.Option("--accept", help="Say for each rule whether the nodes pass it.", rich_help_panel=ACCEPT),
    ] = False,
    slow: Annotated[
        float,
        typer.Option(
            "--slow",
            metavar="PERCENT",
            help="Smallest slowness that must be found, in percent.",
            rich_help_panel=ACCEPT,
        ),
    ] = 5.0,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            "--expect",
            metavar="FIGURE=VALUE",
            help="Promised value of a main figure, such as 'Triad bandwidth=36.6 GB/s'. May be given several times. "
            "'published': the worst normal values of such systems.",
            rich_help_panel=ACCEPT,
        ),
    ] = None,
    runs: Runs = Path("runs"),
    paths: Paths = None,
    quiet: Quiet = False,
    all_: All = False,
    json_: Json = False,
    form: Format = "",
    fail_on_slow: Annotated[
        bool,
        typer.Option("--fail-on-slow", help="Exit with code 1 if a slow node was found.", rich_help_panel=OUTPUT),
    ] = False,
) -> None:
    """Compare the nodes of a cluster with each other, and name the slow ones. No limit has to be given.

    Each node has a run of the same cases; several runs of a host count together. In a run over several hosts, all pairs of
    hosts are compared. This shows slow nodes and links, and slow switches if the system file names the switches. In runs of one
    node each, a node is slow if neither chance nor the usual difference between nodes explains its time in a case, and if it
    takes at least 2 % more (5 % with fewer than eight nodes). If all nodes are equal, the chance that any node is named is
    about 1 %.

    With --hosts or --measure, each node is measured alone first, and its run lies in the folder of --runs. All nodes must reach
    this folder under the same path. The same command goes on after an interruption. Exit codes with --accept: 0 passed,
    1 failed, 2 wrong usage, 5 undecided.

    Examples: **steelyard fleet nodes/** (all runs in this folder) ·
    **steelyard fleet nodes/ --all** (every node and case) · **steelyard fleet nodes/ --json --fail-on-slow** ·
    **steelyard fleet nodes/ --format junit > fleet.xml** (a test for each node) ·
    **steelyard fleet --hosts node[01-16] --runs nodes** (measure, then compare) ·
    **steelyard fleet --measure --runs nodes --accept -- --only memory** (in a batch job) ·
    **steelyard fleet nodes/ --accept --expect 'Triad bandwidth=36.6 GB/s'**
    """
    from steelyard.fleet import acceptance, checks, fleet_screen, run_folders
    from steelyard.show.command_line import output_forms
    from steelyard.show.report.json_output import print_json

    shape = output_forms.choose_form(all_, json_)  # which refuses two of them
    form = checks.choose_format(form, json_=json_) or shape
    slowness = read_slowness(slow)
    if expect and not accept:
        raise UsageError("--expect is a rule of an acceptance. Add --accept.")
    failed: dict[str, str] = {}
    words = tuple(names or WORDS) if measure or hosts else WORDS
    if measure or hosts:
        folders, failed = _measure(words, hosts, runs, times, at_once, launcher, quiet or form == "json")
    else:
        folders = run_folders.find(names or [], runs)
    fleet, read = _read(folders, runs, paths or [], failed)
    accepted = None
    if accept:
        again = acceptance.word_again(runs if measure or hosts else folders[0].parent, fleet.nodes, words)
        asked = acceptance.Asked(slow=slowness, expect=expect or (), failed=failed, again=again)
        accepted = acceptance.judge(fleet, read, asked)
    if form == "json":
        print_json(fleet_screen.as_plain(fleet, accepted))
    elif form in checks.FORMATS:
        listed = [*(acceptance.list_checks(accepted) if accepted else ()), *fleet_screen.list_checks(fleet)]
        print(checks.render(form, "steelyard fleet", listed), end="")
    else:
        fleet_screen.show(fleet, everything=form == "all", accepted=accepted)
    if code := _choose_code(fleet, accepted, fail_on_slow):
        raise typer.Exit(code)


def _choose_code(fleet: "Fleet", accepted: "Acceptance | None", fail_on_slow: bool) -> int:
    if accepted:
        return {"passed": 0, "failed": 1, "undecided": UNDECIDED}[accepted.answer]
    if fail_on_slow and (fleet.slow or any(cluster.slow for cluster in fleet.clusters)):
        return 1
    return MachineFailed.exit_code if fleet.failed else 0


def _measure(
    words: Sequence[str], hosts: str | None, runs: Path, times: int, at_once: int, launcher: str | None, quiet: bool
) -> tuple[list[Path], dict[str, str]]:
    """Measures each host alone. Returns the folders of the runs, and the reason for each host without one."""
    from steelyard.fleet import sweep
    from steelyard.measure.launch import site
    from steelyard.show.command_line.progress import Console
    from steelyard.show.commands.submit import check_words, find_program

    chosen = site.hosts(hosts)
    if not chosen:
        raise UsageError("There is no batch job with several nodes here. Name the hosts, such as: --hosts node[01-16]")
    if own := next(
        (word for word in words if word.partition("=")[0] in ("--name", "--hosts", "--json", "--report")), None
    ):
        raise UsageError(f"'{own}' cannot be given for the run of each node. Remove it behind the two dashes.")
    folder = runs.absolute()
    line = check_words(words, None, folder)
    tasks = sweep.list_tasks(chosen, folder, times)
    sweep.begin(folder, words)

    def command_of(task: sweep.Task) -> list[str]:
        if (task.folder / "run.json").is_file():
            return [*find_program(), "resume", str(task.folder), "--quiet"]
        return [*find_program(), *line, "--name", task.folder.name, "--quiet"]

    failed = sweep.measure(tasks, sweep.choose_starter(launcher), command_of, at_once, Console(quiet), quiet)
    folders = [task.folder for task in tasks if (task.folder / "finished.json").is_file()]
    if not folders:
        raise MachineFailed(f"No node was measured. {next(iter(failed))} {failed[next(iter(failed))]}")
    return folders, failed


def _read(
    folders: Sequence[Path], runs: Path, paths: Sequence[Path], failed: dict[str, str]
) -> "tuple[Fleet, list[tuple[Summary, Side]]]":
    """Returns the fleet, and the runs of one node each. UsageError for fewer than three nodes."""
    from dataclasses import replace

    from steelyard.fleet import nodes, sweep
    from steelyard.model.words import plural
    from steelyard.show.command_line import sides
    from steelyard.show.command_line.evaluated_run import find_summary

    summaries = [find_summary(folder, paths) for folder in folders]
    found = sides.read_sides([str(folder) for folder in folders], (), runs, list(paths))
    pairs = list(zip(summaries, found, strict=True))
    clusters = [nodes.describe_cluster(summary) for summary, side in pairs if nodes.uses_several_hosts(side)]
    alone = [(summary, side) for summary, side in pairs if not nodes.uses_several_hosts(side)]
    gathered = nodes.gather(side for _, side in alone)
    if len(gathered) < nodes.LEAST_NODES and not clusters:
        reasons = "".join(f"\n{sentence}." for sentence in sweep.list_failures(failed))
        raise UsageError(
            f"{plural(len(gathered), 'node')} found in {plural(len(folders), 'run')}, but peers are at least three nodes. "
            f"Give the runs of more nodes, or compare two with: steelyard compare RUN RUN{reasons}"
        )
    judged = nodes.judge_fleet(gathered, [summary for summary, _ in alone])
    notes = (*judged.notes, *sweep.list_failures(failed))
    seconds = nodes.add_up_seconds(Path(summary.path) for summary, _ in alone)
    return replace(judged, clusters=tuple(clusters), seconds=seconds, notes=notes, failed=tuple(failed)), alone
