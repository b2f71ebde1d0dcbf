"""Records that are made from a rank's events in OTF2, before all ranks are read."""

from dataclasses import dataclass, field

from steelyard.whatif.otf2 import sizes
from steelyard.whatif.otf2.records import EXCHANGE, NOBODY, RECEIVE, SEND


@dataclass(slots=True)
class Row:
    """A record: its kind, the communicator's number, ps since the record before and of the call, and its numbers."""

    kind: int
    communicator: int = 0
    numbers: list[int] = field(default_factory=list)
    gap: int = 0
    duration: int = 0


@dataclass(slots=True, kw_only=True)
class Together:
    """A collective whose numbers follow from the parts of all members: its record, and its number among the rank's calls."""

    begun: int
    row: Row
    name: str
    part: sizes.Part
    given: list[int] | None  # the bytes to and from each, where the archive has them
    request: list[int]


def make_exchange(rows: list[Row]) -> list[Row]:
    """Returns the record of MPI_Sendrecv: a send and a receive, or one of them if the other partner is MPI_PROC_NULL."""
    send = next((row for row in rows if row.kind == SEND), None)
    receive = next((row for row in rows if row.kind == RECEIVE), None)
    one = send or receive
    if one is None or len(rows) != (send is not None) + (receive is not None):
        return rows
    if send and receive and send.communicator != receive.communicator:
        return rows
    sent = send.numbers if send else [NOBODY, 0, 0]
    return [Row(EXCHANGE, one.communicator, [*sent, *(receive.numbers if receive else [NOBODY, 0])])]
