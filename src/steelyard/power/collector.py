"""The collector: takes what agents publish, writes it to a store, and only then acknowledges it. Several share the load.

What is malformed, foreign or too large is counted and acknowledged, so that it does not come again; nothing grows with the
number of topics or senders.
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
    """Where messages come from, as `broker.Subscriber`."""

    def take(self, most: int, linger: float) -> Sequence[Received]: ...
    def acknowledge(self, received: Received) -> None: ...
    def confirm(self, topic: str, payload: bytes) -> None: ...
    def close(self) -> None: ...


def subscriptions(topics: Topics, foreign: Sequence[str] = ()) -> tuple[str, ...]:
    """What a collector subscribes to; `foreign` are topics of DCDB or ExaMon beside ours ("/#", "org/#").

    Descriptions are retained, and a shared subscription is given nothing that is: each collector has them for itself.
    """
    shared = (f"$share/{GROUP}/{topic}" for topic in (f"{topics.prefix}/#", *foreign))
    return (*shared, f"{topics.prefix}/+/+/sensors")


class Collector:
    """Moves messages from an inbox to a store.

    `counts` has messages by what became of them, and "readings"; `trouble` is why the store does not take them now.
    """

    def __init__(self, inbox: Inbox, store: Store, topics: Topics, clock: Clock | None = None) -> None:
        self._inbox, self._store, self._topics = inbox, store, topics
        self._clock = clock or SystemClock()
        self.counts: Counter[str] = Counter()
        self.trouble = ""

    def run(self) -> None:
        """Until it is interrupted. What was not acknowledged then comes again, to another collector or to the next start."""
        try:
            while True:
                self.step()
        finally:
            self._inbox.close()

    def step(self) -> int:
        """Takes what is there, or waits a moment for it: how many messages."""
        received = self._inbox.take(RECEIVE_MAXIMUM, LINGER)
        batches: list[Batch] = []
        descriptions: list[Description] = []
        for each in received:
            try:
                found = self._topics.received(each.topic, each.payload)
            except Refused as refused:
                self.counts[refused.reason] += 1
                continue
            if isinstance(found, Batch):
                batches.append(found)
            else:
                descriptions.append(found)
        self._keep(batches, descriptions)
        for each in received:
            self._inbox.acknowledge(each)
        self._confirm(batches)
        self.counts["batches"] += len(batches)
        self.counts["descriptions"] += len(descriptions)
        self.counts["readings"] += sum(len(batch.at) for batch in batches)
        return len(received)

    def _keep(self, batches: Sequence[Batch], descriptions: Sequence[Description]) -> None:
        """Returns when the store has them. Where it fails it is asked again, after growing pauses: the broker keeps the rest."""
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
        """A receipt to each node. Who sends foreign forms does not listen for one, and it costs him nothing."""
        nodes: dict[str, list[Batch]] = {}
        for batch in batches:
            nodes.setdefault(batch.node, []).append(batch)
        for node, theirs in nodes.items():
            self._inbox.confirm(self._topics.stored(node), receipt((b.writer, b.sequence) for b in theirs))
