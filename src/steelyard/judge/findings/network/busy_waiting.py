"""Rule: finds ranks that share a processor and wait in a loop, so that each message takes a time slice of the scheduler."""

from statistics import median
from typing import NamedTuple

from steelyard.measure.mpi import find_by_label
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.units import quantity, significant
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.identity import Identity, identity
from steelyard.statistics.results.result import rests_on
from steelyard.statistics.validity.observations import numbers

SLOWER = 10.0  # times the slowdown that the number of ranks explains
# Linux runs a task for 0.7 to 3 ms before a waiting one gets the processor (sched/base_slice_ns, min_granularity_ns).
TURN = 0.7e-3
SMALL = 64 << 10  # bytes: the transfer of a larger message may itself take milliseconds
WAITED = 0.2  # share of the time that a rank waits for a processor; waits for the network do not count
NAMED = 8  # results that are listed

MOVING = ("ranks", "partner", "pairs", "round", "placement")  # parameters that change with the number of ranks


class Waiting(NamedTuple):
    """A result with more ranks than processors, the same case with fewer ranks, and the ratio of their times."""

    crowded: Result
    spare: Result | None
    factor: float


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding for each MPI on small messages and collectives that more ranks than processors make far slower."""
    # Kernels without messages never wait for messages.
    network = [r for r in evaluation.results if r.benchmark.startswith("network.") and cases.number(r, "ranks")]
    usable = [r for r in network if messages.size(r) <= SMALL and messages.operation(r) > 0]
    spare: dict[Identity, Result] = {}
    for result in sorted((r for r in usable if not messages.oversubscribed(r)), key=_ranks):
        spare[identity(result, *MOVING)] = result
    by_mpi: dict[str, list[Waiting]] = {}
    for result in filter(messages.oversubscribed, usable):
        waiting = _judge_waiting(result, spare.get(identity(result, *MOVING)))
        if waiting:
            by_mpi.setdefault(str(result.parameters.get("mpi", "")), []).append(waiting)
    return [_make_finding(mpi, sorted(waiting, key=lambda s: -s.factor)) for mpi, waiting in by_mpi.items()]


def _ranks(result: Result) -> float:
    return cases.number(result, "ranks") or 1.0


def _judge_waiting(crowded: Result, spare: Result | None) -> Waiting | None:
    """Returns None if the number of ranks explains the time: all ranks exchange with all, and take turns on a processor."""
    seconds = messages.operation(crowded)
    if spare is None:
        return Waiting(crowded, None, seconds / TURN) if seconds > TURN and _waiting_share(crowded) > WAITED else None
    explained = (_ranks(crowded) / _ranks(spare)) ** 3
    factor = seconds / messages.operation(spare)
    return Waiting(crowded, spare, factor) if factor > SLOWER * explained else None


def _waiting_share(result: Result) -> float:
    """Returns the share of the time in which ranks waited for a processor, the median of the records; it may exceed 1."""
    samples = [r.surroundings.samples for r in rests_on(result)]
    columns = [(numbers(s.waited), numbers(s.seconds)) for s in samples]
    shares = [float(w.sum() / s.sum()) for w, s in columns if len(w) == len(s) and s.sum() > 0]
    return median(shares) if shares else 0.0


def _make_finding(mpi: str, waits: list[Waiting]) -> Finding:
    most = waits[0]
    claim = (
        f"Waiting ranks of {mpi or 'the MPI'} keep their processors busy. With {_ranks(most.crowded):g} ranks on fewer "
    )
    claim += "processors, an operation takes "
    if most.spare is not None:
        claim += (
            f"up to {significant(most.factor, 2)} times as long as with {_ranks(most.spare):g} ranks "
            f"({quantity(messages.operation(most.crowded), 's')} instead of {quantity(messages.operation(most.spare), 's')})."
        )
    else:
        claim += f"{quantity(messages.operation(most.crowded), 's')}, longer than a time slice of the scheduler."
    lines: dict[str, str] = {}
    for wait in waits:  # the worst of each kernel and size comes first
        lines.setdefault(_label(wait.crowded), _format_times(wait))
    flavour = find_by_label(mpi)
    advice = (flavour and flavour.waiting) or "read in the manual of the MPI how its ranks yield the processor"
    evidence = tuple(f"{what}: {times}." for what, times in lines.items())[:NAMED]
    cause = (
        "A waiting rank checks for its message again and again. It keeps the processor busy until the scheduler runs the "
        "rank that should send the message. Each message then costs a time slice of about a millisecond."
    )
    remedy = f"Start at most one rank per processor. If you need more ranks: {advice}. Then measure whether it helps."
    return Finding("busy_waiting", "notice", claim, evidence, cause, remedy, effect=most.factor, reach="program")


def _label(result: Result) -> str:
    size = messages.size(result)
    of_size = f", {messages.sizes(size, size)}" if messages.SIZE in result.parameters else ""
    return f"{result.benchmark} {result.kernel}{of_size}"


def _format_times(wait: Waiting) -> str:
    before = f", {quantity(messages.operation(wait.spare), 's')} with {_ranks(wait.spare):g}" if wait.spare else ""
    return f"{quantity(messages.operation(wait.crowded), 's')} with {_ranks(wait.crowded):g} ranks{before}"
