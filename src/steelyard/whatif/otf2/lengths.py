"""Of each receive of a trace of ours the bytes of its message, which our records have with the send alone."""

from collections import defaultdict, deque
from collections.abc import Iterable

from steelyard.whatif.otf2.records import (
    ANY,
    CANCELLED,
    COMPLETE,
    EXCHANGE,
    IRECEIVE,
    ISEND,
    NOBODY,
    RECEIVE,
    RELEASED,
    SEND,
    Communicators,
    Key,
    Record,
    ends,
)

# From, to, in which communicator, with which tag: messages of the same are received in the order in which they are sent.
Way = tuple[int, int, Key, int]


class Lengths:
    """Reads all records; then `of` has for each rank the lengths of its receives, in the order in which they are begun."""

    def __init__(self, ranks: int) -> None:
        self.communicators = Communicators(ranks)
        self._sent: dict[Way, deque[int]] = defaultdict(deque)
        self._ways: list[list[Way | None]] = [[] for _ in range(ranks)]
        self._open: dict[int, tuple[int, Key]] = {}  # of the rank that is read: place of its receive, by request
        self._rank = -1

    def read(self, records: Iterable[Record]) -> list[list[int]]:
        """Of each rank the lengths of its receives; 0 of one that no message fits."""
        for record in records:
            self.communicators.read(record)
            self._note(record)
        return [[self._take(way) for way in ways] for ways in self._ways]

    def _take(self, way: Way | None) -> int:
        waiting = self._sent.get(way) if way else None
        return waiting.popleft() if waiting else 0

    def _note(self, record: Record) -> None:
        if record.rank != self._rank:
            self._rank, self._open = record.rank, {}
        if record.kind in (SEND, ISEND):
            self._send(record, *record.numbers[:3])
            self._open.pop(record.numbers[-1] if record.kind == ISEND else ANY, None)
        elif record.kind == RECEIVE:
            self._receive(record, *record.numbers)
        elif record.kind == EXCHANGE:
            to, tag, size, source, received = record.numbers
            if to != NOBODY:
                self._send(record, to, tag, size)
            self._receive(record, source, received)
        elif record.kind == IRECEIVE:
            source, tag, request = record.numbers
            self._open[request] = (len(self._ways[record.rank]), self.communicators.key(record))
            self._receive(record, source, tag)
        elif record.kind == COMPLETE:
            self._complete(record)
        elif record.kind == RELEASED:
            self._open.pop(record.numbers[0], None)

    def _complete(self, record: Record) -> None:
        for request, how, source, tag in ends(record.numbers):
            place, key = self._open.pop(request, (None, ""))
            if place is None or how == 0:
                continue
            self._ways[record.rank][place] = None if how == CANCELLED else self._way(record.rank, key, source, tag)

    def _send(self, record: Record, to: int, tag: int, size: int) -> None:
        key = self.communicators.key(record)
        self._sent[record.rank, self.communicators.of(key)[to], key, tag].append(size)

    def _receive(self, record: Record, source: int, tag: int) -> None:
        known = source >= 0 and tag != ANY
        key = self.communicators.key(record)
        self._ways[record.rank].append(self._way(record.rank, key, source, tag) if known else None)

    def _way(self, rank: int, key: Key, source: int, tag: int) -> Way | None:
        return (self.communicators.of(key)[source], rank, key, tag) if source >= 0 else None
