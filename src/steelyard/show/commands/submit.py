"""`steelyard submit`: a run as a batch job, from its submission to its report."""

import math
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from steelyard.errors import MachineFailed, SteelyardError, UsageError
from steelyard.measure.launch import batch
from steelyard.measure.launch.batch import BatchSystem
from steelyard.measure.launch.scheduler import Request
from steelyard.model import numbers
from steelyard.show.command_line.job_end import conclude, find_outputs, find_run
from steelyard.system import signals
from steelyard.system.starts import module_command

PLACE = 160


class Printed(batch.Listener):
    """Prints the news of a job. The output of the job goes to the stream to which the job wrote it."""

    def remarked(self, words: str) -> None:
        sys.stderr.write(words)

    def changed(self, sentence: str) -> None:
        print(f"steelyard: {sentence}", file=sys.stderr, flush=True)

    def wrote(self, kind: str, added: bytes) -> None:
        stream = sys.stdout if kind == "out" else sys.stderr
        stream.flush()
        stream.buffer.write(added)
        stream.flush()


def read_time_limit(text: str, to: BatchSystem) -> str:
    """Returns a time limit in the scheduler's form: '90m' becomes '01:30:00' for Slurm. A text in that form stays. UsageError."""
    if re.fullmatch(to.batch.times, text):
        return text
    if text.strip().isdecimal():
        raise UsageError(
            f"'{text}' (given by --time) has no unit. Give a time with its unit, such as '{text}m' or '1h'."
        )
    return to.batch.time(math.ceil(numbers.length_of_time(text, "--time")))


def attend(request: Request, before: set[Path], to: BatchSystem) -> int:
    """Submits a job, follows it to its end, and prints how it ended. A signal cancels it. Returns the exit code."""
    job = ""
    try:
        with signals.held():
            job = batch.submit(to.batch.script(request), to)
        state = batch.follow(job, find_outputs(request.folder, job, to), to)
    except KeyboardInterrupt:
        if not job:
            raise
        print(f"\nsteelyard: cancelling {to.title} job {job}. Finished cases are kept.", file=sys.stderr, flush=True)
        batch.cancel(job, to)
        state = batch.follow(job, {}, to)
        try:
            conclude(job, state, request, find_run(request, before, state), to)
        except SteelyardError as failure:
            print(failure, file=sys.stderr)
        raise
    return conclude(job, state, request, find_run(request, before, state), to)


# --------------------------------------------------------------------------- the command


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- WORDS", help="Options of steelyard run, such as: -- --only network (default: none)."
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            "--nodes",
            metavar="NUMBER",
            parser=numbers.option("--nodes", 1),
            help="Number of whole nodes, such as 4 (default: 1).",
        ),
    ] = None,
    ranks_per_node: Annotated[
        int | None,
        typer.Option(
            "--ranks-per-node",
            metavar="NUMBER",
            parser=numbers.option("--ranks-per-node", 1),
            help="Ranks on each node, such as 8 (default: the scheduler's choice).",
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="TIME",
            help="Time limit of the job, such as 90m, or in the scheduler's form (default: the scheduler's).",
        ),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            "--partition", metavar="NAME", help="Partition or queue, such as short (default: the scheduler's)."
        ),
    ] = None,
    account: Annotated[
        str | None,
        typer.Option(
            "--account", metavar="NAME", help="Account to charge, such as project7 (default: the user's own)."
        ),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="WORD",
            help="Further option for the scheduler's submission, such as --option=--qos=high for Slurm (default: none).",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="NAME",
            help="Batch scheduler: slurm, pbs, lsf, flux … (default: the one that is installed).",
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume", metavar="RUN", help="Run to continue, such as 20261120-101500 (default: start a new run)."
        ),
    ] = None,
    runs: Annotated[
        Path,
        typer.Option(
            "--runs",
            envvar="STEELYARD_RUNS",
            metavar="FOLDER",
            help="Folder of all runs, such as ~/runs. The nodes must reach it under the same path.",
        ),
    ] = Path("runs"),
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the job to its end (default: yes).")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the batch script and submit nothing.")] = False,
) -> None:
    """Submit a run to the batch scheduler, follow the job to its end, and show its findings and its report.

    Ctrl-C cancels the job. Finished cases are kept, and **--resume** continues from them.

    Examples: **steelyard submit --nodes 4 --time 30m -- --only network** ·
    **steelyard submit --partition short --dry-run**
    """
    folder = runs.absolute()
    asked = check_words(words or [], resume, folder)
    to = batch.system(scheduler, batch.Around(listener=Printed()))
    limit = read_time_limit(time, to) if time else None
    request = Request(
        program=find_program(),
        words=asked,
        folder=folder,
        nodes=nodes,
        ranks_per_node=ranks_per_node,
        time=limit,
        partition=partition,
        account=account,
        options=tuple(options or ()),
    )
    refuse(request, to)
    if dry_run:
        sys.stdout.write(to.batch.script(request))
        return
    raise typer.Exit(_submit(request, wait, to))


def _submit(request: Request, wait: bool, to: BatchSystem) -> int:
    from steelyard.measure import records

    batch.require(to)
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineFailed(
            f"The folder {request.folder} cannot be created: {error}. Choose another folder with --runs."
        ) from error
    before = set(records.all_runs(request.folder))
    if wait:
        return attend(request, before, to)
    with signals.held():
        job = batch.submit(to.batch.script(request), to)
        print(f"{to.title} job {job} is submitted. It writes to {find_outputs(request.folder, job, to)['out']}")
        print(
            f"Watch it with: {to.batch.watch} {job}   Afterwards: steelyard show --runs {shlex.quote(str(request.folder))}"
        )
    return 0


def find_program() -> tuple[str, ...]:
    """Returns the command that starts this installation. The nodes must see it under the same path."""
    return tuple(module_command("steelyard"))


def check_words(words: Sequence[str], resume: str | None, folder: Path) -> tuple[str, ...]:
    """Returns the command that the job runs. Its words are checked now, not when the job starts hours later. UsageError."""
    from steelyard.measure import records
    from steelyard.measure.plan import catalogue, refusal
    from steelyard.measure.plan.variants import read_variants
    from steelyard.measure.run import setup
    from steelyard.show.command_line import cli, request

    if any(word.partition("=")[0] == "--runs" for word in words):
        raise UsageError(
            "--runs is after the two dashes. Put it before the dashes, such as: --runs FOLDER -- --only memory"
        )
    name = "run" if resume is None else "resume"
    line = [*([str(records.find(folder, resume).absolute())] if resume is not None else []), *words]
    parsed = typer.main.get_command(cli.app).commands[name].make_context(f"steelyard {name}", list(line)).params  # type: ignore[attr-defined]
    if name == "run":
        settings, effort = request.read_settings(parsed["settings"] or []), request.find_effort(parsed["preset"])
        variants = read_variants(parsed["variants"] or [])
        chosen = catalogue.choose(catalogue.find(parsed["paths"] or []), parsed["only"] or [])
        if settings:  # against the benchmarks of this machine, but not against its size, since the job runs elsewhere
            refusal.refuse(chosen, setup.machine(), effort, settings, anywhere=True, variants=variants)
    return (name, *line, *(["--runs", str(folder)] if name == "run" else []))


def refuse(request: Request, to: BatchSystem) -> None:
    """Raises UsageError for words that cannot stand in a batch script."""
    for word in request.options:
        if not re.match(r"--?[A-Za-z]", word):
            raise UsageError(
                f"'{word}' (given by --option) is not an option of {to.batch.commands[0]}. Give --option=--NAME=VALUE."
            )
    for value in (*request.options, request.partition or "", request.account or "", str(request.folder)):
        if not value.isprintable():
            raise UsageError(
                f"{value!r} contains a character that a batch script cannot contain, such as a line break. Remove this character."
            )
