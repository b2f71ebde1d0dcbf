"""The ways of an agent's batches: through a broker (on disk until a collector has stored them), or directly into a store."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from steelyard.errors import SteelyardError
from steelyard.measure.telemetry.labels import to_line
from steelyard.model.sensor import Sensor
from steelyard.power import message
from steelyard.power.buffer import Buffer
from steelyard.power.message import Batch, Gap
from steelyard.power.stores import Store
from steelyard.power.topics import Topics, read_receipt

WINDOW = 256  # batches that are sent and not known to be stored: what a collector writes at once, twice
PATIENCE = 30.0  # seconds after which what the broker has taken, and no collector has confirmed, is sent again
# Seconds after which what nobody listened to is sent again, at first; each time twice as long, up to PATIENCE.
AGAIN = 1.0
# The broker's reply to a message: none yet, accepted, or dropped because nobody subscribes.
Taken = Literal["", "taken", "unheard"]


class Link(Protocol):
    """A connection to a broker, such as `broker.Publisher`."""

    @property
    def connected(self) -> bool: ...
    @property
    def connections(self) -> int: ...
    @property
    def window(self) -> int: ...
    def publish(self, topic: str, payload: bytes, retain: bool = False) -> Callable[[], Taken]: ...
    def receipts(self) -> list[bytes]: ...
    def close(self) -> None: ...


class Outlet(Protocol):
    """Takes an agent's batches."""

    def put(self, batch: Batch) -> Sequence[Gap]:
        """Takes the batch. Returns the readings that were lost (no room, or no working store) as gaps."""
        ...

    def pump(self, now: float) -> bool:
        """Sends what can be sent; `now` is in seconds of the monotonic clock. Returns whether batches still wait."""
        ...

    def close(self) -> None: ...


class Direct:
    """Writes into a store, without a broker. A batch that the store refuses is lost and becomes a gap."""

    def __init__(self, store: Store, node: str, sensors: Sequence[Sensor]) -> None:
        self._store = store
        store.describe(node, sensors)

    def put(self, batch: Batch) -> Sequence[Gap]:
        try:
            self._store.write([batch])
        except (SteelyardError, OSError) as error:
            return _report_lost([batch], str(error))
        return ()

    def pump(self, now: float) -> bool:
        return False

    def close(self) -> None:
        pass


@dataclass
class _Sent:
    ordinal: int
    at: float  # s
    taken: Callable[[], Taken]


class Sender:
    """Sends through a broker. Every batch stays in the buffer until its receipt comes; the store recognises repeated batches.

    The acknowledgement of the broker is not enough: a broker that is killed forgets acknowledged messages before delivery.
    """

    def __init__(self, link: Link, buffer: Buffer, topics: Topics, node: str, sensors: Sequence[Sensor]) -> None:
        self._link, self._buffer, self._topics, self._node = link, buffer, topics, node
        self._description = message.describe(sensors)
        self._described = 0  # the connection on which it was published
        self._next = 0  # the ordinal of what is sent next
        self._sent: dict[tuple[UUID, int], _Sent] = {}
        self._again = AGAIN
        self.resent = 0

    @property
    def backlog(self) -> int:
        """Returns the greatest possible number of batches that are not stored yet."""
        return self._buffer.end - self._buffer.first

    def put(self, batch: Batch) -> Sequence[Gap]:
        try:
            dropped = self._buffer.append(message.encode(batch))
        except OSError as error:
            return _report_lost([batch], f"the buffer cannot be written: {error.strerror}")
        lost = []
        for payload in dropped:
            with contextlib.suppress(message.Refused):  # the message is from an earlier version
                lost.append(message.decode(self._node, payload))
        return _report_lost(lost, "buffer full")

    def pump(self, now: float) -> bool:
        self._confirm()
        if not self._link.connected:
            return False
        if self._described != self._link.connections:
            self._described = self._link.connections
            self._link.publish(self._topics.sensors(self._node), self._description, retain=True)
        self._send_again(now)
        self._send(now)
        return self.backlog > 0

    def close(self) -> None:
        """Closes the connection. Unconfirmed batches stay in the buffer for the next agent."""
        self._confirm()
        self._link.close()

    def _confirm(self) -> None:
        for payload in self._link.receipts():
            self._again = AGAIN  # somebody listens
            for identity in read_receipt(payload):
                if sent := self._sent.pop(identity, None):
                    self._buffer.confirm(sent.ordinal)

    def _send_again(self, now: float) -> None:
        """Goes back to the oldest batch that the broker took long ago and no collector confirmed. The client repeats the others.

        It goes back sooner to batches that nobody received: a collector may have started.
        """
        first, unheard = self._buffer.first, False
        for identity, sent in list(self._sent.items()):
            if sent.ordinal < first:  # dropped since
                del self._sent[identity]
                continue
            taken = sent.taken()
            if taken and sent.at + (min(self._again, PATIENCE) if taken == "unheard" else PATIENCE) <= now:
                unheard = unheard or taken == "unheard"
                self._next = min(self._next, sent.ordinal)
                self.resent += 1
                del self._sent[identity]
        if unheard:
            self._again = min(2 * self._again, PATIENCE)

    def _send(self, now: float) -> None:
        waiting = sum(not sent.taken() for sent in self._sent.values())
        room = min(WINDOW - len(self._sent), self._link.window - 1 - waiting)  # 1: the description
        if room <= 0 or self._next >= self._buffer.end:
            return
        topic = self._topics.readings(self._node)
        for ordinal, payload in self._buffer.payloads(self._next):
            self._next = ordinal + 1
            identity = message.read_identity(payload)
            if identity in self._sent:
                continue
            self._sent[identity] = _Sent(ordinal, now, self._link.publish(topic, payload))
            room -= 1
            if not room:
                return


def _report_lost(batches: Sequence[Batch], why: str) -> Sequence[Gap]:
    """Returns one gap from the first reading of the batches to the last, including the gaps within them."""
    if not batches:
        return ()
    spans = [(int(batch.at.min()), int(batch.at.max())) for batch in batches if len(batch.at)]
    spans += [(gap.start, gap.end) for batch in batches for gap in batch.gaps]
    names = {name for batch in batches for name in batch.sensors}
    names |= {name for batch in batches for gap in batch.gaps for name in gap.sensors}
    everything = len(names) > message.MOST_SENSORS or any(not gap.sensors for batch in batches for gap in batch.gaps)
    sensors = () if everything else tuple(sorted(names))
    return (Gap(sensors, min(start for start, _ in spans), max(end for _, end in spans), to_line(why)),)
