"""Provenance: what is needed to do the same run again, and to find its data."""

import shlex
from dataclasses import dataclass

from steelyard.measure.plan.variants import meanings
from steelyard.model import Evaluation, Imported, Run, units
from steelyard.model.words import plural
from steelyard.show.report.pages.provenance.time_account import Times
from steelyard.show.report.pages.provenance.time_account import data as times

PLACE, TITLE = 130, "Provenance"
IMPORTED = True


@dataclass(frozen=True)
class Provenance:
    """Returns the data of the page."""

    facts: tuple[tuple[str, str], ...]
    versions: tuple[tuple[str, str], ...]
    times: Times | None
    notes: tuple[str, ...]
    files: tuple[str, ...] = ()  # that the values of an imported run come from


def data(evaluation: Evaluation) -> Provenance:
    """The run's identity, versions, and what reading it back had to mend."""
    run = evaluation.run
    if run.imported:
        return _list_imported_facts(run, run.imported)
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
            *((f"Variant {name}", text) for name, text in meanings(run.site.variants).items()),
            ("Records", str(len(run.records))),
        ),
        tuple(sorted(run.versions.items())),
        times(evaluation),
        run.notes,
    )


def _list_imported_facts(run: Run, imported: Imported) -> Provenance:
    facts = [("Run", run.id), ("Folder", run.path), ("Measured", run.started or "at an unknown time")]
    facts += [(tool, plural(count, "file")) for tool, count in imported.tools.items()]
    facts += [("Command", shlex.join(run.command))] if run.command else []
    return Provenance(tuple(facts), (), None, run.notes, tuple(sorted(imported.files.values())))
