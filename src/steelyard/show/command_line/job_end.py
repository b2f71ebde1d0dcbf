"""How a batch job ended: the run that it started, what of it is kept, and how to continue."""

import contextlib
import shlex
import sys
from pathlib import Path

from steelyard.errors import MachineFailed, SteelyardError
from steelyard.measure.launch import batch
from steelyard.measure.launch.batch import BatchSystem
from steelyard.measure.launch.scheduler import Request, State
from steelyard.measure.machine.hostlist import short_name


def find_outputs(folder: Path, job: str, to: BatchSystem) -> dict[str, Path]:
    """Returns the files of the job's standard output ("out") and standard error ("err")."""
    return {kind: folder / to.batch.outputs.format(job=job, kind=kind) for kind in ("out", "err")}


def find_run(request: Request, before: set[Path], state: State) -> Path | None:
    """Returns the run that the job started: a new one, with the words of the request, on the first node of the job."""
    from steelyard.measure import records

    if request.words[0] == "resume":
        return Path(request.words[1])
    if not state.host and state.name != "GONE":
        return None  # the job has not started
    hosts: dict[Path, str] = {}
    for path in (p for p in records.all_runs(request.folder) if p not in before):
        with contextlib.suppress(SteelyardError):
            head = records.head(path)
            if head.command[1:] == request.words:
                hosts[path] = head.machine.host
    # Equal jobs that were submitted at the same time differ in their hosts.
    matching = [path for path, host in hosts.items() if short_name(host) == short_name(state.host)]
    return next(reversed(matching or list(hosts)), None)


def conclude(job: str, state: State, request: Request, run: Path | None, to: BatchSystem) -> int:
    """Prints how the job ended. Returns the exit code of the run. MachineFailed if the run is not finished."""
    if run and (run / "finished.json").exists() and state.name in ("COMPLETED", "FAILED", "GONE") and not state.signal:
        report = run / "report.html"
        where = (
            f"The report: {report}"
            if report.exists()
            else f"Write its report: steelyard report {shlex.quote(str(run))}"
        )
        print(f"steelyard: {batch.describe_state(job, State('COMPLETED'), to)}. {where}", file=sys.stderr)
        return state.code if state.name != "GONE" else _read_exit_code(run, "--strict" in request.words)
    failure = MachineFailed("\n".join([_describe_end(job, state, to), *_describe_kept(request, job, state, run, to)]))
    if state.name == "FAILED" and state.code in (2, 3):
        failure.exit_code = state.code  # exit codes of Steelyard, which refused its arguments on the node
    raise failure


def _read_exit_code(run: Path, strict: bool) -> int:
    from steelyard.show.command_line import conclusion

    return conclusion.exit_code(conclusion.read(run, []), strict)


def _describe_end(job: str, state: State, to: BatchSystem) -> str:
    """Returns a sentence that says how the job ended."""
    text = batch.describe_state(job, state, to)
    if state.name == "FAILED":
        text += f": it was killed by signal {state.signal}" if state.signal else f" with exit code {state.code}"
    if state.name == "NODE_FAIL" and (lost := to.batch.lost(state.nodes, to.around.ask)):
        text += f": {', '.join(lost)}"
    if state.nodes:
        text += f" (on {state.nodes}, after {state.took})"
    return text + "."


def _describe_kept(request: Request, job: str, state: State, run: Path | None, to: BatchSystem) -> list[str]:
    """Returns lines that say which results of the run are kept, and how to continue."""
    from steelyard.measure import records
    from steelyard.measure.run import session

    files = " and ".join(str(path) for path in find_outputs(request.folder, job, to).values() if path.exists())
    output = [f"Its output:  {files}"] if files else []
    if run is None and state.name in ("COMPLETED", "GONE"):
        return [
            f"The job wrote no run into {request.folder}. Check that the nodes can use this folder under the same path.",
            *output,
        ]
    if run is None:
        return ["The job had not started a run, so there is nothing to continue.", *output]
    read_run = records.read(run)
    total, done = sum(len(launch.cases) for launch in read_run.plan.launches), len(session.finished_cases(read_run))
    word = to.batch.same(state) if state.nodes else ""
    same = f" --option={shlex.quote(word)}" if word else ""
    longer = " --time …" if state.name == "TIMEOUT" else ""
    return [
        f"{done} of {total} cases are finished and kept in {run}",
        f"Show them:   steelyard show {shlex.quote(str(run))}",
        f"Continue:    steelyard submit --resume {shlex.quote(str(run))}{same}{longer}",
        f"             (or, on the same nodes: steelyard resume {shlex.quote(str(run))})",
        *output,
    ]
