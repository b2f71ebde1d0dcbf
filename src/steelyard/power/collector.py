"""The collector: receives messages of agents, writes them to a store, and only then acknowledges them.

Several collectors share the load. Messages that are malformed, foreign or too large are counted and acknowledged, so that they do
not come again. Memory does not grow with the number of topics or senders.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from steelyard.errors import SteelyardError
from steelyard.power.agent import Clock, SystemClock
from steelyard.power.broker import Received
from steelyard.power.message import RECEIVE_MAXIMUM, Batch, Description, Refused
from steelyard.power.sender import Store
from steelyard.power.topics import Topics, receipt

LINGER = 0.2  # seconds that the first message of a write waits for others: each write of a store has its own cost
LONGEST_PAUSE = (
    60.0  # seconds until a store that fails is tried again; the first pause is a second, each is twice the last
)
GROUP = "steelyard"  # the collectors that share the load


class Inbox(Protocol):
    """The source of messages, such as `broker.Subscriber`."""

    def take(self, most: int, linger: float) -> Sequence[Received]: ...
    def acknowledge(self, received: Received) -> None: ...
    def confirm(self, topic: str, payload: bytes) -> None: ...
    def close(self) -> None: ...


def subscriptions(topics: Topics, foreign: Sequence[str] = ()) -> tuple[str, ...]:
    """Returns the subscriptions of a collector; `foreign` are topics of DCDB or ExaMon beside ours ("/#", "org/#").

    Descriptions are retained, and a shared subscription gets no retained message. Each collector subscribes to them itself.
    """
    shared = (f"$share/{GROUP}/{topic}" for topic in (f"{topics.prefix}/#", *foreign))
    return (*shared, f"{topics.prefix}/+/+/sensors")


class Collector:
    """Moves messages from an inbox to a store.

    `counts` has the number of messages by their result, and "readings". `trouble` says why the store refuses them now.
    """

    def __init__(self, inbox: Inbox, store: Store, topics: Topics, clock: Clock | None = None) -> None:
        self._inbox, self._store, self._topics = inbox, store, topics
        self._clock = clock or SystemClock()
        self.counts: Counter[str] = Counter()
        self.trouble = ""

    def run(self) -> None:
        """Runs until it is interrupted. Messages without acknowledgement come again, to another collector or the next start."""
        try:
            while True:
                self.step()
        finally:
            self._inbox.close()

    def step(self) -> int:
        """Takes the waiting messages, or waits briefly for one. Returns how many it took."""
        received = self._inbox.take(RECEIVE_MAXIMUM, LINGER)
        batches: list[Batch] = []
        descriptions: list[Description] = []
        for message in received:
            try:
                content = self._topics.received(message.topic, message.payload)
            except Refused as refused:
                self.counts[refused.reason] += 1
                continue
            if isinstance(content, Batch):
                batches.append(content)
            else:
                descriptions.append(content)
        self._keep(batches, descriptions)
        for message in received:
            self._inbox.acknowledge(message)
        self._confirm(batches)
        self.counts["batches"] += len(batches)
        self.counts["descriptions"] += len(descriptions)
        self.counts["readings"] += sum(len(batch.at) for batch in batches)
        return len(received)

    def _keep(self, batches: Sequence[Batch], descriptions: Sequence[Description]) -> None:
        """Returns when the store has them. If the store fails, it tries again after growing pauses; the broker keeps the rest."""
        pause = 1.0
        while True:
            try:
                for description in descriptions:
                    self._store.describe(description.node, description.sensors)
                if batches:
                    self._store.write(batches)
            except (SteelyardError, OSError) as error:
                self.trouble = str(error)
                self._clock.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                self.trouble = ""
                return

    def _confirm(self, batches: Sequence[Batch]) -> None:
        """Sends a receipt to each node. Senders of foreign formats do not listen for one, and it does no harm."""
        nodes: dict[str, list[Batch]] = {}
        for batch in batches:
            nodes.setdefault(batch.node, []).append(batch)
        for node, theirs in nodes.items():
            self._inbox.confirm(self._topics.stored(node), receipt((b.writer, b.sequence) for b in theirs))
