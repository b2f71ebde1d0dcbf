"""The network of a replay: LogGOPS parameters for each class of pairs of ranks, from a scenario or from a run.

Model: T. Hoefler, T. Schneider & A. Lumsdaine 2010, "LogGOPSim – Simulating Large-Scale Applications in the LogGOPS Model"
(HPDC). A message of s bytes takes o + (s−1)·O of the processor of the sender, and as much of the receiver. It takes
L + (s−1)·G on the network. A network interface begins its next message g + (s−1)·G later. Messages larger than S wait until
they are received: their request and its answer take L each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from steelyard.errors import UsageError
from steelyard.model import Result
from steelyard.whatif import wording
from steelyard.whatif.wording import Key

if TYPE_CHECKING:
    from steelyard.statistics.models.loggp import LogGP

EAGER = 65535  # B: default of S, as in other simulators of this model


# A message is received whole, from its last byte on; or as a stream that keeps the processor busy from the first byte on, as
# in the simulator LogGOPSim.
Receive = Literal["whole", "stream"]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The parameters of messages of `first` bytes and more, until the next protocol begins: s, and s/B for O and G."""

    L: float = 0.0
    o: float = 0.0
    g: float = 0.0
    O: float = 0.0  # noqa: E741  # the letter of the model
    G: float = 0.0
    first: int = 0


@dataclass(frozen=True, kw_only=True)
class Network:
    """`across` for ranks of two nodes, `within` for those of one (None: the same), `socket` and `cache` for those that
    share such (None: as `within`); protocols by rising size.
    """

    across: tuple[Protocol, ...]
    within: tuple[Protocol, ...] | None = None
    eager: int = EAGER  # S, B
    name: str = ""
    socket: tuple[Protocol, ...] | None = None
    cache: tuple[Protocol, ...] | None = None
    receive: Receive = "whole"


# A network on which messages cost nothing.
IDEAL = Network(across=(Protocol(),), eager=1 << 50, name="ideal")


# The keys of a scenario, with the letter of the model that each stands for.
LETTERS = {
    "latency": "L",
    "overhead": "o",
    "gap": "g",
    "time_per_byte": "G",
    "overhead_per_byte": "O",
    "eager": "S",
}
PROTOCOL = {
    "latency": wording.TIME,
    "overhead": wording.TIME,
    "gap": wording.TIME,
    "time_per_byte": wording.TIME_PER_BYTE,
    "overhead_per_byte": wording.TIME_PER_BYTE,
}
OF_ALL = {"eager": wording.SIZE, "receive": Key(wording.one_of(*get_args(Receive)))}  # hold for all pairs of ranks
INSIDE = ("within", "socket", "cache")  # where two ranks of one node lie; the fields of `Network`
NETWORK = {"run": wording.NAME, **PROTOCOL, **OF_ALL, **dict.fromkeys(INSIDE, PROTOCOL)}
# The placements that network.model measures, for each place within a node; the best match first.
_MEASURED = {
    "within": ("other socket", "same socket", "same memory node", "same cache", "same core", "compact"),
    "socket": ("same memory node", "same socket"),
    "cache": ("same cache",),
}


def make_protocols(values: Mapping[str, Any]) -> tuple[Protocol, ...]:
    """Returns one protocol for messages of all sizes; a parameter that is not named costs nothing."""
    return (Protocol(**{LETTERS[name]: value for name, value in values.items()}),)


def make_network(values: Mapping[str, Any]) -> Network:
    """Returns the network of the keys in `PROTOCOL` and `OF_ALL`."""
    across = make_protocols({name: value for name, value in values.items() if name in PROTOCOL})
    return Network(across=across, eager=values.get("eager", EAGER), receive=values.get("receive", "whole"))


def read_network(results: Sequence[Result], name: str) -> Network:
    """Returns the network that `network.model` measured in a run. UsageError if there are no or too few results."""
    from steelyard.measure.benchmarks.network.protocol import networks as apart

    groups = list(apart([r for r in results if r.benchmark == "network.model"]).values())
    across = next((g for g in groups if g[0].parameters.get("placement") == "other node"), None)
    others = [g for g in groups if g is not across and g[0].parameters.get("transport") == "default"]
    near = {place: _select_nearest(others, placements) for place, placements in _MEASURED.items()}
    within = near["within"] or next(iter(others), None)
    chosen = across or within
    if chosen is None:
        raise UsageError(
            f"The run {name} has no parameters of a network: measure them with 'steelyard run --only network.model'."
        )
    eager = _find_eager_limit(chosen)
    within_protocols = _make_measured(within, eager, name) if across and within else None
    socket, cache = (
        _make_measured(results_of_place, eager, name)
        if (results_of_place := near[place]) and results_of_place is not within
        else None
        for place in ("socket", "cache")
    )
    return Network(
        across=_make_measured(chosen, eager, name),
        within=within_protocols,
        eager=eager,
        name=name,
        socket=socket,
        cache=cache,
    )


def _select_nearest(groups: Sequence[Sequence[Result]], placements: Sequence[str]) -> Sequence[Result] | None:
    """Returns the results of the first of these placements that was measured."""
    by_placement = {g[0].parameters.get("placement"): g for g in reversed(groups)}
    return next((by_placement[placement] for placement in placements if placement in by_placement), None)


def _make_measured(results: Sequence[Result], eager: int, name: str) -> tuple[Protocol, ...]:
    from steelyard.measure.benchmarks.network.model import fits

    protocols = [_make_protocol(fit, eager) for _, fit in fits(results) if fit.gaps]
    if not protocols:
        raise UsageError(f"The run {name} has too few sizes of messages for the parameters of a network.")
    return (replace(protocols[0], first=0), *protocols[1:])


def _make_protocol(fit: "LogGP", eager: int) -> Protocol:
    first = fit.gaps[0][0]
    before, gap_per_byte = max(0, first - 1), fit.gap_per_byte or 0.0
    latency, overhead, overhead_per_byte = fit.latency, fit.overhead, fit.overhead_per_byte or 0.0
    if latency is None or overhead is None:
        # Half of the round trip stands for L and both overheads (see LogGP).
        latency, overhead, overhead_per_byte = max(0.0, (fit.half_round_trip or 0.0) - before * gap_per_byte), 0.0, 0.0
    return Protocol(
        # With rendezvous the measured latency is that of a request, an answer and the data.
        L=latency / 3 if first > eager else latency,
        o=max(0.0, overhead - before * overhead_per_byte),
        g=fit.gap or 0.0,
        O=overhead_per_byte,
        G=gap_per_byte,
        first=first,
    )


def _find_eager_limit(results: Sequence[Result]) -> int:
    """Returns S, the size above which messages become slower in one step; without such a size no message has rendezvous."""
    from steelyard.statistics.models.hockney import fit_regions, switches

    alone = [
        (float(r.parameters["message_bytes"]), r.metrics["train"].value / 2)
        for r in results
        if "train" in r.metrics and r.parameters.get("messages") == 1
    ]
    jumps = switches(fit_regions(alone))
    return int(jumps[0].after) if jumps else IDEAL.eager
