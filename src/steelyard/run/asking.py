"""How a case is asked for, in a line that a program reads, and what its answer becomes: a record."""

from collections.abc import Mapping
from typing import Any

from steelyard.evidence import noted
from steelyard.model import Case, Check, Launch, Machine, Parameters, Record, Scalar, Verdict
from steelyard.model.plain import scalar
from steelyard.plan import cpus_of
from steelyard.plan.refusal import STARTED
from steelyard.records.shown import Best
from steelyard.statistics.pace import UNBOUNDED, Bounds, Kind
from steelyard.statistics.verdict import with_verdict

# Words that the harness reads for itself; everything else that a kernel read is one of its parameters.
HARNESS = {
    "case",
    "kernel",
    "cpus",
    "width",
    "seconds",
    "least",
    "most",
    "sample_seconds",
    "placement",
    "toolchain",
    "pinning",
    "limit",
    "least_clock",
    "least_issued",
    "least_stream",
    "most_chase",
    "patience",
}
# How the harness calls the bounds of what counts as undisturbed (native/pace.h).
BOUND_WORDS: Mapping[Kind, str] = {
    "core_clock": "least_clock",
    "issued": "least_issued",
    "stream": "least_stream",
    "chase": "most_chase",
}
TIME_LIMIT = 30.0  # seconds beyond four times the sampling and setup: a case that takes longer hangs


def time_limit(case: Case) -> float:
    """Seconds after which a case is taken to hang."""
    return TIME_LIMIT + 4 * (case.setup_seconds + 4 * case.sampling.seconds)


def built_with(toolchain: str, parameters: Parameters) -> str:
    """Which of a benchmark's programs a case needs: the toolchain's, and of a parallel one that of the MPI."""
    return f"{toolchain} {parameters['mpi']}" if "mpi" in parameters else toolchain


def line(
    machine: Machine, launch: Launch, index: int, case: Case, bounds: Bounds = UNBOUNDED, patience: float = 0.0
) -> str:
    """The case as the program reads it: `name=value` words. A pure function, tested as text."""
    sampling = case.sampling
    words: dict[str, Any] = {"case": index, "kernel": case.kernel, **case.parameters}
    words |= {"width": sampling.width, "seconds": sampling.seconds, "least": sampling.least, "most": sampling.most}
    if "mpi" in case.parameters:
        # How the ranks were started is no matter of theirs any more; their number is checked.
        words = {name: value for name, value in words.items() if name not in STARTED or name == "ranks"}
        words["limit"] = time_limit(case)
    elif cpus := cpus_of(machine, case.parameters):
        words["cpus"] = ",".join(map(str, cpus))
    for kind, name in BOUND_WORDS.items():
        if (bound := bounds.bound(kind)) is not None:
            words[name] = f"{bound:.6g}"
    if patience > 0:
        words["patience"] = f"{patience:.3g}"
    return " ".join(f"{name}={value}" for name, value in words.items())


def record_of(
    launch: Launch, index: int, case: Case, attempt: int, answer: Mapping[str, Any], best: Best | None = None
) -> Record:
    """The program's answer as a record, judged beside the best that the machine has shown."""
    declared = {k: scalar(v) for k, v in answer.get("declared", {}).items() if k not in HARNESS and v != ""}
    if declared.get("plant") == "none":
        del declared["plant"]
    parameters: dict[str, Scalar] = {**declared, **case.parameters, "toolchain": launch.toolchain}
    check = Check(bool(answer.get("check", {}).get("passed", False)), str(answer.get("check", {}).get("detail", "")))
    samples = tuple(float(s) if s is not None else float("nan") for s in answer.get("samples", []))
    surroundings = answer.get("surroundings", {})
    error = answer.get("error")
    operations, work = (
        int(answer.get("operations", 0)),
        {k: v for k, v in answer.get("work", {}).items() if v is not None},
    )
    record = Record(
        case.benchmark,
        case.kernel,
        parameters,
        launch.number,
        index,
        attempt,
        samples,
        operations,
        work,
        check,
        Verdict("CLEAN"),  # until it is judged
        surroundings,
        error,
    )
    return with_verdict(record, best.bounds_of(record) if best else UNBOUNDED)


def failed_record(launch: Launch, index: int, case: Case, attempt: int, reason: str) -> Record:
    """A case that ended its program: kept with the reason, and the run goes on."""
    parameters = {**case.parameters, "toolchain": launch.toolchain}
    verdict = Verdict("INVALID", (noted("error", reason),))
    return Record(
        case.benchmark,
        case.kernel,
        parameters,
        launch.number,
        index,
        attempt,
        (),
        0,
        {},
        Check(False, "did not end"),
        verdict,
        {},
        reason,
    )
