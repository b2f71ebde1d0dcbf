"""Provenance: what is needed to do the same run again, and to find its data."""

from dataclasses import dataclass

from steelyard import units
from steelyard.model import Evaluation
from steelyard.report import measured
from steelyard.report.pages.times import Times
from steelyard.report.pages.times import data as times


@dataclass(frozen=True)
class Provenance:
    """What the page shows."""

    facts: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, tuple[str, ...]], ...]
    times: Times | None
    notes: tuple[str, ...]


def data(evaluation: Evaluation) -> Provenance:
    """The run's identity, versions, the commands of each benchmark, and what reading it back had to mend."""
    run = evaluation.run
    cases = sum(len(launch.cases) for launch in run.plan.launches)
    names = dict.fromkeys(result.benchmark for result in evaluation.results)
    commands = (
        (name, measured.commands(tuple(r for r in evaluation.results if r.benchmark == name))) for name in names
    )
    return Provenance(
        (
            ("Run", run.id),
            ("Folder", run.path),
            ("Started", run.started),
            ("Finished", "yes" if run.finished else "no: the run was interrupted, and can be resumed"),
            ("Preset", run.plan.preset),
            ("Seed of the plan", str(run.plan.seed)),
            (
                "Planned",
                f"{len(run.plan.launches)} launches of {cases} cases, {units.duration(run.plan.seconds)}",
            ),
            ("Records", str(len(run.records))),
        ),
        tuple(sorted(run.versions.items())),
        tuple((name, lines) for name, lines in commands if lines),
        times(evaluation),
        run.notes,
    )
