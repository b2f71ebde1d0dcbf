"""Rule: whether messages take the fast way: shared memory within a machine, and the network's full rate between two."""

from typing import NamedTuple

from steelyard.model import Evaluation, Finding, Limit, Machine, Result
from steelyard.mpi import labelled
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.cost import Ratio, cost, ratio
from steelyard.units import binary_size, percent, quantity, significant

BENCHMARK = "network.pingpong"
SMALL = 1 << 10  # bytes: up to here a message costs what its way costs, not what its bytes do
# A copy through shared memory takes less than a microsecond, a way through the kernel's network several.
SHARED, SAME, KERNEL = 2.0, 1.2, 2e-6
ABOVE = 1.05  # times the link's rate: more cannot be
LINK_SHARE = 0.5  # of the link's rate; TCP on a fast fabric and one slot too narrow stay below it


class Observed(NamedTuple):
    """The same small message by default and without shared memory; `gain` is how much longer the latter takes."""

    usual: Result
    other: Result
    gain: Ratio


def find(evaluation: Evaluation) -> list[Finding]:
    """By MPI: within a machine from ping-pongs with and without shared memory; between machines where the rate is known."""
    usable = [r for r in evaluation.results if not messages.oversubscribed(r)]
    pingpong = [r for r in cases.of(usable, BENCHMARK, "pingpong") if cases.value(r, "buffers") == "reused"]
    found: list[Finding] = []
    for mpi in dict.fromkeys(str(r.parameters.get("mpi", "")) for r in pingpong):
        mine = [r for r in pingpong if r.parameters.get("mpi", "") == mpi]
        found += [*_within(mpi, mine), *_between(mpi, mine, evaluation.run.machine)]
    return found


def _within(mpi: str, results: list[Result]) -> list[Finding]:
    small = [r for r in results if messages.size(r) <= SMALL and r.parameters.get("placement") != "other node"]
    pairs = cases.pairs(small, "transport", "default", "no shared memory")
    observed = [Observed(a, b, gain) for a, b in pairs if (gain := ratio(b, a))]
    if not observed:
        return []
    lines = tuple(_line(s) for s in sorted(observed, key=lambda s: messages.size(s.usual)))
    least, caution = min(observed, key=lambda s: s.gain.value), cases.caution(*(r for s in observed for r in s[:2]))
    if all(s.gain.high < SAME for s in observed) and _seconds(least.other) < KERNEL:
        reported = (
            f"The transport 'no shared memory' of {mpi or 'the MPI'} is as fast as the default: {_line(least)}{caution} So short "
            f"is no way through the kernel's network."
        )
        cause = "The MPI's switch did not take: some layer below still uses shared memory."
        remedy = "Do not take these results for those of a network; see which transport it takes (UCX_LOG_LEVEL=info, fi_info)."
        return [Finding("slow_transport", "notice", reported, lines, cause, remedy, BENCHMARK)]
    if all(s.gain.high < SAME for s in observed):
        reported = f"{mpi or 'The MPI'} is no faster with shared memory than without: {_line(least)}{caution}"
        cause = "Shared memory is not used within this machine: its component is missing, switched off, or may not be used here."
        remedy = f"{_advice(mpi)}. In a container allow it enough of /dev/shm."
        return [Finding("slow_transport", "notice", reported, lines, cause, remedy, BENCHMARK)]
    if all(s.gain.low > SHARED for s in observed):
        first = min(observed, key=lambda s: messages.size(s.usual))
        reported = (
            f"{mpi or 'The MPI'} uses shared memory within the machine: without it a message of "
            f"{binary_size(messages.size(first.usual))} takes {quantity(_seconds(first.other), 's')} instead of "
            f"{quantity(_seconds(first.usual), 's')}, {significant(first.gain.value, 2)} times as long.{caution}"
        )
        return [
            Finding(
                "slow_transport", "good", reported, lines, "The copy goes without the kernel's network.", "", BENCHMARK
            )
        ]
    return []


def _between(mpi: str, results: list[Result], machine: Machine) -> list[Finding]:
    """Only where a system file tells the link's rate: what networks a host has the settings do not tell."""
    link = machine.limits.get("network_bandwidth")
    across = [r for r in cases.where(results, transport="default", placement="other node") if "bandwidth" in r.metrics]
    if link is None or not link.value > 0 or not across:
        return []
    best = max(across, key=lambda r: r.metrics["bandwidth"].value)
    rate = best.metrics["bandwidth"].value
    if rate > ABOVE * link.value:
        return [_beyond(best, rate, link)]
    if not 0 < rate < LINK_SHARE * link.value:
        return []
    reported = (
        f"Between two hosts {mpi or 'the MPI'} reaches {quantity(rate, 'B/s')}, {percent(rate / link.value)} of the link's "
        f"{quantity(link.value, 'B/s')}.{cases.caution(best)}"
    )
    evidence = (f"The best is {binary_size(messages.size(best))}; the link's rate: {link.source}.",)
    cause = (
        "The messages may go by TCP or another network than the one that is meant, or the card's slot is too narrow."
    )
    remedy = f"See which the MPI takes ({_verbose(mpi)})."
    return [Finding("slow_transport", "notice", reported, evidence, cause, remedy, BENCHMARK, effect=link.value / rate)]


def _beyond(best: Result, rate: float, link: Limit) -> Finding:
    return Finding(
        "slow_transport",
        "notice",
        f"Between two hosts a message of {binary_size(messages.size(best))} moves {quantity(rate, 'B/s')}, "
        f"{percent(rate / link.value)} of the link's {quantity(link.value, 'B/s')}: more than the link cannot be."
        f"{cases.caution(best)}",
        (f"The link's rate: {link.source}.",),
        "The rate in the system file is not that of this link, there are several links, or the hosts share a machine.",
        "Mend network_bandwidth in the system file, or see over which network the MPI goes.",
        BENCHMARK,
        effect=rate / link.value,
        reach="figures",
    )


def _line(observed: Observed) -> str:
    times = [quantity(_seconds(result), "s") for result in observed[:2]]
    return (
        f"{binary_size(messages.size(observed.usual))}, {messages.called(observed.usual)}: {times[0]} by default, "
        f"{times[1]} without "
        f"shared memory, {significant(observed.gain.value)} times ({significant(observed.gain.low)} to "
        f"{significant(observed.gain.high)})."
    )


def _seconds(result: Result) -> float:
    """Of one way; of results that have a ratio, which have a cost."""
    known = cost(result)
    return known.seconds if known else 0.0


def _advice(mpi: str) -> str:
    known = labelled(mpi)
    return (
        f"{known.title}: {known.shared_memory}"
        if known and known.shared_memory
        else "See how this MPI is told its transport"
    )


def _verbose(mpi: str) -> str:
    """How it is made to tell its transport: by its own switch, or by those of the layers below."""
    known = labelled(mpi)
    own = [f"{known.title}: {known.verbose}"] if known and known.verbose else []
    return "; ".join([*own, "UCX: UCX_LOG_LEVEL=info", "libfabric: fi_info"])
