"""`steelyard whatif`."""

import contextlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.model.numbers import option
from steelyard.show.command_line.options import Json, Quiet, Runs

if TYPE_CHECKING:
    from steelyard.model import Machine
    from steelyard.model.settings_file import SettingsFile
    from steelyard.whatif import Question, Scenario
    from steelyard.whatif.engine import Engine

PLACE = 190


def _complete_setting(incomplete: str) -> list[str]:
    from steelyard.whatif.scenario import list_setting_names

    return [name for name in list_setting_names() if name.startswith(incomplete)]


Trace = Annotated[
    Path | None,
    typer.Argument(
        metavar="TRACE",
        help="Trace to replay: a folder that steelyard trace wrote, or a trace in OTF2, GOAL, or SimGrid's time-independent "
        "format (TI).",
    ),
]
ScenarioFile = Annotated[
    Path | None,
    typer.Option(
        "--scenario",
        metavar="FILE",
        help="TOML file with the conditions of the replay: network, loss, noise, core, tree …, such as cluster.toml "
        "(default: none).",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUES",
        autocompletion=_complete_setting,
        help="One value of the scenario, such as network.latency=2us or loss.probability=0.1%:1%, or a table, such as "
        "network=20261120-101500 (default: the newest run's network).",
    ),
]
PageFile = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE", help="File for an HTML page with the answer and its figures (default: none)."
    ),
]
Demo = Annotated[
    bool,
    typer.Option(
        "--demo",
        help="Trace a built-in program on this machine, and predict its time with lost packets and with noise of the system.",
    ),
]
Tasks = Annotated[
    int | None,
    typer.Option(
        "--submit",
        metavar="TASKS",
        parser=option("--submit", 1, 1000),  # the default of Slurm's MaxArraySize is 1001
        help="Share the scenarios among this number of tasks of a Slurm array. The nodes must reach this folder and the trace.",
    ),
]
BatchOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="WORD",
        help="Further option of sbatch, for --submit, such as --option=--qos=high (default: none).",
    ),
]
Share = Annotated[Path | None, typer.Option("--share", hidden=True)]


def command(
    trace: Trace = None,
    scenario: ScenarioFile = None,
    settings: Settings = None,
    report: PageFile = None,
    demo: Demo = False,
    tasks: Tasks = None,
    options: BatchOptions = None,
    share: Share = None,
    runs: Runs = Path("runs"),
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Replay an application's trace on another network, with lost packets, system noise, or faster cores.

    A scenario file states the conditions, and **--set** changes single values. The tables are network, tree, loss, noise, core
    and places. The single keys are mode, flops, repeats, seed, iterations, region, affected and ranks_per_node. A value can
    be a list (in **--set** with colons). The replay then goes through all combinations of the lists.

    Examples: **steelyard whatif --demo** · **steelyard whatif cg.goal --scenario cluster.toml --set loss.probability=0.1%:1%** ·
    **steelyard whatif cg.goal --set network=latency=2500ns,overhead=1500ns,gap=1us,time_per_byte=6ns/B** ·
    **steelyard whatif cg.goal --set network=20261120-101500 --set loss=probability=0.001:0.01,rto=5ms:200ms** ·
    **steelyard whatif lu.ti --set flops=2e9 --set noise=period=10ms,duration=50us:500us --set core=1:1.5:2** ·
    **steelyard whatif cg --set core=1:2:8@region=2** · **steelyard whatif cg --set iterations=allreduce --set region=10-20**
    """
    from steelyard import whatif
    from steelyard.measure import build
    from steelyard.measure.machine import describe
    from steelyard.show.command_line.progress import Console
    from steelyard.system import files
    from steelyard.whatif import engine
    from steelyard.whatif.program import compile_program

    if share:
        from steelyard.whatif import batch_tasks

        batch_tasks.run_task(share)
        return
    _expect_trace(trace, demo)
    machine = describe(whole=demo)
    file = whatif.load_scenario(scenario) if scenario else None
    if demo and not scenario:
        file = _load_demo(machine, settings or [], quiet)
    asked = whatif.read_scenario(file, settings or [])
    with contextlib.ExitStack() as stack:
        questions = _make_questions(asked, runs, stack)
        if tasks:
            _expect_no_recording(questions.values())
        if trace is None:
            trace, report = _trace_demonstration(machine, report, quiet)
        if report:
            files.expect_output(report, "The page")
        with Console(quiet).building(build.default(machine)) as show:
            compile_program("replay", machine, show)
        running = stack.enter_context(engine.start(trace, machine, asked.whole["flops"], engine.part(asked.whole)))
        if tasks:
            from steelyard.whatif import batch_tasks

            batch_tasks.answer(running, list(questions.values()), trace, asked.whole, tasks, options or [], quiet)
        _print_answers(running, questions, asked.whole, trace.name, report, quiet, json_)


def _make_questions(scenario: "Scenario", runs: Path, stack: contextlib.ExitStack) -> "dict[str, Question]":
    """Returns the question of each section by its title; files with recorded noise last as long as the stack."""
    from steelyard import whatif

    threads, whole = len(os.sched_getaffinity(0)), scenario.whole
    questions = {}
    for title, points in whatif.list_points(scenario, runs).items():
        recording = None
        if name := points[0].noise.recording:
            from steelyard.whatif import recorded_noise

            recording = stack.enter_context(recorded_noise.open_noise(name, runs))
        questions[title] = whatif.Question(
            points, whole["repeats"], whole["seed"], whole["mode"], points[0].ranks_per_node or 1, threads, recording
        )
    return questions


def _print_answers(
    running: "Engine",
    questions: "Mapping[str, Question]",
    whole: Mapping[str, object],
    name: str,
    report: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Prints the answers to all questions and writes their page; `name` is that of the trace."""
    from steelyard import whatif
    from steelyard.whatif import printed_prediction  # while the engine reads the trace
    from steelyard.whatif.prediction_part import Part
    from steelyard.whatif.question import expect_places
    from steelyard.whatif.traced_run import read_traced_run

    detail: whatif.Detail = "whole" if report else "times" if as_json else "words"
    parts: list[Part] = []
    for title, question in questions.items():
        expect_places(question.points, running.trace.ranks, running.trace.traced is not None)
        with printed_prediction.show_progress(quiet) as show:
            answer = whatif.answer(running, question, show, detail)
        if report and not parts:  # the page shows one undisturbed replay beside the traced run
            answer = replace(answer, traced_run=read_traced_run(running, question, answer.unchanged[0].point))
        parts.append(Part(question, answer, whole, title))
    printed_prediction.show(parts, running.trace, as_json)
    if report:
        printed_prediction.write(parts, running.trace, name, report)


def _load_demo(machine: "Machine", settings: Sequence[str], quiet: bool) -> "SettingsFile":
    """Returns the shipped scenario; its network is an assumption, which the command prints."""
    from steelyard.whatif import demo

    if not quiet and not any(setting.startswith("network") for setting in settings):
        print(
            "No network is given. The replay assumes Ethernet of 10 Gbit/s. For another one use --set network=…",
            file=sys.stderr,
        )
    return demo.make_scenario(demo.choose_ranks(machine), settings)


def _trace_demonstration(machine: "Machine", report: Path | None, quiet: bool) -> tuple[Path, Path]:
    """Traces the program of the demonstration. Returns the folder of the trace, and the file for the page."""
    from steelyard.measure import build
    from steelyard.model.units import duration
    from steelyard.model.words import plural
    from steelyard.show.command_line.progress import Console
    from steelyard.system import files
    from steelyard.whatif import demo

    folder = Path(f"demo-{datetime.now():%Y%m%d-%H%M%S}")
    report = report or folder.with_suffix(".html")
    files.expect_output(report, "The page")
    with Console(quiet).building(build.default(machine)) as show:
        demo.compile_program(machine, show)
    if not quiet:
        print(f"Running and tracing LU (NPB, class {demo.SIZE}) in {folder} …", file=sys.stderr)
    made = demo.trace(folder, machine)
    if not quiet:
        print(f"{plural(made.ranks, 'rank')}, {duration(made.seconds)}", file=sys.stderr)
    return folder, report


def _expect_no_recording(questions: "Iterable[Question]") -> None:
    from steelyard.errors import UsageError

    if any(question.recording for question in questions):
        raise UsageError(
            "--submit does not work with recorded noise, because the recording is on this node only. Give noise.period or "
            "noise.probability instead."
        )


def _expect_trace(trace: Path | None, demo: bool) -> None:
    from steelyard.errors import UsageError

    if demo == bool(trace):
        raise UsageError("Give either the trace to replay or --demo. For help: steelyard whatif --help")
    if trace and not trace.exists():
        raise UsageError(f"There is no trace '{trace}'. Record one with: steelyard trace -- mpiexec -n 4 ./program")
