"""The record of an external program's case: samples, figures of merit and surroundings."""

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
    """One run of the program: seconds from start to end, exit code (None: stopped at the time limit), and output."""

    at: float
    seconds: float
    processor_seconds: float  # processor time of the process and its children
    faults: int
    code: int | None
    text: str
    errors: str


def make_failed_record(reason: Unfit) -> dict[str, Any]:
    """Returns the members of the record of a case that cannot be run."""
    return {"error": str(reason), "surroundings": {"details": {"failure": reason.kind}}}


def make_record(
    description: Description,
    runs: list[Run],
    outputs: list[Said],
    pace: tuple[Reading, list[Reading]],
    around: Mapping[str, Any],
    amounts: Mapping[str, float],
) -> dict[str, Any]:
    """Returns the members of the record. A rate is stored as work, so that its interval follows from that of the time."""
    samples = [
        output.time if output.time is not None else run.seconds for output, run in zip(outputs, runs, strict=True)
    ]
    work: dict[str, float] = {
        f.name: median(
            output.figures[f.name] * (t if f.rate else 1.0) for output, t in zip(outputs, samples, strict=True)
        )
        for f in description.figures
        if f.pattern
    }
    work.update(amounts)
    wrong = next((output.wrong for output in outputs if output.wrong), "")
    columns: dict[str, Any] = {"at": [r.at for r in runs], "seconds": [r.seconds for r in runs]}
    kinds = KINDS if pace[0] else ()
    columns |= {kind: [reading.get(kind) for reading in pace[1]] for kind in kinds}
    readings = {"pace": {"before": dict(pace[0]), "after": dict(pace[1][-1]), "waited": 0.0}} if pace[0] else {}
    phases = processor_accounts.sum_phases([output.phases for output in outputs])
    details: dict[str, Any] = {"failure": "wrong result"} if wrong else {}
    details |= {
        "figures": {f.name: [output.figures[f.name] for output in outputs] for f in description.figures if f.pattern}
    }
    details |= {"wall_seconds": [r.seconds for r in runs], "processor_seconds": [r.processor_seconds for r in runs]}
    surroundings = {**around, "samples": columns, "phases": phases, "details": details, **readings}
    return {
        "samples": samples,
        "operations": 1,
        "work": work,
        "check": {"passed": not wrong, "detail": wrong or outputs[-1].checked},
        "surroundings": surroundings,
    }
