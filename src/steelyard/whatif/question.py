"""Questions to a replay: the points of a sweep and the number of draws, and their lines for the engine."""

import itertools
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from steelyard.errors import UsageError
from steelyard.whatif.network import Network, Protocol, Receive
from steelyard.whatif.perturbation import PROBE, Loss, Noise
from steelyard.whatif.speeds import LAST, Of, Speed
from steelyard.whatif.tree import ONE_SWITCH, Tree

Mode = Literal["dataflow", "event"]
PS = 1e12  # ticks of the engine's clock in a second
NO_LOSS, NO_NOISE = Loss(), Noise()
PLACES: tuple[Of, ...] = ("rank", "node", "region")  # in the order of the engine's numbers
AT_ONCE = 64  # replays for each processor in one line


@dataclass(frozen=True)
class Places:
    """Numbers of consecutive ranks of a node that share a cache and a socket; 0: no ranks do."""

    cache: int = 0
    socket: int = 0


NOWHERE = Places()


@dataclass(frozen=True, kw_only=True)
class Point:
    """One set of conditions."""

    network: Network
    tree: Tree = ONE_SWITCH
    loss: Loss = NO_LOSS
    noise: Noise = NO_NOISE
    core: float = 1.0  # speed of the cores as a multiple of those of the trace
    affected: float = 1.0  # share of the ranks with loss and noise
    speeds: tuple[Speed, ...] = ()  # further factors of some cores
    ranks_per_node: int | None = None  # None: that of the question
    places: Places = NOWHERE

    @property
    def random(self) -> bool:
        """Returns whether the replay has random draws."""
        return self.loss.probability > 0 or self.noise.any

    def count_affected_ranks(self, ranks: int) -> int:
        """Returns how many of so many ranks have loss and noise; a half is rounded up, as by the engine."""
        return math.floor(self.affected * ranks + 0.5)

    @property
    def undisturbed(self) -> "Point":
        """The same point without loss and noise."""
        return self.without_loss.without_noise

    @property
    def certain(self) -> "Point":
        """The same point, but each message is lost once, and an interruption precedes each computation."""
        loss = replace(self.loss, probability=1.0, once=True, sack=False) if self.loss.probability else self.loss
        noise = replace(self.noise, probability=1.0) if self.noise.probability else self.noise
        return replace(self, loss=loss, noise=noise)

    @property
    def without_loss(self) -> "Point":
        """The same point without loss. Ranks that are not affected need noise."""
        return replace(self, loss=NO_LOSS, affected=self.affected if self.noise.any else 1.0)

    @property
    def without_noise(self) -> "Point":
        """The same point without noise. Ranks that are not affected need loss."""
        return replace(self, noise=NO_NOISE, affected=self.affected if self.loss.probability else 1.0)

    @property
    def as_traced(self) -> "Point":
        """The same point with the cores of the trace."""
        return replace(self, core=1.0, speeds=())

    @property
    def unchanged(self) -> "Point":
        """Returns the undisturbed point with the cores of the trace."""
        return self.undisturbed.as_traced


@dataclass(frozen=True)
class Question:
    """Points, each with `repeats` draws if it is random; `ranks_per_node` consecutive ranks share a node."""

    points: tuple[Point, ...]
    repeats: int = 1
    seed: int = 1
    mode: Mode = "dataflow"
    ranks_per_node: int = 1
    threads: int = 1
    recording: Path | None = None  # file with the recorded noise of the points


def expect_places(points: Collection[Point], ranks: int, has_regions: bool) -> None:
    """Raises UsageError if the cores of a rank, a node or a region that the trace does not have are changed in all points."""
    for speed in {speed for point in points for speed in point.speeds}:
        nodes = max(-(-ranks // (point.ranks_per_node or 1)) for point in points)
        count = {"rank": ranks, "node": nodes, "region": LAST if has_regions else 0}[speed.of]
        if speed.first >= count:
            there = f"0 to {count - 1}" if count else "none: only traces of steelyard trace have regions"
            raise UsageError(
                f"--set core.{speed.of}: the trace has no {speed.of} {speed.first}. Its {speed.of}s are {there}."
            )


def group_points(question: Question) -> Iterator[tuple[Question, str]]:
    """Yields parts whose points can be replayed together, in the order of the points, with the line for the engine."""
    for (_, random), alike in itertools.groupby(question.points, lambda p: (_list_layout_conditions(p), p.random)):
        part = replace(question, points=tuple(alike), repeats=question.repeats if random else 1)
        yield from ((piece, write_line(piece)) for piece in _split_question(part))


def _list_layout_conditions(point: Point) -> tuple[int, Receive, int, int, int | None, Places]:
    """Returns the conditions on which the engine's layout of the operations depends."""
    network, tree = point.network, point.tree
    return network.eager, network.receive, tree.nodes, tree.switches, point.ranks_per_node, point.places


def _split_question(question: Question) -> Iterator[Question]:
    """Divides a question into pieces that are short enough to show progress and to keep all processors busy."""
    at_once = max(1, AT_ONCE * question.threads // question.repeats)
    for first in range(0, len(question.points), at_once):
        yield replace(question, points=question.points[first : first + at_once])


def write_line(part: Question) -> str:
    """Returns the line for points that can be replayed together."""
    eager, receive, nodes, switches, ranks_per_node, shared = _list_layout_conditions(part.points[0])
    words = {
        "mode": part.mode,
        "eager": eager,
        "receive": receive,
        "ranks_per_node": ranks_per_node or part.ranks_per_node,
        "ranks_per_cache": shared.cache,
        "ranks_per_socket": shared.socket,
        "nodes_per_switch": nodes,
        "switches_per_group": switches,
        "repeats": part.repeats,
        "seed": part.seed,
        "threads": part.threads,
        "across": ";".join(_format_protocols(p.network.across) for p in part.points),
        "within": ";".join(_format_protocols(p.network.within or p.network.across) for p in part.points),
        "socket": ";".join(_format_protocols(_find_socket_protocols(p.network)) for p in part.points),
        "cache": ";".join(_format_protocols(p.network.cache or _find_socket_protocols(p.network)) for p in part.points),
        "uplinks": ";".join(_format_uplinks(p) for p in part.points),
        "core": ";".join(repr(p.core) for p in part.points),
        "loss": ";".join(_format_loss(p.loss) for p in part.points),
        "noise": ";".join(_format_noise(p.noise) for p in part.points),
        "affected": ";".join(repr(p.affected) for p in part.points),
    }
    if any(p.speeds for p in part.points):
        words["speeds"] = ";".join(_format_speeds(p.speeds) for p in part.points)
    if part.points[0].noise.recording:
        words["recording"] = str(part.recording)
    return " ".join(f"{name}={value}" for name, value in words.items())


def _find_socket_protocols(network: Network) -> tuple[Protocol, ...]:
    return network.socket or network.within or network.across


def _format_protocols(protocols: tuple[Protocol, ...]) -> str:
    return ",".join(",".join(map(repr, (p.first, *(PS * x for x in (p.L, p.o, p.g, p.O, p.G))))) for p in protocols)


def _format_uplinks(point: Point) -> str:
    node_rate = point.network.across[-1].G
    links = ((node_rate if link.G is None else link.G, link.hop) for link in point.tree.uplinks)
    return ",".join(repr(PS * value) for link in links for value in link)


def _format_speeds(speeds: tuple[Speed, ...]) -> str:
    """Four numbers of each speed; a point without any has one that changes nothing."""
    said = speeds or (Speed(1.0, "rank", 0, 0),)
    return ",".join(f"{PLACES.index(s.of)},{s.factor!r},{s.first},{s.last}" for s in said)


def _format_loss(loss: Loss) -> str:
    probe = PS * loss.round_to_ticks(PROBE) if loss.probe else 0
    switches = (int(loss.backoff), int(loss.fast), probe, int(loss.sack), int(loss.once))
    return ",".join(map(repr, (loss.probability, PS * loss.round_to_ticks(loss.rto), loss.mss, *switches)))


def _format_noise(noise: Noise) -> str:
    return ",".join(map(repr, (PS * noise.period, PS * noise.duration, noise.probability, int(noise.together))))
