"""The collector: receives messages of agents, writes them to a store, and only then acknowledges them.

Several collectors share the load. Messages that are malformed, foreign or too large are counted and acknowledged, so that they do
not come again. So is a message with which the store fails while it takes other bytes. Memory does not grow with the number of
topics or senders.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from steelyard.measure.telemetry.labels import to_line
from steelyard.power.agent import Clock
from steelyard.power.broker import Received
from steelyard.power.message import READING_BYTES, REASONS, RECEIVE_MAXIMUM, Batch, Description, Gap, Refused, select
from steelyard.power.stores import Store, Unavailable
from steelyard.power.topics import Topics, write_receipt

T = TypeVar("T")
TURNS = 4  # parts of messages in one write of a store, at least
CROWDED = RECEIVE_MAXIMUM // 2
LEAST = 100  # readings: the cost of a small message
DESCRIPTION = 64 * 1024  # bytes: the cost of a description
LINGER = 0.2  # seconds that the first message of a write waits for others: each write of a store has its own cost
LONGEST_PAUSE = 60.0  # seconds until a store that fails is tried again; the first pause is 1 s, each is twice the last
GROUP = "steelyard"  # the collectors that share the load


class Inbox(Protocol):
    """The source of messages, such as `broker.Subscriber`."""

    def take(self, most: int, linger: float) -> Sequence[Received]: ...
    def acknowledge(self, received: Received) -> None: ...
    def confirm(self, topic: str, payload: bytes) -> None: ...
    def close(self) -> None: ...


def list_subscriptions(topics: Topics, foreign: Sequence[str] = ()) -> tuple[str, ...]:
    """Returns the subscriptions of a collector; `foreign` are topics of DCDB or ExaMon beside ours ("/#", "org/#").

    Descriptions are retained, and a shared subscription gets no retained message. Each collector subscribes to them itself.
    """
    shared = (f"$share/{GROUP}/{topic}" for topic in (f"{topics.prefix}/#", *foreign))
    return (*shared, f"{topics.prefix}/+/+/sensors")


@dataclass(eq=False, kw_only=True, slots=True)
class _Message:
    """A received message, and what of it is not written yet."""

    received: Received
    node: str
    batches: Sequence[Batch]  # empty for a description
    parts: deque[Batch | Description]
    left: int = 0  # parts that are neither stored nor refused
    refused: bool = False


Part = tuple[_Message, Batch | Description]


class Collector:
    """Moves messages from an inbox to a store. Nodes have turns, so that the messages of one do not delay those of another.

    `counts` has the number of messages by their result, and "readings". `trouble` says why the store cannot be written now,
    `note` which messages were refused so far.
    """

    def __init__(self, inbox: Inbox, store: Store, topics: Topics, clock: Clock | None = None) -> None:
        self._inbox, self._store, self._topics = inbox, store, topics
        self._clock = clock or Clock()
        self._waiting: dict[str, deque[_Message]] = {}  # waiting messages by node; the first node has the next turn
        self._order: list[_Message] = []  # messages that are not acknowledged yet
        self.counts: Counter[str] = Counter()
        self.trouble = self.note = ""

    def run(self) -> None:
        """Runs until it is interrupted. Messages without acknowledgement come again, to another collector or the next start."""
        try:
            while True:
                self.step()
        finally:
            self._inbox.close()

    def step(self) -> int:
        """Takes messages, or waits briefly for one, and makes one write. Returns how many messages it took."""
        received = self._inbox.take(RECEIVE_MAXIMUM - len(self._order), 0.0 if self._waiting else LINGER)
        for message in received:
            self._admit(message)
        parts = self._take_next_batch()
        if parts:
            self._keep(parts)
        self._finish([message for message, _ in parts])
        self._acknowledge()
        return len(received)

    def _acknowledge(self) -> None:
        """Acknowledges messages in the order in which they came, as MQTT asks; in need of room, those behind a slow one, too."""
        late = next((place for place, message in enumerate(self._order) if message.left), len(self._order))
        crowded = len(self._order) > CROWDED
        for message in [each for place, each in enumerate(self._order) if not each.left and (crowded or place < late)]:
            self._inbox.acknowledge(message.received)
            self._order.remove(message)

    def _admit(self, received: Received) -> None:
        message = _Message(received=received, node="", batches=(), parts=deque())
        self._order.append(message)
        try:
            content = self._topics.received(received.topic, received.payload)
        except Refused as refused:
            self._refuse(message, refused.reason, REASONS[refused.reason])
        except Exception as error:
            self._refuse(message, "failed", f"{type(error).__name__} ({error})")
        else:
            if isinstance(content, Description):
                message.parts.append(content)
            else:
                message.batches = content
                message.parts.extend(part for batch in content for part in divide(batch, self._store.at_once // TURNS))
            message.node, message.left = message.parts[0].node, len(message.parts)
            self._waiting.setdefault(message.node, deque()).append(message)

    def _take_next_batch(self) -> list[Part]:
        """Returns what the store can write at once: one part of each node, then the next one of each."""
        parts: list[Part] = []
        room = self._store.at_once
        while self._waiting and room > 0:
            node = next(iter(self._waiting))
            messages = self._waiting.pop(node)
            part = messages[0].parts.popleft()
            parts.append((messages[0], part))
            if not messages[0].parts:
                messages.popleft()
            if messages:
                self._waiting[node] = messages  # behind the others
            room -= max(_estimate_size(part) // READING_BYTES, LEAST)
        return parts

    def _keep(self, parts: Sequence[Part]) -> None:
        """Returns when the store has them. If the store fails, it tries again after growing pauses; the broker keeps the rest.

        A store that fails with a message but takes other bytes refuses this message. Whatever its error is, it costs only this
        message.
        """
        pause, tried = 1.0, False
        while error := _run_step(self._write, parts):
            size = sum(_estimate_size(content) for _, content in parts)
            fault = error if isinstance(error, Unavailable | OSError) else _run_step(self._store.probe, size)
            if fault:
                self.trouble = str(fault)
                self._clock.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            elif len(parts) > 1:
                middle = len(parts) // 2
                self._keep(parts[:middle])
                self._keep(parts[middle:])
                return
            elif tried:
                self._set_aside(*parts[0], error)
                return
            else:
                tried = True
        self.trouble = ""
        for message, _ in parts:
            message.left -= 1

    def _write(self, parts: Sequence[Part]) -> None:
        for _, content in parts:
            if isinstance(content, Description):
                self._store.describe(content.node, content.sensors)
        if batches := [content for _, content in parts if isinstance(content, Batch)]:
            self._store.write(batches)

    def _set_aside(self, message: _Message, content: Batch | Description, error: Exception) -> None:
        """Refuses a message that the store cannot keep. Its readings become a gap under its own number, if possible."""
        self.trouble = ""
        message.left -= 1
        if not message.refused:
            self._refuse(message, "failed", f"the store cannot keep it: {error}")
        if isinstance(content, Batch) and len(content.at):
            span = int(content.at.min()), int(content.at.max())
            gap = Gap(content.sensors, *span, to_line(f"could not be stored: {error}"))
            _run_step(self._store.write, [select(content, slice(0), (gap,))])

    def _refuse(self, message: _Message, reason: str, words: str) -> None:
        message.refused = True
        self.counts[reason] += 1
        count = sum(self.counts[each] for each in (*REASONS, "failed"))
        topic = to_line(message.received.topic)
        self.note = (
            f"Messages that were refused and are not stored: {count}. The last one, with the topic '{topic}': {words}."
        )

    def _finish(self, messages: Sequence[_Message]) -> None:
        """Counts the messages of which nothing is left, and sends receipts. Senders of foreign formats do not listen for one."""
        stored: dict[str, list[Batch]] = {}
        for message in dict.fromkeys(messages):
            if message.left:
                continue
            stored.setdefault(message.node, []).extend(message.batches)
            if not message.refused:
                self.counts["batches"] += bool(message.batches)
                self.counts["descriptions"] += not message.batches
                self.counts["readings"] += sum(len(batch.at) for batch in message.batches)
        for node, batches in stored.items():
            if batches:
                self._inbox.confirm(self._topics.stored(node), write_receipt((b.writer, b.sequence) for b in batches))


def divide(batch: Batch, most: int) -> Iterator[Batch]:
    """Yields the batch, or its readings by sensor and time in parts of so many; the first part has the gaps."""
    if len(batch.at) <= most:
        yield batch
        return
    order = np.lexsort((batch.at, batch.number))
    for first in range(0, len(order), most):
        yield select(batch, order[first : first + most], () if first else batch.gaps)


def _estimate_size(content: Batch | Description) -> int:
    """Returns the bytes that a store writes, about."""
    if isinstance(content, Description):
        return DESCRIPTION
    return max(READING_BYTES * len(content.at), len(content.payload))


def _run_step(step: Callable[[T], object], of: T) -> Exception | None:
    """Returns the error of a step, whatever it is."""
    try:
        step(of)
    except Exception as error:
        return error
    return None
