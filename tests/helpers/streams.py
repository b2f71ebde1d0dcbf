"""GOAL texts, and an oracle in plain Python of how LogGOPSim replays them: receive=stream, to the nanosecond.

Source: T. Hoefler, T. Schneider, A. Lumsdaine 2010, "LogGOPSim" (HPDC), and what its program does in the order of time.
"""

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from replays import Parameters


@dataclass
class Op:
    """calc (ns), send or recv (B); the operations of its rank whose end, or begin, it needs."""

    kind: str
    amount: int
    peer: int = 0
    tag: int = 0
    after: Sequence[int] = ()
    begun: Sequence[int] = ()


Ranks = Sequence[Sequence[Op]]
BOOK = Parameters(L=2500, o=1500, g=1000, G=6)  # ns
LONG = 8192


def goal(ranks: Ranks) -> str:
    """The text that means these operations."""
    lines = [f"num_ranks {len(ranks)}"]
    for rank, ops in enumerate(ranks):
        lines.append(f"rank {rank} {{")
        for number, op in enumerate(ops):
            words = {"calc": "{0}", "send": "{0}b to {1} tag {2}", "recv": "{0}b from {1} tag {2}"}[op.kind]
            lines.append(f"l{number}: {op.kind} {words.format(op.amount, op.peer, op.tag)}")
            lines += [f"l{number} requires l{other}" for other in op.after]
            lines += [f"l{number} irequires l{other}" for other in op.begun]
        lines.append("}")
    return "\n".join(lines) + "\n"


def stencil(wide: int, high: int, steps: int, work: int, size: int) -> Ranks:
    """A torus: all compute, then each exchanges with its four neighbours, and waits for all."""
    found = []
    for r in range(wide * high):
        x, y = r % wide, r // wide
        near = [(x + 1) % wide + y * wide, (x - 1) % wide + y * wide]
        near += [x + (y + 1) % high * wide, x + (y - 1) % high * wide]
        ops: list[Op] = []
        for step in range(steps):
            first = len(ops)
            ops.append(Op("calc", work, after=range(first - 8, first) if step else ()))
            ops += [Op("recv", size, peer, d ^ 1, [first]) for d, peer in enumerate(near)]
            ops += [Op("send", size, peer, d, [first]) for d, peer in enumerate(near)]
        found.append(ops)
    return found


@dataclass
class _Host:
    processor: int = 0
    sends: int = 0
    receives: int = 0
    posted: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    early: dict[tuple[int, int], list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))


class Oracle:
    """One queue of operations by the time at which they can go on; of one time by the order in which they came."""

    def __init__(self, ranks: Ranks, p: Parameters) -> None:
        self.ranks, self.p = ranks, p
        self.hosts = [_Host() for _ in ranks]
        self.left = [[len(op.after) + len(op.begun) for op in ops] for ops in ranks]
        self.waiting: dict[tuple[int, int, str], list[int]] = defaultdict(list)
        for rank, ops in enumerate(ranks):
            for number, op in enumerate(ops):
                for what in ("after", "begun"):
                    for before in getattr(op, what):
                        self.waiting[rank, before, what].append(number)
        self.queue: list[tuple[int, int, str, int, int]] = []
        self.count = 0
        self.freed: list[tuple[int, int]] = []

    def run(self) -> int:
        for rank, left in enumerate(self.left):
            self.freed = [(rank, i) for i, needs in enumerate(left) if not needs]
            self._go_on()
        while self.queue:
            at, order, kind, rank, number = heapq.heappop(self.queue)
            again = getattr(self, f"_{kind}")(rank, number, at)
            if again is not None:
                heapq.heappush(self.queue, (again, order, kind, rank, number))
            self._go_on()
        return max(host.processor for host in self.hosts)

    def _push(self, at: int, kind: str, rank: int, number: int) -> None:
        heapq.heappush(self.queue, (at, self.count, kind, rank, number))
        self.count += 1

    def _go_on(self) -> None:
        kinds = ("send", "recv", "calc")
        for rank, number in sorted(self.freed, key=lambda x: (x[0], kinds.index(self.ranks[x[0]][x[1]].kind))):
            host, op = self.hosts[rank], self.ranks[rank][number]
            at = max(host.processor, host.sends) if op.kind == "send" else host.processor
            self._push(at, op.kind, rank, number)
        self.freed = []

    def _free(self, rank: int, number: int, what: str) -> None:
        for other in self.waiting[rank, number, what]:
            self.left[rank][other] -= 1
            if not self.left[rank][other]:
                self.freed.append((rank, other))

    def _calc(self, rank: int, number: int, at: int) -> int | None:
        host = self.hosts[rank]
        if host.processor > at:
            return host.processor
        host.processor = at + self.ranks[rank][number].amount
        self._free(rank, number, "begun")
        self._free(rank, number, "after")
        return None

    def _send(self, rank: int, number: int, at: int) -> int | None:
        host, op, p = self.hosts[rank], self.ranks[rank][number], self.p
        if (both := max(host.processor, host.sends)) > at:
            return both
        self._free(rank, number, "begun")
        host.processor = at + p.o + (op.amount - 1) * p.O
        host.sends = at + p.g + (op.amount - 1) * p.G
        self._push(at + p.o + p.L, "message", rank, number)
        if op.amount <= p.eager:
            self._free(rank, number, "after")
        return None

    def _recv(self, rank: int, number: int, at: int) -> None:
        host, op = self.hosts[rank], self.ranks[rank][number]
        self._free(rank, number, "begun")
        if waiting := host.early[op.peer, op.tag]:
            self._met(*waiting.pop(0), at)
            self._free(rank, number, "after")
        else:
            host.posted[op.peer, op.tag].append(number)

    def _message(self, source: int, number: int, at: int) -> int | None:
        op, p = self.ranks[source][number], self.p
        host = self.hosts[op.peer]
        if (both := max(host.processor, host.receives)) > at:
            return both
        host.processor = at + p.o + max((op.amount - 1) * p.O, (op.amount - 1) * p.G)
        host.receives = at + p.g + (op.amount - 1) * p.G
        if posted := host.posted[source, op.tag]:
            self._met(source, number, at)
            self._free(op.peer, posted.pop(0), "after")
        else:
            host.early[source, op.tag].append((source, number))
        return None

    def _met(self, source: int, number: int, at: int) -> None:
        """A send with rendezvous ends here."""
        if self.ranks[source][number].amount > self.p.eager:
            host = self.hosts[source]
            host.processor, host.sends = max(host.processor, at), max(host.sends, at)
            self._free(source, number, "after")
