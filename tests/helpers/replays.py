"""Traces made by hand, the replay's engine with one of them, and an oracle that replays in another way: in plain Python."""

import heapq
import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from steelyard import whatif
from steelyard.measure.machine import describe
from steelyard.model import Machine
from steelyard.whatif import engine
from steelyard.whatif.program import compile_program


@cache
def _described() -> Machine:
    return describe()


def this_machine(whole: bool = True) -> Machine:
    """The description of this machine, always whole; a new one would start every compiler once more."""
    del whole
    return _described()


@cache
def program() -> Path:
    return compile_program("replay", this_machine())


def asked(
    trace: Path, *lines: str, flops: float = 1e9, part: Sequence[str] = (), options: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """The engine's answers, that about the trace first; `part`: what of the trace, in the engine's words."""
    done = subprocess.run(
        [program(), *options, trace, repr(flops), *part],
        input="\n".join(["", *lines]) + "\n",
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def sets(*settings: str) -> tuple[str, ...]:
    """The words of the command for these values of --set."""
    return tuple(word for setting in settings for word in ("--set", setting))


def points(*settings: str) -> tuple[whatif.Point, ...]:
    """The points of a scenario that these values of --set make, such as "network=L=1us"."""
    (section,) = whatif.list_points(whatif.read_scenario(None, settings), Path("no-runs")).values()
    return section


def answered(
    trace: Path, network: str, loss: str = "", core: float = 1.0
) -> tuple[whatif.Answer, whatif.Question, engine.Trace]:
    """An answer about one network, at one speed of the cores; of losses eight draws."""
    conditions = points(f"network={network}", f"core={core}", *([f"loss={loss}"] if loss else []))
    asked = whatif.Question(conditions, repeats=8)
    with engine.start(trace, this_machine(), 1e9) as running:
        return whatif.answer(running, asked), asked, running.trace


def ti(folder: Path, ranks: Sequence[Sequence[str]], order: Sequence[int] | None = None) -> Path:
    """A trace in SimGrid's format, sizes in bytes; `order`: in which the ranks stand in the file."""
    path = folder / "trace.ti"
    lines = [f"{r} {action}" for r in order or range(len(ranks)) for action in ("init", *ranks[r])]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def stencil(side: int, steps: int, work: int, size: int) -> list[list[str]]:
    """A torus of side × side ranks: all compute, then each exchanges with its four neighbours."""

    def rank(x: int, y: int) -> int:
        return x % side + y % side * side

    found = []
    for r in range(side * side):
        x, y = r % side, r // side
        near = [rank(x + 1, y), rank(x - 1, y), rank(x, y + 1), rank(x, y - 1)]
        receives = [f"irecv {n} {d ^ 1} {size}" for d, n in enumerate(near)]
        sends = [f"isend {n} {d} {size}" for d, n in enumerate(near)]
        found.append([f"compute {work}", *receives, *sends, "waitall"] * steps)
    return found


@dataclass
class Parameters:
    """ps, and ps/B."""

    L: int = 0
    o: int = 0
    g: int = 0
    O: int = 0  # noqa: E741
    G: int = 0
    eager: int = 65535

    def word(self) -> str:
        return f"across=0,{self.L},{self.o},{self.g},{self.O},{self.G} eager={self.eager}"


# An action: ("compute", ps), ("send" | "isend", to, tag, B), ("recv" | "irecv", from, tag), ("waitall",).
Action = tuple[Any, ...]


@dataclass
class _Rank:
    actions: Sequence[Action]
    now: int = 0
    interface: int = 0
    open: list[tuple[str, Any]] = field(default_factory=list)


class Oracle:
    """The model as it is written down, with generators for ranks: nothing is matched before, and no order is clever."""

    def __init__(self, ranks: Sequence[Sequence[Action]], p: Parameters) -> None:
        self.ranks = [_Rank(actions) for actions in ranks]
        self.p = p
        self.sent: dict[tuple[int, int, int, int], dict[str, Any]] = {}
        self.counts: dict[tuple[str, int, int, int], int] = {}

    def run(self) -> int:
        running = {r: self._steps(r) for r in range(len(self.ranks))}
        while running:
            before = len(running), self._known()
            running = {r: steps for r, steps in running.items() if next(steps, "over") != "over"}
            assert (len(running), self._known()) != before, "all wait for ever"
        return max(rank.now for rank in self.ranks)

    def _known(self) -> int:
        return sum(map(len, self.sent.values()))

    def _message(self, what: str, source: int, target: int, tag: int) -> dict[str, Any]:
        place = (what, source, target, tag)
        number = self.counts.get(place, 0)
        self.counts[place] = number + 1
        return self.sent.setdefault((source, target, tag, number), {})

    def _steps(self, r: int) -> Iterator[None]:
        rank = self.ranks[r]
        for action in rank.actions:
            match action:
                case ("compute", time):
                    rank.now += time
                case ("send" | "isend" as how, to, tag, size):
                    message = self._message("s", r, to, tag)
                    self._send(rank, message, size)
                    if how == "isend":
                        rank.open.append(("s", message))
                    else:
                        yield from self._left(rank, message)
                case ("recv" | "irecv" as how, source, tag):
                    message = self._message("r", source, r, tag)
                    message["posted"] = rank.now
                    if how == "irecv":
                        rank.open.append(("r", message))
                    else:
                        yield from self._taken(rank, [message])
                case ("waitall",):
                    waiting, rank.open = rank.open, []
                    yield from self._taken(rank, [m for kind, m in waiting if kind == "r"])
                    for kind, m in waiting:
                        if kind == "s":
                            yield from self._left(rank, m)

    def _send(self, rank: _Rank, message: dict[str, Any], size: int) -> None:
        p, more = self.p, max(size - 1, 0)
        rank.now += p.o + p.O * more
        message["size"], message["asked"] = size, rank.now
        if size <= p.eager:
            leaves = max(rank.now, rank.interface)
            rank.interface = leaves + p.g + p.G * more
            message["left"], message["arrival"] = rank.now, leaves + p.L + p.G * more

    def _met(self, message: dict[str, Any]) -> bool:
        p = self.p
        if "arrival" not in message and {"asked", "posted"} <= message.keys():
            answered = max(message["asked"] + p.L, message["posted"]) + p.L
            message["left"] = answered + p.G * (message["size"] - 1)
            message["arrival"] = message["left"] + p.L
        return "arrival" in message

    def _left(self, rank: _Rank, message: dict[str, Any]) -> Iterator[None]:
        while not self._met(message):
            yield
        if message["size"] > self.p.eager:
            rank.now = max(rank.now, message["left"])

    def _taken(self, rank: _Rank, messages: Sequence[dict[str, Any]]) -> Iterator[None]:
        while not all(self._met(m) for m in messages):
            yield
        order = [(m["arrival"], self.p.o + self.p.O * max(m["size"] - 1, 0)) for m in messages]
        heapq.heapify(order)
        while order:
            arrival, cost = heapq.heappop(order)
            rank.now = max(rank.now, arrival) + cost


def in_words(ranks: Sequence[Sequence[Action]]) -> list[list[str]]:
    """The oracle's actions as a trace counts them: work at 1 Gflop/s, so that 1000 ps are one."""

    def words(action: Action) -> str:
        match action:
            case ("compute", time):
                return f"compute {time / 1000!r}"
            case ("recv" | "irecv" as how, source, tag):
                return f"{how} {source} {tag} 0"
            case _:
                return " ".join(map(str, action))

    return [[words(action) for action in rank] for rank in ranks]
