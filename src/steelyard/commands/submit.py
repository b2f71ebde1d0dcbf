"""`steelyard submit`: a run as a Slurm batch job, from the words of the user to the report."""

import contextlib
import math
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from steelyard import numbers
from steelyard.errors import MachineFailed, SteelyardError, UsageError
from steelyard.launch import batch


@dataclass(frozen=True)
class Request:
    """A run that Slurm shall start. `folder` holds the runs and the job's output: the nodes see the same one."""

    program: tuple[str, ...]  # steelyard, as the nodes start it
    words: tuple[str, ...]  # its command, "run" or "resume", and what belongs to it
    folder: Path
    nodes: int | None = None  # None: as further words of sbatch say, or else one
    ranks_per_node: int | None = None  # None: as Slurm does where nobody says (one for each processor, for whole nodes)
    time: str | None = None  # in Slurm's form; None: the partition's own limit
    partition: str | None = None
    account: str | None = None
    options: tuple[str, ...] = ()  # further words of sbatch; they win over what is written here


def outputs(folder: Path, job: str) -> dict[str, Path]:
    """Where the job's standard output ("out") and error ("err") go."""
    return {kind: folder / f"slurm-{job}.{kind}" for kind in ("out", "err")}


def script(request: Request) -> str:
    """The batch script. A pure function, tested as text."""
    written = outputs(request.folder, "%j")
    asked = {
        "nodes": request.nodes,
        "ntasks-per-node": request.ranks_per_node,
        "time": request.time,
        "partition": request.partition,
        "account": request.account,
        "output": written["out"],
        "error": written["err"],
    }
    words = ["--job-name=steelyard", *(f"--{name}={value}" for name, value in asked.items() if value is not None)]
    # Whole nodes with all their memory: no other job disturbs. A job that Slurm began anew would begin a run anew.
    words += ["--exclusive", "--mem=0", "--no-requeue", *request.options]
    lines = ["#!/bin/sh", *(f"#SBATCH {shlex.quote(word)}" for word in words)]
    return "\n".join([*lines, f"exec {shlex.join([*request.program, *request.words])}", ""])


def slurm_time(text: str) -> str:
    """A time limit in Slurm's form: '90m' → '01:30:00'; what is in that form already ('1:30:00', '2-12') stays. UsageError."""
    if re.fullmatch(r"\d+-\d+(:\d+){0,2}|\d+(:\d+){1,2}", text):
        return text
    if text.strip().isdecimal():
        raise UsageError(
            f"'{text}' (given by --time) has no unit: expected a length of time such as '{text}m' or '1h'."
        )
    seconds = math.ceil(numbers.length_of_time(text, "--time"))
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


# --------------------------------------------------------------------------- from the job to its run


def find_run(request: Request, before: set[Path], state: batch.State) -> Path | None:
    """The run that the job began: one that was not there before, with the request's words, on the job's first node."""
    from steelyard import records

    if request.words[0] == "resume":
        return Path(request.words[1])
    if not state.host and state.name != "GONE":
        return None  # the job has not started
    found: dict[Path, str] = {}
    for path in (p for p in records.all_runs(request.folder) if p not in before):
        with contextlib.suppress(SteelyardError):
            about = records.head(path)
            if about.command[1:] == request.words:
                found[path] = about.machine.host
    # Several, where equal jobs were submitted at the same time: then the host tells them apart.
    same = [path for path, host in found.items() if host.partition(".")[0] == state.host.partition(".")[0]]
    return next(reversed(same or list(found)), None)


def conclude(job: str, state: batch.State, request: Request, run: Path | None, around: batch.Around) -> int:
    """Says what became of the job. Returns the run's own exit code; MachineFailed where the run was not finished."""
    if run and (run / "finished.json").exists() and state.name in ("COMPLETED", "FAILED", "GONE") and not state.signal:
        report = run / "report.html"
        where = (
            f"The report: {report}"
            if report.exists()
            else f"Write its report: steelyard report {shlex.quote(str(run))}"
        )
        print(f"steelyard: {batch.sentence(job, batch.State('COMPLETED'))}. {where}", file=sys.stderr)
        return state.code if state.name != "GONE" else _judged(run)
    failure = MachineFailed("\n".join([_ended(job, state, around), *_kept(request, job, state, run)]))
    if state.name == "FAILED" and state.code in (2, 3):
        failure.exit_code = state.code  # steelyard's own: it refused its words there
    raise failure


def _judged(run: Path) -> int:
    from steelyard import evaluation
    from steelyard.commands import outcome

    return outcome.exit_code(evaluation.evaluate(run))


def _ended(job: str, state: batch.State, around: batch.Around) -> str:
    """What happened to the job, in a sentence."""
    said = batch.sentence(job, state)
    if state.name == "FAILED":
        said += f": it was killed by signal {state.signal}" if state.signal else f" with exit code {state.code}"
    if state.name == "NODE_FAIL" and (lost := batch.lost_nodes(state.nodes, around)):
        said += f": {', '.join(lost)}"
    if state.nodes:
        said += f" (on {state.nodes}, after {state.took})"
    return said + "."


def _kept(request: Request, job: str, state: batch.State, run: Path | None) -> list[str]:
    """What is kept of the run, and how to go on."""
    from steelyard import records
    from steelyard.run import session

    written = " and ".join(str(path) for path in outputs(request.folder, job).values() if path.exists())
    said = [f"What it said: {written}"] if written else []
    if run is None and state.name in ("COMPLETED", "GONE"):
        return [f"There is no run of it in {request.folder}: is that folder the same one on the nodes?", *said]
    if run is None:
        return ["It had not begun a run, so that there is nothing to go on with.", *said]
    read = records.read(run)
    total, done = sum(len(launch.cases) for launch in read.plan.launches), len(session.finished_cases(read))
    same = f" --option=--nodelist={state.nodes}" if state.nodes else ""
    longer = " --time …" if state.name == "TIMEOUT" else ""
    return [
        f"{done} of {total} cases are finished and kept in {run}",
        f"See them:    steelyard show {shlex.quote(str(run))}",
        f"Go on with:  steelyard submit --resume {shlex.quote(str(run))}{same}{longer}",
        f"             (or, on the same nodes: steelyard resume {shlex.quote(str(run))})",
        *said,
    ]


def attend(job: str, request: Request, before: set[Path], around: batch.Around) -> int:
    """Follows a job to its end and says what became of it; Ctrl-C cancels it. Returns the exit code."""
    written = outputs(request.folder, job)
    try:
        state = batch.follow(job, written, around)
    except KeyboardInterrupt:
        print(f"\nsteelyard: cancelling Slurm job {job}; what was finished is kept", file=sys.stderr, flush=True)
        batch.cancel(job, around)
        state = batch.follow(job, {}, around)
        try:
            conclude(job, state, request, find_run(request, before, state), around)
        except SteelyardError as failure:
            print(failure, file=sys.stderr)
        raise
    return conclude(job, state, request, find_run(request, before, state), around)


# --------------------------------------------------------------------------- the command


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- WORDS", help="What **steelyard run** is asked, after two dashes."),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            "--nodes",
            metavar="NUMBER",
            parser=numbers.option("--nodes", 1),
            help="How many whole nodes; one when left out.",
        ),
    ] = None,
    ranks_per_node: Annotated[
        int | None,
        typer.Option(
            "--ranks-per-node",
            metavar="NUMBER",
            parser=numbers.option("--ranks-per-node", 1),
            help="Ranks on each node; as many as processors.",
        ),
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", metavar="TIME", help="The job's time limit, as 90m, 2h or Slurm's 1:30:00.")
    ] = None,
    partition: Annotated[str | None, typer.Option("--partition", help="Slurm's partition.")] = None,
    account: Annotated[str | None, typer.Option("--account", help="Whom Slurm charges.")] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option", metavar="WORD", help="A further word for sbatch, as --option=--qos=high (repeatable)."
        ),
    ] = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="RUN", help="Go on with this run instead of a new one.")
    ] = None,
    runs: Annotated[
        Path,
        typer.Option(
            "--runs", envvar="STEELYARD_RUNS", help="Folder for the run, which the nodes see under the same path."
        ),
    ] = Path("runs"),
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Follow the job to its end; without, only submit it.")
    ] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the batch script and submit nothing.")] = False,
) -> None:
    """Submit a run to Slurm: write and submit the batch job, follow it, and end with its findings and its report.

    Ctrl-C cancels the job. What was finished is kept, and gone on with by **--resume**.

    Examples: **steelyard submit --nodes 4 --time 30m -- --only network** ·
    **steelyard submit --partition short --dry-run**
    """
    folder = runs.absolute()
    asked = _words(words or [], resume, folder)
    limit = slurm_time(time) if time else None
    request = Request(_program(), asked, folder, nodes, ranks_per_node, limit, partition, account, tuple(options or ()))
    _refuse(request)
    if dry_run:
        sys.stdout.write(script(request))
        return
    raise typer.Exit(_submit(request, wait))


def _submit(request: Request, wait: bool) -> int:
    from steelyard import records

    batch.require()
    around = batch.Around()
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineFailed(
            f"The folder {request.folder} cannot be made: {error}. Choose another with --runs."
        ) from error
    before = set(records.all_runs(request.folder))
    job = batch.submit(script(request), around)
    if wait:
        return attend(job, request, before, around)
    print(f"Slurm job {job} is submitted; it writes to {outputs(request.folder, job)['out']}")
    print(f"See it with: squeue --job {job}   Afterwards: steelyard show --runs {shlex.quote(str(request.folder))}")
    return 0


def _program() -> tuple[str, ...]:
    """This very installation, which the nodes must see under the same path."""
    script = Path(sys.executable).with_name("steelyard")
    return (str(script),) if script.exists() else (sys.executable, "-c", "from steelyard.__main__ import main; main()")


def _words(words: Sequence[str], resume: str | None, folder: Path) -> tuple[str, ...]:
    """The command that the job runs. Its words are checked here, not when the job starts hours later. UsageError."""
    from steelyard import records
    from steelyard.commands import cli, request
    from steelyard.plan import catalogue, refusal
    from steelyard.run import setup

    if any(word.partition("=")[0] == "--runs" for word in words):
        raise UsageError(
            "--runs stands behind the two dashes; expected before them: steelyard submit --runs FOLDER -- …"
        )
    name = "run" if resume is None else "resume"
    line = [*([str(records.find(folder, resume).absolute())] if resume is not None else []), *words]
    parsed = typer.main.get_command(cli.app).commands[name].make_context(f"steelyard {name}", list(line)).params  # type: ignore[attr-defined]
    if name == "run":
        settings, effort = request.values(parsed["settings"] or []), request.effort(parsed["preset"])
        chosen = catalogue.choose(catalogue.find(parsed["paths"] or []), parsed["only"] or [])
        if settings:  # by what this machine's benchmarks know; its size is not asked for, since the job runs elsewhere
            refusal.refuse(chosen, setup.machine(), effort, settings, anywhere=True)
    return (name, *line, *(["--runs", str(folder)] if name == "run" else []))


def _refuse(request: Request) -> None:
    """UsageError for words that cannot stand in a batch script."""
    for word in request.options:
        if not re.match(r"--?[A-Za-z]", word):
            raise UsageError(f"'{word}' (given by --option) is no word of sbatch: expected --option=--NAME=VALUE.")
    for value in (*request.options, request.partition or "", request.account or "", str(request.folder)):
        if not value.isprintable():
            raise UsageError(f"{value!r} has a line's end or another sign in it that cannot stand in a batch script.")
