"""The two clients of an MQTT 5 broker, by paho-mqtt: a publisher and a subscriber.

A thread of paho makes the connections. It makes them again after growing pauses. Nothing here waits for a connection.
"""

import contextlib
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.power.broker_client import Broker, make_client
from steelyard.power.message import LARGEST, RECEIVE_MAXIMUM
from steelyard.power.sender import Taken

if TYPE_CHECKING:
    from paho.mqtt.client import Client

__all__ = ["Broker", "Publisher", "Received", "Subscriber"]

KEEPALIVE = 20  # seconds: a broker that has vanished is noticed after one and a half of these
SESSION = 24 * 3600  # seconds that a broker keeps what came for a collector that is away
MOST_WAITING = 3 * RECEIVE_MAXIMUM  # messages: of this connection, of the one before, and unacknowledged ones
NO_ONE_LISTENS = 0x10  # MQTT 5, section 3.4.2.1
FULL = 0.01  # seconds until a full queue is looked at again
QUIT = 2.0  # seconds that a goodbye may take


@dataclass(frozen=True, slots=True)
class Received:
    """A received message. It is acknowledged by its `connection` and `number`."""

    topic: str
    payload: bytes
    quality: int
    connection: int
    number: int


class _End:
    """A client that is connected or tries to connect; base of the publisher and the subscriber."""

    def __init__(self, broker: Broker, name: str, subscriptions: Sequence[str], *, keeps: bool) -> None:
        self._subscriptions = subscriptions
        self.connected = False
        self.connections = 0
        self.window = RECEIVE_MAXIMUM  # messages that the broker takes before it has acknowledged the first
        self.subscribed = False  # whether the broker has confirmed the subscription on this connection
        self.trouble = ""  # why there is no connection, as a sentence
        self._broker = broker
        self._client = make_client(broker, name)
        self._client.on_connect = self._subscribe
        self._client.on_connect_fail = self._note_failure
        self._client.on_disconnect = self._note_disconnection
        self._client.on_message = self._receive
        self._client.on_subscribe = self._note_subscription
        self._connect(keeps)

    def close(self) -> None:
        """Disconnects. It waits only briefly for messages in transit: they are not confirmed and are sent again."""
        end = time.monotonic() + QUIT
        while self.connected and self._client.want_write() and time.monotonic() < end:
            time.sleep(0.01)
        self.connected = False  # messages then no longer wait for room
        self._client.disconnect()
        self._client.loop_stop()

    def _connect(self, keeps: bool) -> None:
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        properties = Properties(PacketTypes.CONNECT)
        properties.ReceiveMaximum = RECEIVE_MAXIMUM
        properties.SessionExpiryInterval = SESSION if keeps else 0
        self._client.connect_async(
            self._broker.host, self._broker.port, KEEPALIVE, clean_start=not keeps, properties=properties
        )
        self._client.loop_start()

    def _subscribe(self, client: "Client", data: Any, flags: Any, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self.trouble = (
                f"The broker '{self._broker.host}' refuses the connection: {reason}. Check user, password, certificate."
            )
            return
        self.trouble = ""
        self.connections += 1
        self.window = min(RECEIVE_MAXIMUM, getattr(properties, "ReceiveMaximum", RECEIVE_MAXIMUM))
        self.connected = True  # and no sooner: the window is known now
        if self._subscriptions:
            client.subscribe([(topic, _make_options()) for topic in self._subscriptions])

    def _note_subscription(self, client: "Client", data: Any, number: int, reasons: Any, properties: Any) -> None:
        refused = [str(reason) for reason in reasons if reason.is_failure]
        self.subscribed = not refused
        if refused:
            self.trouble = (
                f"The broker '{self._broker.host}' refuses the subscription: {refused[0]}. Allow the user to subscribe."
            )

    def _note_failure(self, client: "Client", data: Any) -> None:
        self.trouble = (
            f"No MQTT broker answers at '{self._broker.host}' port {self._broker.port}, or its certificate is not signed by "
            "the named authority. Check --broker and --ca."
        )

    def _note_disconnection(self, client: "Client", data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self.connected = self.subscribed = False
        if not self.trouble:
            self.trouble = f"The connection to the broker '{self._broker.host}' was lost: {reason}."

    def _receive(self, client: "Client", data: Any, message: Any) -> None:
        raise NotImplementedError


class Publisher(_End):
    """The client of an agent: publishes, and receives the receipts of one topic."""

    def __init__(self, broker: Broker, name: str, receipts: str) -> None:
        self._receipts: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._unheard: set[int] = set()  # numbers of messages
        super().__init__(broker, name, (receipts,), keeps=False)
        self._client.on_publish = self._note_publication

    def publish(self, topic: str, payload: bytes, retain: bool = False) -> Callable[[], Taken]:
        """Hands a message to the broker (QoS 1). Returns a function that gives the broker's answer.

        A message that was handed over when the connection was lost counts as taken, because no answer follows.
        """
        sent = self._client.publish(topic, payload, 1, retain)
        outcome: Taken = ""

        def answered() -> Taken:
            nonlocal outcome
            try:
                if not outcome and sent.is_published():
                    outcome = "unheard" if sent.mid in self._unheard else "taken"
                    self._unheard.discard(sent.mid)  # its number may become another's
            except RuntimeError:
                outcome = "taken"
            return outcome

        return answered

    def receipts(self) -> list[bytes]:
        """Returns the receipts since the last call."""
        return _take_all(self._receipts)

    def _note_publication(self, client: "Client", data: Any, number: int, reason: Any, properties: Any) -> None:
        if reason.is_failure:
            self.trouble = (
                f"The broker '{self._broker.host}' refuses published messages: {reason}. Allow the user to publish."
            )
        elif reason.value == NO_ONE_LISTENS:
            self._unheard.add(number)
            self.trouble = f"No collector listens at the broker '{self._broker.host}'. The readings wait on this node."
        else:
            self.trouble = ""

    def _receive(self, client: "Client", data: Any, message: Any) -> None:
        self._receipts.put(message.payload)
        client.ack(message.mid, message.qos)


class Subscriber(_End):
    """The client of a collector: messages wait here until they are taken, and at the broker until they are acknowledged.

    The broker has at most RECEIVE_MAXIMUM messages in transit. A message without acknowledgement (QoS 0) is dropped and counted
    if as many already wait. Use the same `name` at the next start: the broker keeps messages under it in between.
    """

    def __init__(self, broker: Broker, name: str, subscriptions: Sequence[str]) -> None:
        self._waiting: queue.Queue[Received] = queue.Queue()
        self.overflowed = 0
        super().__init__(broker, name, subscriptions, keeps=True)

    def take(self, most: int, linger: float) -> list[Received]:
        """Waits up to a second for a message, and then for more until there are `most`, or `linger` seconds have passed.

        It does not wait at all if `linger` is 0.
        """
        taken: list[Received] = []
        end = time.monotonic() + (1 if linger else 0)
        with contextlib.suppress(queue.Empty):
            while len(taken) < most:
                taken.append(self._waiting.get(timeout=max(0.0, end - time.monotonic())))
                if len(taken) == 1:
                    end = time.monotonic() + linger
        return taken

    def acknowledge(self, received: Received) -> None:
        """Acknowledges a message. One of an earlier connection comes again, and another message may have its number by now."""
        if received.quality and received.connection == self.connections:
            self._client.ack(received.number, received.quality)

    def confirm(self, topic: str, payload: bytes) -> None:
        """Publishes a receipt (QoS 0: one that is lost costs a second sending)."""
        if self.connected:
            self._client.publish(topic, payload, 0)

    def _receive(self, client: "Client", data: Any, message: Any) -> None:
        try:
            topic = message.topic
        except UnicodeDecodeError:
            topic = ""  # Steelyard never sends it, so the message is refused and acknowledged like any malformed one
        if not message.qos and self._waiting.qsize() >= RECEIVE_MAXIMUM:
            self.overflowed += 1
            return
        # A message that needs an acknowledgement always gets room. Without one, the broker would count it as under way for ever.
        while self._waiting.qsize() >= MOST_WAITING and self.connected:
            with contextlib.suppress(IndexError, queue.Empty):
                if self._waiting.queue[0].connection != self.connections:
                    self._waiting.get_nowait()  # the message came again on this connection
                    continue
            time.sleep(FULL)  # the broker exceeds the agreed number of messages (Mosquitto's max_inflight_messages 0)
        # No largest size is agreed with the broker: Mosquitto would lose one in-flight place for ever for each larger message.
        self._waiting.put(Received(topic, message.payload[: LARGEST + 1], message.qos, self.connections, message.mid))


def _make_options() -> Any:
    from paho.mqtt.subscribeoptions import SubscribeOptions

    return SubscribeOptions(qos=1)


def _take_all(waiting: "queue.SimpleQueue[bytes]") -> list[bytes]:
    taken: list[bytes] = []
    with contextlib.suppress(queue.Empty):
        while True:
            taken.append(waiting.get_nowait())
    return taken
