"""Rule: where a message takes longer at once, since the MPI asks the receiver first: eager messages end, rendezvous begins."""

from typing import NamedTuple

from steelyard.model import Evaluation, Finding, Result
from steelyard.statistics import cases, messages
from steelyard.statistics.artefact import place
from steelyard.statistics.hockney import Region, Switch, regions, switches
from steelyard.units import binary_size, quantity, significant

BENCHMARK, KERNEL = "network.pingpong", "pingpong"
NAMED = 8  # curves that are listed

CAUSE = (
    "Up to a limit the MPI sends at once into a buffer of its own (eager); beyond it asks the receiver first, and copies "
    "once (rendezvous). The question costs a round trip, and a limit that is too low or too high costs more."
)
REMEDY = (
    "Move the limit and measure again, or keep the program's messages on the better side: Open MPI OMPI_MCA_btl_tcp_eager_limit "
    "and OMPI_MCA_btl_sm_eager_limit (version 4: btl_vader_eager_limit), MPICH MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD and "
    "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD, UCX UCX_RNDV_THRESH."
)


class Seen(NamedTuple):
    """The `switches` of a curve (at least one), the greatest first, and the lines between them."""

    curve: list[Result]
    switches: list[Switch]
    regions: tuple[Region, ...]


def find(evaluation: Evaluation) -> list[Finding]:
    """Of each placement, transport and MPI the kind of buffers that shows it more clearly."""
    clearest: dict[tuple[str, ...], Seen] = {}
    for curve in messages.curves(evaluation.results, BENCHMARK, KERNEL):
        seen = _switches(evaluation, curve)
        key = messages.alike(curve[0], messages.SIZE, "buffers")
        if seen and (key not in clearest or seen.switches[0].factor > clearest[key].switches[0].factor):
            clearest[key] = seen
    return [_finding(sorted(clearest.values(), key=lambda s: -s.switches[0].factor))] if clearest else []


def _switches(evaluation: Evaluation, curve: list[Result]) -> Seen | None:
    lines = regions(messages.times(curve))
    caches = messages.caches(evaluation.run.machine, curve[0])
    reused = cases.value(curve[0], "buffers") == "reused"
    # Buffers that outgrow a cache take longer at once, too, without any change of protocol: fresh ones never lay in one.
    found = [s for s in switches(lines) if not (reused and place(s.after, caches) != place(s.size, caches))]
    return Seen(curve, sorted(found, key=lambda s: -s.factor), lines) if found else None


def _finding(seen: list[Seen]) -> Finding:
    most = seen[0].switches[0]
    told = (
        f"From {binary_size(int(most.size))} on a message takes {significant(most.factor, 2)} times as long as smaller ones "
        f"foretell ({_called(seen[0])}): above {binary_size(int(most.after))} the MPI changes its protocol."
        f"{cases.caution(*seen[0].curve)}"
    )
    lines = tuple(line for s in seen[:NAMED] for line in (_jumps(s), _lines(s)))
    return Finding("protocol_switch", "notice", told, lines, CAUSE, REMEDY, BENCHMARK)


def _called(seen: Seen) -> str:
    return f"{messages.called(seen.curve[0])}, {cases.value(seen.curve[0], 'buffers')} buffers"


def _jumps(seen: Seen) -> str:
    jumps = (
        f"{significant(s.factor, 2)} times between {binary_size(int(s.after))} and {binary_size(int(s.size))}"
        for s in seen.switches
    )
    return f"{_called(seen)}: {', '.join(jumps)}."


def _lines(seen: Seen) -> str:
    return f"The time of one way of n bytes, {_called(seen)}: {'; '.join(map(_line, seen.regions))}."


def _line(region: Region) -> str:
    startup = quantity(region.startup, "s")
    slope = f" + n / ({quantity(1 / region.per_byte, 'B/s')})" if region.per_byte else ""
    fit = f", within {quantity(region.worst, '%', 2)}"
    return f"{messages.sizes(region.first, region.last)}: {startup}{slope}{fit}"
