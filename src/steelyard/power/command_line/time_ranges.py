"""The period of a question: between two moments, of a run or some of its cases, or of a job."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.errors import UsageError, nearest
from steelyard.model.units import parse_duration

if TYPE_CHECKING:
    from steelyard.measure.launch.scheduler import Ask, Ran
    from steelyard.measure.telemetry.watched import Stretch
    from steelyard.model import Record, Run

SECOND = 10**9  # ns
WHOLE_SECONDS = 1.0  # the doubt about a scheduler's times

Since = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="MOMENT",
        help="Start of the period, such as now-2h, '2026-11-22 14:00' or ns since 1970 (default: now-1h).",
    ),
]
Until = Annotated[
    str | None, typer.Option("--to", metavar="MOMENT", help="End of the period, such as now-10min (default: now).")
]
OfRun = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="RUN",
        help="Take the period of this run, such as 20261120-101500 or its folder, instead of --from and --to.",
    ),
]
OfCase = Annotated[
    list[str] | None,
    typer.Option(
        "--case",
        metavar="TEXT",
        help="Take only the matching cases of --run: a line number of records.jsonl, a benchmark such as memory.stream, "
        "a kernel or PARAMETER=VALUE. A case must match all conditions (default: all cases).",
    ),
]
OfJob = Annotated[
    str | None,
    typer.Option(
        "--job",
        metavar="ID",
        help="Take the period and the nodes of this Slurm job, such as 4711, instead of --from and --to.",
    ),
]


@dataclass(frozen=True)
class When:
    """A period: its `stretches`, and those of each host (as the run or the job calls it) while it was used; none: all hosts.

    `called` names the run or job ("job 12"), "" for a time between two moments. `clock`: possible error of its ends in seconds.
    """

    called: str
    stretches: "tuple[Stretch, ...]"
    hosts: "Mapping[str, tuple[Stretch, ...]]" = field(default_factory=dict)
    clock: float = 0.0

    @property
    def start(self) -> int:
        return min(s.begin for s in self.stretches)

    @property
    def end(self) -> int:
        return max(s.end for s in self.stretches)


def choose_period(
    since: str | None, until: str | None, run: str | None, cases: Sequence[str], job: str | None, runs: Path
) -> When:
    """Returns the period of the options. UsageError for several at once, an empty period, and an unknown run or case."""
    from steelyard.measure.telemetry.watched import Stretch

    given = {"--from and --to": since or until, "--run": run, "--job": job}
    named = [option for option, value in given.items() if value]
    if len(named) > 1:
        raise UsageError(f"Several options choose the period: {' / '.join(named)}. Give only one of them.")
    if cases and not run:
        raise UsageError(f"'{cases[0]}' (given by --case) needs a run. Name the run with --run.")
    if run:
        return read_run_period(runs, run, cases)
    if job:
        return read_job_period(job)
    now = time.time_ns()
    start, end = moment(since or "now-1h", "(given by --from)", now), moment(until or "now", "(given by --to)", now)
    if end <= start:
        raise UsageError(
            f"The period from '{since or 'now-1h'}' to '{until or 'now'}' ends before it begins. Change --from or --to."
        )
    return When("", (Stretch("", start, end),))


def moment(text: str, where: str, now: int) -> int:
    """Returns ns since 1970 for 'now', 'now-1h', a date and time ('2026-11-22 14:00', local without an offset), or ns."""
    word = text.strip()
    try:
        if word == "now":
            return now
        if word.startswith("now-"):
            return now - round(parse_duration(word[4:]) * 1e9)
        if word.isdigit():
            return int(word)
        return round(datetime.fromisoformat(word).timestamp() * 1e9)
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"'{text}' {where} is not a valid time. Write 'now', 'now-1h', a date and time such as '2026-11-22 14:00', "
            "or ns since 1970."
        ) from None


def read_run_period(runs: Path, name: str, cases: Sequence[str]) -> When:
    """Returns the time from the first sample of a run to its last, or that of each case. UsageError if no record has a time."""
    from steelyard.judge.evaluation.energy import find_stretch
    from steelyard.measure import records
    from steelyard.measure.telemetry.watched import Stretch

    run = records.read(records.find(runs, name))
    chosen = [(number, record) for number, record in enumerate(run.records, 1) if _is_chosen(number, record, cases)]
    if not chosen:
        raise UsageError(_describe_missing_case(run, cases))
    timed = [(number, record, when) for number, record in chosen if (when := find_stretch(record, record.benchmark))]
    if not timed:
        raise UsageError(
            f"The records of the run {run.id} have no times, because an older Steelyard made them. Measure again."
        )
    stretches = tuple(Stretch(_name_case(number, record), when.begin, when.end) for number, record, when in timed)
    if not cases:
        stretches = (Stretch("", min(s.begin for s in stretches), max(s.end for s in stretches)),)
    hosts = [host.name for host in run.machine.hosts] or [run.machine.host]
    return When(f"run {run.id}", stretches, dict.fromkeys(hosts, stretches))


def _is_chosen(number: int, record: "Record", cases: Sequence[str]) -> bool:
    labels = {str(number), record.kernel, *(f"{name}={value}" for name, value in record.parameters.items())}
    return all(text in labels or f"{record.benchmark}.".startswith(f"{text}.") for text in cases)


def _name_case(number: int, record: "Record") -> str:
    """Returns the name of a case, such as '3 memory.stream triad'."""
    return f"{number} {record.benchmark} {record.kernel}"


def _describe_missing_case(run: "Run", cases: Sequence[str]) -> str:
    if not cases:
        return f"The run {run.id} has no records, so its period is unknown. Choose another run."
    if len(cases) > 1:
        return (
            f"No case of the run {run.id} matches all of {', '.join(cases)} (given by --case). Leave a condition out."
        )
    if cases[0].isdigit():
        return (
            f"The run {run.id} has no case {cases[0]} (given by --case). Choose a number from 1 to {len(run.records)}."
        )
    names = {r.benchmark for r in run.records} | {r.kernel for r in run.records}
    return f"The run {run.id} has no case '{cases[0]}' (given by --case). {nearest(cases[0], names)}"


def read_job_period(job: str, ask: "Ask | None" = None) -> When:
    """Returns when and where a job ran. UsageError and MachineFailed as in the scheduler's `ran`."""
    from steelyard.measure.launch import scheduler

    scheduler_kind, batch = scheduler.find_batch_scheduler("slurm")
    assert batch.ran, "Slurm tells of past jobs"
    return _join_usages(f"{scheduler_kind.title} job {job}", batch.ran(job, time.time(), ask or scheduler.ask))


def _join_usages(called: str, usages: "Sequence[Ran]") -> When:
    """Joins tasks of an array that shared a host at the same time, so that its energy is counted once."""
    from steelyard.measure.telemetry.watched import Stretch

    hosts: dict[str, list[Stretch]] = {}
    for part in sorted(usages, key=lambda part: part.begin):
        stretches = hosts.setdefault(part.host, [])
        # A whole second at least: that is how exactly the times are known.
        begin, end = round(part.begin * SECOND), round(max(part.end, part.begin + WHOLE_SECONDS) * SECOND)
        if stretches and begin <= stretches[-1].end:
            stretches[-1] = Stretch("", stretches[-1].begin, max(stretches[-1].end, end))
        else:
            stretches.append(Stretch("", begin, end))
    by_host = {host: tuple(stretches) for host, stretches in sorted(hosts.items())}
    return When(called, tuple(s for stretches in by_host.values() for s in stretches), by_host, WHOLE_SECONDS)
