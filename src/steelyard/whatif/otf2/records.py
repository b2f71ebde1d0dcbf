"""The records of a trace of ours as the tables have them: numbered by kind, and whose communicator a number is."""

from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

SEND, ISEND, RECEIVE, IRECEIVE, EXCHANGE, COMPLETE, PROBE = 2, 3, 4, 5, 6, 7, 8
CALL, COLLECTIVE, ICOLLECTIVE, VECTORS, IVECTORS = 1, 9, 10, 11, 12
COMMUNICATOR, RELEASED, WINDOW, FENCE, PUT, GET = 13, 14, 15, 16, 17, 18
POLLED, PREEMPTED, TOOL, FINALIZE, ABORT, REGION = 19, 20, 21, 22, 23, 24
ANY, NOBODY = -1, -2
PLAIN, RECEIVED, CANCELLED = 0, 1, 2  # how a request ended

# What OTF2 has no event for: attributes, and a parameter, which archives of ours have.
BYTES, WAITED, LEVEL = "steelyard.bytes", "steelyard.waited", "MPI_Pcontrol"

WORLD, SELF = "world", "self"
Key = str | int  # of a communicator: one of the two above, or what all its members have in common


class Record(NamedTuple):
    """A record of a rank: its kind, its communicator's number on that rank, begin and duration in s, and its numbers."""

    rank: int
    kind: int
    communicator: int
    begin: float
    seconds: float
    numbers: tuple[int, ...]


def records(path: Path) -> Iterator[Record]:
    """All of the file `records.csv` that the program of exports writes, rank after rank."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            rank, _, kind, communicator, _, _, begin, seconds, numbers = line.rstrip("\n").split(",", 8)
            yield Record(
                int(rank), int(kind), int(communicator), float(begin), float(seconds), tuple(map(int, numbers.split()))
            )


def ends(numbers: tuple[int, ...]) -> Iterator[tuple[int, int, int, int]]:
    """Of a record that completes requests: each request, how it ended, and of a received message its source and tag."""
    at = 1
    for _ in range(numbers[0]):
        request, how = numbers[at] >> 2, numbers[at] & 3
        at += 1
        source, tag = numbers[at : at + 2] if how == RECEIVED else (ANY, ANY)
        at += 2 * (how == RECEIVED)
        yield request, how, source, tag


class Communicators:
    """Which communicators the numbers of each rank are while its records are read, and the windows on them."""

    def __init__(self, ranks: int) -> None:
        self.members: dict[Key, tuple[int, ...]] = {WORLD: tuple(range(ranks))}
        self.windows: dict[
            tuple[Key, int], None
        ] = {}  # in an order in which each communicator's stand as they were made
        self._rank = -1
        self._keys: dict[int, Key] = {}
        self._windows: dict[int, tuple[Key, int]] = {}
        self._made: dict[Key, int] = {}

    def read(self, record: Record) -> None:
        """Takes notice of a record that makes one."""
        if record.rank != self._rank:
            self._rank, self._keys, self._windows, self._made = record.rank, {0: WORLD, 1: SELF}, {}, {}
        if record.kind == COMMUNICATOR:
            number, key, count, *steps = record.numbers
            self._keys[number] = key
            self.members[key] = tuple(accumulate(steps[:count]))
        elif record.kind == WINDOW:
            on = self.key(record)
            window = on, self._made.get(on, 0)
            self._made[on] = window[1] + 1
            self._windows[record.numbers[0]] = window
            self.windows.setdefault(window)

    def key(self, record: Record) -> Key:
        """The record's communicator."""
        return self._keys[record.communicator]

    def window(self, number: int) -> tuple[Key, int]:
        """The window with that number on the rank."""
        return self._windows[number]

    def of(self, key: Key) -> tuple[int, ...]:
        """The ranks of a communicator, as the rank knows it that is read."""
        return (self._rank,) if key == SELF else self.members[key]
