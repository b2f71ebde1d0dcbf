"""Writes the line that asks a program for a case, and turns its answer into a record."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.errors import ProgramFailed
from steelyard.measure.plan.cost import setup_seconds
from steelyard.measure.plan.possible import cpus_of
from steelyard.measure.plan.refusal import STARTED
from steelyard.measure.records.best_pace import Best
from steelyard.model import Case, Check, Launch, Machine, Parameters, Record, Scalar, Verdict
from steelyard.model.evidence import noted
from steelyard.model.observed import Kind, Observed
from steelyard.model.plain import from_plain, scalar
from steelyard.statistics.validity.pace import UNBOUNDED, Bounds
from steelyard.statistics.validity.verdict import judge_record
from steelyard.system.answers import is_remark

# The harness's names of the bounds for undisturbed readings (native/pace.h).
BOUND_WORDS: Mapping[Kind, str] = {
    "core_clock": "least_clock",
    "issued": "least_issued",
    "stream": "least_stream",
    "chase": "most_chase",
}
LOOKING = "memory.stream"  # its program measures the pace of a machine; any kernel program could
TIME_LIMIT = 30.0  # seconds beyond four times the sampling and setup: a case that takes longer hangs


def time_limit(case: Case, machine: Machine) -> float:
    """Returns the seconds after which a case counts as hanging."""
    return TIME_LIMIT + 4 * (setup_seconds(case, machine) + 4 * case.sampling.seconds)


def built_with(toolchain: str, parameters: Parameters) -> str:
    """Returns the key of the program that a case needs: the toolchain, and for a parallel program also the MPI."""
    return f"{toolchain} {parameters['mpi']}" if "mpi" in parameters else toolchain


def line(
    machine: Machine, launch: Launch, index: int, case: Case, bounds: Bounds = UNBOUNDED, patience: float = 0.0
) -> str:
    """Returns the line for a case, in `name=value` words. A pure function, tested as text."""
    sampling = case.sampling
    of_program = {name: value for name, value in case.parameters.items() if name != "variant"}
    words: dict[str, Any] = {"case": index, "kernel": case.kernel, **of_program}
    words |= {"width": sampling.width, "seconds": sampling.seconds, "least": sampling.least, "most": sampling.most}
    if "mpi" in case.parameters:
        # The ranks need not know how they were started, but they check their number.
        words = {name: value for name, value in words.items() if name not in STARTED or name == "ranks"}
        words["limit"] = time_limit(case, machine)
    elif cpus := cpus_of(machine, case.parameters):
        words["cpus"] = ",".join(map(str, cpus))
    for kind, name in BOUND_WORDS.items():
        if (bound := bounds.bound(kind)) is not None:
            words[name] = f"{bound:.6g}"
    if patience > 0:
        words["patience"] = f"{patience:.3g}"
    return " ".join(f"{name}={value}" for name, value in words.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """A program's answer for a case. It has the types of a record, so that every record can be read back."""

    declared: Mapping[str, str] = field(default_factory=dict)
    check: Check = Check(False)  # noqa: RUF009  # frozen
    samples: tuple[float | None, ...] = ()
    operations: float = 0
    work: Mapping[str, float | None] = field(default_factory=dict)
    surroundings: Observed = field(default_factory=lambda: from_plain(Observed, {}))
    error: str | None = None


def record_of(
    launch: Launch, index: int, case: Case, attempt: int, answer: Mapping[str, Any], best: Best | None = None
) -> Record:
    """Converts the program's answer to a record, with a verdict that uses the best pace of the machine."""
    try:
        given = from_plain(_Answer, dict(answer))
    except ValueError as error:
        return failed_record(launch, index, case, attempt, f"The program's answer cannot be read: {error}", "no answer")
    declared = {k: scalar(v) for k, v in given.declared.items() if v != ""}
    if declared.get("plant") == "none":
        del declared["plant"]
    parameters: dict[str, Scalar] = {**declared, **case.parameters, "toolchain": launch.toolchain}
    record = Record(
        benchmark=case.benchmark,
        kernel=case.kernel,
        parameters=parameters,
        launch=launch.number,
        case=index,
        attempt=attempt,
        samples=tuple(math.nan if seconds is None else seconds for seconds in given.samples),
        operations=int(given.operations),
        work={k: v for k, v in given.work.items() if v is not None},
        check=given.check,
        verdict=Verdict("CLEAN"),  # until it is judged
        surroundings=given.surroundings,
        error=given.error,
    )
    return judge_record(record, best.bounds_of(record) if best else UNBOUNDED)


def describe_end(failure: ProgramFailed) -> str:
    """Returns how a program ended, and the first line that it printed."""
    ended = "did not end in time" if failure.code is None else f"ended with exit code {failure.code}"
    lines = [line.strip() for line in failure.output.splitlines() if re.search(r"\w", line)]
    first = next((line for line in lines if not is_remark(line)), lines[0] if lines else "nothing")
    return f"the program {ended}, and printed: {first}"


def failed_record(
    launch: Launch, index: int, case: Case, attempt: int, reason: str, detail: str = "did not end", brief: str = ""
) -> Record:
    """Returns the record of a case whose program died, or whose answer cannot be read, with the reason.

    The verdict has the reason, too, or `brief` words for it.
    """
    parameters = {**case.parameters, "toolchain": launch.toolchain}
    verdict = Verdict("INVALID", (noted("error", brief or reason),))
    return Record(
        benchmark=case.benchmark,
        kernel=case.kernel,
        parameters=parameters,
        launch=launch.number,
        case=index,
        attempt=attempt,
        samples=(),
        operations=0,
        work={},
        check=Check(False, detail),
        verdict=verdict,
        surroundings=from_plain(Observed, {}),
        error=reason,
    )
