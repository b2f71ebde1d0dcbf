"""The record of a case of somebody else's program: its samples, figures, and what stood around them."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from steelyard.applications.foreign import Description, processor_accounts
from steelyard.applications.foreign.benchmark import Unfit
from steelyard.applications.foreign.output import Said
from steelyard.applications.foreign.pace_readings import KINDS, Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of the program: seconds from start to end, processor seconds of its tree, exit code (None: ended by us), output."""

    at: float
    seconds: float
    own: float
    faults: int
    code: int | None
    text: str
    errors: str


def failed(reason: Unfit) -> dict[str, Any]:
    """The record's members where the case cannot be."""
    return {"error": str(reason), "surroundings": {"details": {"failure": reason.kind}}}


def answer(
    description: Description,
    runs: list[Run],
    found: list[Said],
    pace: tuple[Reading, list[Reading]],
    around: Mapping[str, Any],
    amounts: Mapping[str, float],
) -> dict[str, Any]:
    """The record's members. A rate is kept as work, so that its interval follows from that of the time."""
    samples = [said.time if said.time is not None else run.seconds for said, run in zip(found, runs, strict=True)]
    work: dict[str, float] = {
        f.name: median(said.figures[f.name] * (t if f.rate else 1.0) for said, t in zip(found, samples, strict=True))
        for f in description.figures
        if f.pattern
    }
    work.update(amounts)
    wrong = next((said.wrong for said in found if said.wrong), "")
    columns: dict[str, Any] = {"at": [r.at for r in runs], "seconds": [r.seconds for r in runs]}
    kinds = KINDS if pace[0] else ()
    columns |= {kind: [each.get(kind) for each in pace[1]] for kind in kinds}
    readings = {"pace": {"before": dict(pace[0]), "after": dict(pace[1][-1]), "waited": 0.0}} if pace[0] else {}
    phases = processor_accounts.phases_of([said.phases for said in found])
    details: dict[str, Any] = {"failure": "wrong result"} if wrong else {}
    details |= {"figures": {f.name: [said.figures[f.name] for said in found] for f in description.figures if f.pattern}}
    details |= {"wall_seconds": [r.seconds for r in runs], "processor_seconds": [r.own for r in runs]}
    surroundings = {**around, "samples": columns, "phases": phases, "details": details, **readings}
    return {
        "samples": samples,
        "operations": 1,
        "work": work,
        "check": {"passed": not wrong, "detail": wrong or found[-1].checked},
        "surroundings": surroundings,
    }
