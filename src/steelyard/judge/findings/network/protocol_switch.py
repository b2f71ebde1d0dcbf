"""Rule: finds the message size at which the MPI changes from the eager to the rendezvous protocol."""

from typing import NamedTuple

from steelyard.measure.mpi import find_by_label
from steelyard.model import Evaluation, Finding, Result
from steelyard.model.roles import Messages
from steelyard.model.units import binary_size, quantity, significant
from steelyard.statistics.models.artefact import place
from steelyard.statistics.models.hockney import Region, Switch, fit_regions, switches
from steelyard.statistics.results import cases, messages
from steelyard.statistics.results.benchmark_roles import find_roles
from steelyard.statistics.results.identity import Identity, identity

PINGPONG = "network.pingpong"  # its curves need no name, because one message is one direction of it
NAMED = 3  # curves of each kind in the list, which the many partners of a transfer would fill

CAUSE = (
    "Up to a limit, the MPI sends a message at once (eager protocol). Above it, the sender first waits for an answer of the "
    "receiver (rendezvous protocol), which costs a round trip but saves a copy. A wrong limit costs time."
)
REMEDY = "Raise the eager limit of this MPI and measure again, or send smaller messages. The settings of the limit: "


class Curve(NamedTuple):
    """The `switches` of a curve (at least one, the greatest first), the lines between them, and the `title` of its kind."""

    title: str
    curve: list[Result]
    switches: list[Switch]
    regions: tuple[Region, ...]


def find(evaluation: Evaluation) -> list[Finding]:
    """Returns one finding on all kinds of curves, with the clearest buffers for each placement, transport and MPI."""
    clearest: dict[Identity, Curve] = {}
    judged: dict[str, set[Identity]] = {}  # the settings of the judged curves, by the title of the curves
    # The ping-pong comes first by its name: if it shows a switch, the finding names it.
    for benchmark, role in ((name, role) for name, role in find_roles(evaluation, Messages) if role.title):
        for curve in messages.curves(cases.find(evaluation.results, benchmark, role.kernel)):
            lines = fit_regions(messages.times(curve))
            switching = _find_switches(evaluation, role.title, curve, lines)
            key = identity(curve[0], messages.SIZE, "buffers")
            if lines:
                judged.setdefault(role.title, set()).add(key)
            if switching and (key not in clearest or switching.switches[0].factor > clearest[key].switches[0].factor):
                clearest[key] = switching
    ordered = sorted(clearest.values(), key=lambda s: (list(judged).index(s.title), -s.switches[0].factor))
    return [_make_finding(ordered, judged)] if ordered else []


def _find_switches(evaluation: Evaluation, title: str, curve: list[Result], lines: tuple[Region, ...]) -> Curve | None:
    caches = messages.caches(evaluation.run.machine, curve[0])
    reused = cases.value(curve[0], "buffers") == "reused"
    # Reused buffers that exceed a cache also take longer at once, without a change of protocol; fresh ones lie in no cache.
    protocol_switches = [s for s in switches(lines) if not (reused and place(s.after, caches) != place(s.size, caches))]
    return Curve(title, curve, sorted(protocol_switches, key=lambda s: -s.factor), lines) if protocol_switches else None


def _make_finding(curves: list[Curve], judged: dict[str, set[Identity]]) -> Finding:
    most = curves[0].switches[0]
    claim = (
        f"A message of {binary_size(int(most.size))} takes {significant(most.factor, 2)} times as long as expected from "
        f"smaller messages ({_label(curves[0])}). The MPI changes its protocol above {binary_size(int(most.after))}."
        f"{cases.caution(*curves[0].curve)}"
    )
    named = [s for title in judged for s in [s for s in curves if s.title == title][:NAMED]]
    lines = tuple(line for s in named for line in (_describe_jumps(s), _describe_regions(s)))
    evidence, where = (*lines, *_count_by_kind(curves, judged)), curves[0].curve[0].benchmark
    return Finding(
        "protocol_switch",
        "notice",
        claim,
        evidence,
        CAUSE,
        REMEDY + _name_limits(curves),
        where,
        effect=most.factor,
        reach="program",
        brief=f"Messages of {binary_size(int(most.size))} take {significant(most.factor, 2)} times as long as smaller ones "
        "let expect.",
        action="raise the eager limit of the MPI",
    )


def _name_limits(curves: list[Curve]) -> str:
    """Returns the names of the settings for the limit, of each MPI with a switch and of UCX."""
    mpis = dict.fromkeys(str(s.curve[0].parameters.get("mpi", "")) for s in curves)
    settings = {k.name: f"{k.title} {k.eager}" for k in map(find_by_label, mpis) if k and k.eager}
    return ", ".join([*settings.values(), "UCX UCX_RNDV_THRESH."])


def _count_by_kind(curves: list[Curve], judged: dict[str, set[Identity]]) -> list[str]:
    """Returns how many curves of each kind show a switch; nothing for a single kind, whose lines show it."""
    if len(judged) < 2:
        return []
    counts = {title: sum(s.title == title for s in curves) for title in judged}
    return [
        f"{title}: {count or 'none'} of {len(judged[title])} curves show a switch." for title, count in counts.items()
    ]


def _label(curve: Curve) -> str:
    first = curve.curve[0]
    more = [str(first.parameters["direction"])] if "direction" in first.parameters else []
    more += [f"with rank {first.parameters['partner']}"] if "partner" in first.parameters else []
    words = [] if first.benchmark == PINGPONG else [curve.title]
    return ", ".join([*words, messages.describe_ranks(first), *more, f"{cases.value(first, 'buffers')} buffers"])


def _describe_jumps(curve: Curve) -> str:
    jumps = (
        f"{significant(s.factor, 2)} times between {binary_size(int(s.after))} and {binary_size(int(s.size))}"
        for s in curve.switches
    )
    return f"{_label(curve)}: {', '.join(jumps)}."


def _describe_regions(curve: Curve) -> str:
    what = "one direction" if curve.curve[0].benchmark == PINGPONG else "a message"
    return f"The time of {what} of n bytes, {_label(curve)}: {'; '.join(map(_describe_region, curve.regions))}."


def _describe_region(region: Region) -> str:
    startup = quantity(region.startup, "s")
    slope = f" + n / ({quantity(1 / region.per_byte, 'B/s')})" if region.per_byte else ""
    fit = f", within {quantity(region.worst, '%', 2)}"
    return f"{messages.sizes(region.first, region.last)}: {startup}{slope}{fit}"
