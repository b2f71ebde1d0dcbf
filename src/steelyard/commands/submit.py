"""`steelyard submit`: a run as a batch job, from the words of the user to the report."""

import contextlib
import math
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from steelyard import numbers
from steelyard.errors import MachineFailed, SteelyardError, UsageError
from steelyard.launch import batch
from steelyard.launch.batch import BatchSystem
from steelyard.launch.scheduler import Request, State

PLACE = 160


class Printed(batch.Listener):
    """Prints all that is heard of a job; its output goes to the stream to which it was written."""

    def remarked(self, words: str) -> None:
        sys.stderr.write(words)

    def changed(self, sentence: str) -> None:
        print(f"steelyard: {sentence}", file=sys.stderr, flush=True)

    def wrote(self, kind: str, added: bytes) -> None:
        stream = sys.stdout if kind == "out" else sys.stderr
        stream.flush()
        stream.buffer.write(added)
        stream.flush()


def outputs(folder: Path, job: str, to: BatchSystem) -> dict[str, Path]:
    """Where the job's standard output ("out") and error ("err") go."""
    return {kind: folder / to.batch.outputs.format(job=job, kind=kind) for kind in ("out", "err")}


def time_limit(text: str, to: BatchSystem) -> str:
    """A time limit in the scheduler's form: for Slurm '90m' → '01:30:00'; what is in that form already stays. UsageError."""
    if re.fullmatch(to.batch.times, text):
        return text
    if text.strip().isdecimal():
        raise UsageError(
            f"'{text}' (given by --time) has no unit: expected a length of time such as '{text}m' or '1h'."
        )
    return to.batch.time(math.ceil(numbers.length_of_time(text, "--time")))


# --------------------------------------------------------------------------- from the job to its run


def find_run(request: Request, before: set[Path], state: State) -> Path | None:
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


def conclude(job: str, state: State, request: Request, run: Path | None, to: BatchSystem) -> int:
    """Says what became of the job. Returns the run's own exit code; MachineFailed where the run was not finished."""
    if run and (run / "finished.json").exists() and state.name in ("COMPLETED", "FAILED", "GONE") and not state.signal:
        report = run / "report.html"
        where = (
            f"The report: {report}"
            if report.exists()
            else f"Write its report: steelyard report {shlex.quote(str(run))}"
        )
        print(f"steelyard: {batch.sentence(job, State('COMPLETED'), to)}. {where}", file=sys.stderr)
        return state.code if state.name != "GONE" else _judged(run)
    failure = MachineFailed("\n".join([_ended(job, state, to), *_kept(request, job, state, run, to)]))
    if state.name == "FAILED" and state.code in (2, 3):
        failure.exit_code = state.code  # steelyard's own: it refused its words there
    raise failure


def _judged(run: Path) -> int:
    from steelyard.command_line import conclusion

    return conclusion.exit_code(conclusion.read(run, []))


def _ended(job: str, state: State, to: BatchSystem) -> str:
    """What happened to the job, in a sentence."""
    said = batch.sentence(job, state, to)
    if state.name == "FAILED":
        said += f": it was killed by signal {state.signal}" if state.signal else f" with exit code {state.code}"
    if state.name == "NODE_FAIL" and (lost := to.batch.lost(state.nodes, to.around.ask)):
        said += f": {', '.join(lost)}"
    if state.nodes:
        said += f" (on {state.nodes}, after {state.took})"
    return said + "."


def _kept(request: Request, job: str, state: State, run: Path | None, to: BatchSystem) -> list[str]:
    """What is kept of the run, and how to go on."""
    from steelyard import records
    from steelyard.run import session

    written = " and ".join(str(path) for path in outputs(request.folder, job, to).values() if path.exists())
    said = [f"What it said: {written}"] if written else []
    if run is None and state.name in ("COMPLETED", "GONE"):
        return [f"There is no run of it in {request.folder}: is that folder the same one on the nodes?", *said]
    if run is None:
        return ["It had not begun a run, so that there is nothing to go on with.", *said]
    read = records.read(run)
    total, done = sum(len(launch.cases) for launch in read.plan.launches), len(session.finished_cases(read))
    word = to.batch.same(state) if state.nodes else ""
    same = f" --option={shlex.quote(word)}" if word else ""
    longer = " --time …" if state.name == "TIMEOUT" else ""
    return [
        f"{done} of {total} cases are finished and kept in {run}",
        f"See them:    steelyard show {shlex.quote(str(run))}",
        f"Go on with:  steelyard submit --resume {shlex.quote(str(run))}{same}{longer}",
        f"             (or, on the same nodes: steelyard resume {shlex.quote(str(run))})",
        *said,
    ]


def attend(job: str, request: Request, before: set[Path], to: BatchSystem) -> int:
    """Follows a job to its end and says what became of it; Ctrl-C cancels it. Returns the exit code."""
    written = outputs(request.folder, job, to)
    try:
        state = batch.follow(job, written, to)
    except KeyboardInterrupt:
        print(f"\nsteelyard: cancelling {to.title} job {job}; what was finished is kept", file=sys.stderr, flush=True)
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
        typer.Argument(metavar="-- WORDS", help="Options of **steelyard run**, after two dashes."),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            "--nodes",
            metavar="NUMBER",
            parser=numbers.option("--nodes", 1),
            help="Number of whole nodes (default: 1).",
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
            "--time", metavar="TIME", help="Time limit of the job, such as 90m or in the scheduler's own form."
        ),
    ] = None,
    partition: Annotated[
        str | None, typer.Option("--partition", metavar="NAME", help="Partition or queue (default: the scheduler's).")
    ] = None,
    account: Annotated[
        str | None, typer.Option("--account", metavar="NAME", help="Account to charge (default: the user's own).")
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="WORD",
            help="Further option of the submission, such as --option=--qos=high for Slurm (default: none).",
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
            "--resume", metavar="RUN", help="Go on with this run instead of a new one, such as 20261120-101500."
        ),
    ] = None,
    runs: Annotated[
        Path,
        typer.Option(
            "--runs", envvar="STEELYARD_RUNS", help="Folder for the run. The nodes must see it under the same path."
        ),
    ] = Path("runs"),
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the job to its end (default: yes).")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the batch script and submit nothing.")] = False,
) -> None:
    """Submit a run to the batch scheduler: write and submit the batch job, follow it, and end with its findings and its report.

    Ctrl-C cancels the job. What was finished is kept, and gone on with by **--resume**.

    Examples: **steelyard submit --nodes 4 --time 30m -- --only network** ·
    **steelyard submit --partition short --dry-run**
    """
    folder = runs.absolute()
    asked = _words(words or [], resume, folder)
    to = batch.system(scheduler, batch.Around(listener=Printed()))
    limit = time_limit(time, to) if time else None
    request = Request(program(), asked, folder, nodes, ranks_per_node, limit, partition, account, tuple(options or ()))
    refuse(request, to)
    if dry_run:
        sys.stdout.write(to.batch.script(request))
        return
    raise typer.Exit(_submit(request, wait, to))


def _submit(request: Request, wait: bool, to: BatchSystem) -> int:
    from steelyard import records

    batch.require(to)
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineFailed(
            f"The folder {request.folder} cannot be made: {error}. Choose another with --runs."
        ) from error
    before = set(records.all_runs(request.folder))
    job = batch.submit(to.batch.script(request), to)
    if wait:
        return attend(job, request, before, to)
    print(f"{to.title} job {job} is submitted; it writes to {outputs(request.folder, job, to)['out']}")
    print(f"See it with: {to.batch.watch} {job}   Afterwards: steelyard show --runs {shlex.quote(str(request.folder))}")
    return 0


def program() -> tuple[str, ...]:
    """This very installation, which the nodes must see under the same path."""
    script = Path(sys.executable).with_name("steelyard")
    return (
        (str(script),)
        if script.exists()
        else (sys.executable, "-P", "-c", "from steelyard.__main__ import main; main()")
    )


def _words(words: Sequence[str], resume: str | None, folder: Path) -> tuple[str, ...]:
    """The command that the job runs. Its words are checked here, not when the job starts hours later. UsageError."""
    from steelyard import records
    from steelyard.command_line import cli, request
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


def refuse(request: Request, to: BatchSystem) -> None:
    """UsageError for words that cannot stand in a batch script."""
    for word in request.options:
        if not re.match(r"--?[A-Za-z]", word):
            raise UsageError(
                f"'{word}' (given by --option) is no word of {to.batch.commands[0]}: expected --option=--NAME=VALUE."
            )
    for value in (*request.options, request.partition or "", request.account or "", str(request.folder)):
        if not value.isprintable():
            raise UsageError(f"{value!r} has a line's end or another sign in it that cannot stand in a batch script.")
