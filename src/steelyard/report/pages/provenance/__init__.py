"""Provenance: what is needed to do the same run again, and to find its data."""

from dataclasses import dataclass

from steelyard import units
from steelyard.model import Evaluation
from steelyard.report.pages.provenance.time_account import Times
from steelyard.report.pages.provenance.time_account import data as times

PLACE, TITLE = 130, "Provenance"


@dataclass(frozen=True)
class Provenance:
    """Returns the data of the page."""

    facts: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    times: Times | None
    notes: tuple[str, ...]


def data(evaluation: Evaluation) -> Provenance:
    """The run's identity, versions, and what reading it back had to mend."""
    run = evaluation.run
    cases = sum(len(launch.cases) for launch in run.plan.launches)
    return Provenance(
        (
            ("Run", run.id),
            ("Folder", run.path),
            ("Started", run.started),
            ("Finished", "yes" if run.finished else "no: the run was interrupted and can be resumed"),
            ("Preset", run.plan.preset),
            ("Seed of the plan", str(run.plan.seed)),
            (
                "Planned",
                f"{len(run.plan.launches)} launches with {cases} records in total, {units.duration(run.plan.seconds)}",
            ),
            ("Records", str(len(run.records))),
        ),
        tuple(sorted(run.versions.items())),
        times(evaluation),
        run.notes,
    )
