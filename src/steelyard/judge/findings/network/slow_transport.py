"""Rule: checks whether messages use the fast transport: shared memory within a machine, the full network rate between two."""

from typing import NamedTuple

from steelyard.measure.mpi import find_by_label, steers_transport
from steelyard.measure.plan import mpi_in_effect
from steelyard.model import Evaluation, Finding, Limit, Machine, Result, Run, Setting
from steelyard.model.mpi_settings import ENVIRONMENT, describe, describe_source
from steelyard.model.units import binary_size, percent, quantity, significant
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.cost import Ratio, cost, ratio
from steelyard.statistics.validity.limits import is_above

BENCHMARK = "network.pingpong"
SMALL = 1 << 10  # bytes: up to this size, the latency of the transport dominates
# A copy through shared memory takes less than a microsecond; the network stack of the kernel takes several.
SHARED, SAME, COPY, KERNEL = 2.0, 1.2, 1e-6, 2e-6
LINK_SHARE = 0.5  # of the link rate; TCP on a fast fabric or a slot that is too narrow reaches less


class Pair(NamedTuple):
    """The same small message by default and without shared memory; `gain` is the ratio of the two times."""

    usual: Result
    other: Result
    gain: Ratio


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns findings for each MPI: within a machine with and without shared memory, between machines if the rate is known."""
    usable = [r for r in evaluation.results if not messages.oversubscribed(r)]
    pingpong = [r for r in cases.find(usable, BENCHMARK, "pingpong") if cases.value(r, "buffers") == "reused"]
    findings: list[Finding] = []
    run = evaluation.run
    for mpi in dict.fromkeys(str(r.parameters.get("mpi", "")) for r in pingpong):
        curves = [r for r in pingpong if r.parameters.get("mpi", "") == mpi]
        small = [r for r in curves if _is_small(r)]
        findings += _report_steered(mpi, small, run) or _judge_within_machine(mpi, small)
        findings += _judge_network(mpi, curves, run.machine)
    return findings


def _is_small(result: Result) -> bool:
    return messages.size(result) <= SMALL and result.parameters.get("placement") != "other node"


def _report_steered(mpi: str, small: list[Result], run: Run) -> list[Finding]:
    """Returns a finding if small messages within the machine are slow where a setting of the user chooses the transport."""
    flavour = find_by_label(mpi)
    usual = [
        r for r in small if r.parameters.get("transport", "default") == "default"
    ]  # of another one, the case has chosen it
    slow = [(r, chosen) for r in usual if _seconds(r) >= KERNEL and (chosen := _list_transport_settings(r, run))]
    if not slow or flavour is None:
        return []
    first, chosen = min(slow, key=lambda pair: messages.size(pair[0]))
    settings = list(dict.fromkeys(s for _, chosen in slow for s in chosen))
    claim = (
        f"Messages within the machine are as slow as over TCP: {flavour.title} takes {quantity(_seconds(first), 's')} for "
        f"{binary_size(messages.size(first))}, while {describe(chosen)} chooses its transport.{cases.caution(first)}"
    )
    lines = tuple(f"{s.name}={s.value} is {describe_source(s)}." for s in settings)
    cause = "Shared memory takes less than a microsecond. This setting excludes it, or the MPI cannot use it."
    variables = " ".join(s.name for s in settings if s.source == ENVIRONMENT)
    steps = [f"Run unset {variables}."] if variables else []
    steps += [f"Remove {s.name} from {s.source}." for s in settings if s.source != ENVIRONMENT]
    remedy = f"{' '.join(steps)} Then measure again. If that has no effect: {_suggest_transport(mpi)}."
    return [Finding("slow_transport", "notice", claim, lines, cause, remedy, BENCHMARK, effect=_seconds(first) / COPY)]


def _list_transport_settings(result: Result, run: Run) -> tuple[Setting, ...]:
    """Returns the settings of the user that choose the transport of a case."""
    flavour = find_by_label(str(result.parameters.get("mpi", "")))
    settings = mpi_in_effect.list_of_case(run.machine, run.site, result.parameters)
    return tuple(s for s in settings if flavour and steers_transport(s, flavour))


def _judge_within_machine(mpi: str, small: list[Result]) -> list[Finding]:
    pairs = cases.pair(small, "transport", "default", "no shared memory")
    compared = [Pair(a, b, gain) for a, b in pairs if (gain := ratio(b, a))]
    if not compared:
        return []
    lines = tuple(_describe_pair(s) for s in sorted(compared, key=lambda s: messages.size(s.usual)))
    least, caution = min(compared, key=lambda s: s.gain.value), cases.caution(*(r for s in compared for r in s[:2]))
    if all(s.gain.high < SAME for s in compared) and _seconds(least.other) < KERNEL:
        claim = (
            f"The transport 'no shared memory' of {mpi or 'the MPI'} is as fast as the default: {_tell_times(least)}.{caution} "
            "The network stack of the kernel cannot be that fast."
        )
        cause = "The setting of the MPI had no effect: a lower layer still uses shared memory."
        remedy = (
            "Do not use these results as those of a network. Check which transport the MPI uses "
            "(UCX_LOG_LEVEL=info, fi_info)."
        )
        return [Finding("slow_transport", "notice", claim, lines, cause, remedy, BENCHMARK)]
    if all(s.gain.high < SAME for s in compared):
        claim = f"{mpi or 'The MPI'} is no faster with shared memory than without it: {_tell_times(least)}.{caution}"
        cause = "The MPI does not use shared memory on this machine: its component is missing, switched off or not permitted."
        remedy = f"{_suggest_transport(mpi)}. In a container, make /dev/shm large enough."
        return [Finding("slow_transport", "notice", claim, lines, cause, remedy, BENCHMARK)]
    if all(s.gain.low > SHARED for s in compared):
        first = min(compared, key=lambda s: messages.size(s.usual))
        claim = (
            f"{mpi or 'The MPI'} uses shared memory within the machine. Without it, a message of "
            f"{binary_size(messages.size(first.usual))} takes {quantity(_seconds(first.other), 's')} instead of "
            f"{quantity(_seconds(first.usual), 's')}, {significant(first.gain.value, 2)} times as long.{caution}"
        )
        return [
            Finding(
                "slow_transport",
                "good",
                claim,
                lines,
                "The copy does not use the network stack of the kernel.",
                "",
                BENCHMARK,
            )
        ]
    return []


def _judge_network(mpi: str, results: list[Result], machine: Machine) -> list[Finding]:
    """Returns a finding if a system file contains the link rate; the settings do not show which networks a host has."""
    link = machine.limits.get("network_bandwidth")
    across = cases.select(results, transport="default", placement="other node")
    across = [r for r in across if "bandwidth" in r.metrics and not messages.shared_a_machine(r)]
    if link is None or not link.value > 0 or not across:
        return []
    best = max(across, key=lambda r: r.metrics["bandwidth"].value)
    rate = best.metrics["bandwidth"].value
    if is_above(best.metrics["bandwidth"], link):
        return [_report_above_link(best, rate, link)]
    if not 0 < rate < LINK_SHARE * link.value:
        return []
    claim = (
        f"Between two hosts, {mpi or 'the MPI'} reaches {quantity(rate, 'B/s')}: {percent(rate / link.value)} of the link rate "
        f"of {quantity(link.value, 'B/s')}.{cases.caution(best)}"
    )
    evidence = (f"The fastest message size is {binary_size(messages.size(best))}. The link rate: {link.source}.",)
    cause = "The messages may use TCP or the wrong network, or the slot of the network card is too narrow."
    remedy = f"Check which network the MPI uses ({_suggest_verbose_settings(mpi)})."
    return [Finding("slow_transport", "notice", claim, evidence, cause, remedy, BENCHMARK, effect=link.value / rate)]


def _report_above_link(best: Result, rate: float, link: Limit) -> Finding:
    claim = (
        f"Between two hosts, messages of {binary_size(messages.size(best))} reach {quantity(rate, 'B/s')}: "
        f"{percent(rate / link.value)} of the link rate of {quantity(link.value, 'B/s')}. No message can exceed the link rate."
        f"{cases.caution(best)}"
    )
    evidence = (f"The link rate: {link.source}.",)
    cause = "The system file has the rate of another link, there are several links, or the hosts are the same machine."
    remedy = "Correct network_bandwidth in the system file, or check which network the MPI uses."
    return Finding(
        "slow_transport", "notice", claim, evidence, cause, remedy, BENCHMARK, effect=rate / link.value, reach="figures"
    )


def _tell_times(pair: Pair) -> str:
    usual, other = (quantity(_seconds(result), "s") for result in pair[:2])
    return f"a message of {binary_size(messages.size(pair.usual))} takes {usual} by default and {other} without shared memory"


def _describe_pair(pair: Pair) -> str:
    times = [quantity(_seconds(result), "s") for result in pair[:2]]
    return (
        f"{binary_size(messages.size(pair.usual))}, {messages.describe_ranks(pair.usual)}: {times[0]} by default, "
        f"{times[1]} without shared memory, {significant(pair.gain.value)} times ({significant(pair.gain.low)} to "
        f"{significant(pair.gain.high)})."
    )


def _seconds(result: Result) -> float:
    """Returns the time of one direction."""
    message_cost = cost(result)
    return message_cost.seconds if message_cost else 0.0


def _suggest_transport(mpi: str) -> str:
    flavour = find_by_label(mpi)
    return (
        f"{flavour.title}: {flavour.shared_memory}"
        if flavour and flavour.shared_memory
        else "See the manual of this MPI for how to choose its transport"
    )


def _suggest_verbose_settings(mpi: str) -> str:
    """Returns the settings with which the MPI and the layers below it report their transport."""
    flavour = find_by_label(mpi)
    switches = [f"{flavour.title}: {flavour.verbose}"] if flavour and flavour.verbose else []
    return "; ".join([*switches, "UCX: UCX_LOG_LEVEL=info", "libfabric: fi_info"])
