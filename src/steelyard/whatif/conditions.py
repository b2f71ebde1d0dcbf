"""The conditions of a point in words: columns of tables, and labels of lines and sentences."""

from collections.abc import Callable, Iterable
from functools import partial

from steelyard.model.units import quantity
from steelyard.whatif.perturbation import Noise
from steelyard.whatif.question import Point
from steelyard.whatif.tree import Tree

Shown = Callable[[Point], str]
UNITS = {"L": "s", "o": "s", "g": "s", "G": "s/B", "O": "s/B"}


def _format_parameter(point: Point, name: str, unit: str) -> str:
    """Returns a parameter of each protocol between nodes."""
    return ", ".join(quantity(getattr(protocol, name), unit) for protocol in point.network.across)


def _describe_within(point: Point, place: str) -> str:
    """Returns the parameters of ranks of one node, if they differ from those between nodes."""
    protocols = getattr(point.network, place) or ()
    said = (
        f"{name} {quantity(getattr(p, name), unit)}"
        for p in protocols
        for name, unit in UNITS.items()
        if getattr(p, name)
    )
    return ", ".join(said)


def _describe_placement(point: Point) -> str:
    numbers = {"cache": point.places.cache, "socket": point.places.socket}
    return ", ".join(f"{number} per {name}" for name, number in numbers.items() if number)


def _describe_tree(tree: Tree) -> str:
    if tree.name or not tree.nodes:
        return tree.name or "one switch"
    return f"{tree.nodes} × {tree.switches}" if tree.switches else f"{tree.nodes} on a switch"


def _describe_uplinks(point: Point) -> str:
    """Returns the speed and the latency of the links above the switches of each level."""
    links = point.tree.uplinks[: bool(point.tree.nodes) + bool(point.tree.switches)]
    said = (
        [f"G {quantity(link.G, 's/B')}"] * (link.G is not None) + [f"L {quantity(link.hop, 's')}"] for link in links
    )
    return "; ".join(map(", ".join, said))


def _describe_timers(point: Point) -> str:
    """Returns how TCP sends lost packets again."""
    if point.loss.once:
        return "one time-out"
    return ", ".join(n for n in ("backoff", "fast", "probe", "sack") if getattr(point.loss, n)) or "timer only"


def _describe_noise(point: Point) -> str:
    noise = point.noise
    if not noise.duration:
        return f"as in {noise.recording}" if noise.recording else "none"
    share = f"{100 * noise.probability:g} %" if noise.probability else quantity(noise.period, "s")
    return f"{quantity(noise.duration, 's')} / {share}"


# The conditions in which points may differ, as columns: the heading, and the text of a cell.
COLUMNS: tuple[tuple[str, Shown], ...] = (
    ("network", lambda p: p.network.name),
    *((name, partial(_format_parameter, name=name, unit=unit)) for name, unit in UNITS.items()),
    ("S", lambda p: quantity(p.network.eager, "B")),
    ("receive", lambda p: p.network.receive),
    ("within a node", partial(_describe_within, place="within")),
    ("within a socket", partial(_describe_within, place="socket")),
    ("within a cache", partial(_describe_within, place="cache")),
    ("places", _describe_placement),
    ("ranks per node", lambda p: str(p.ranks_per_node or "")),
    ("tree", lambda p: _describe_tree(p.tree)),
    ("uplinks", _describe_uplinks),
    ("loss", lambda p: f"{100 * p.loss.probability:g} %"),
    ("RTO", lambda p: quantity(p.loss.rto, "s")),
    ("tick", lambda p: quantity(p.loss.tick, "s")),
    ("MSS", lambda p: quantity(p.loss.mss, "B") if p.loss.mss else "message"),
    ("noise", _describe_noise),
    ("interrupted", lambda p: "at once" if p.noise.together else "at random"),
    ("cores", lambda p: f"× {p.core:g}"),
    ("some cores", lambda p: ", ".join(map(str, p.speeds)) or "as all"),
    ("TCP", _describe_timers),
)


def how_often(noise: Noise) -> str:
    """Returns when interruptions come: "every 10.0 ms", "before 1 % of the computations"."""
    if noise.probability:
        return f"before {100 * noise.probability:g} % of the computations"
    return f"every {quantity(noise.period, 's')}"


def disturbances(point: Point) -> str:
    """Returns the losses and the noise of a point: "a loss of 1 % with a smallest time-out of 200 ms"."""
    loss = f"a loss of {100 * point.loss.probability:g} % with a smallest time-out of {quantity(point.loss.rto, 's')}"
    noise = f"interruptions of {quantity(point.noise.duration, 's')} {how_often(point.noise)}"
    if point.noise.recording:
        noise = f"the noise of {point.noise.recording}"
    return " and ".join([loss] * (point.loss.probability > 0) + [noise] * point.noise.any)


def label(point: Point, points: Iterable[Point], *besides: str) -> str:
    """Returns the conditions of a point in which the points differ, " (cores × 2, L 2.00 µs)"; not those named; "" if none."""
    others = tuple(points)
    parts = [
        f"{name} {say(point)}"
        for name, say in (*COLUMNS, ("affected", lambda p: f"{100 * p.affected:g} %"))
        if name not in besides and len({say(p) for p in others}) > 1
    ]
    return f" ({', '.join(parts)})" if parts else ""
