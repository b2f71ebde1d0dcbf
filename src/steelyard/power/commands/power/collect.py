"""`steelyard power collect`."""

from typing import Annotated

import typer

from steelyard.power.command_line.connections import (
    Authority,
    Certificate,
    Insecure,
    Key,
    PasswordFile,
    Prefix,
    StorePlace,
    User,
)

PLACE = 40


def command(
    place: Annotated[
        str, typer.Option("--broker", metavar="HOST[:PORT]", help="MQTT broker, such as admin:8883 (required).")
    ],
    store: StorePlace,
    user: User = "",
    password_file: PasswordFile = None,
    ca: Authority = None,
    certificate: Certificate = None,
    key: Key = None,
    insecure: Insecure = False,
    prefix: Prefix = "steelyard",
    foreign: Annotated[
        list[str] | None,
        typer.Option(
            "--foreign",
            metavar="TOPIC",
            help="Topic with readings of DCDB or ExaMon to receive as well, such as '/#' or 'org/#' (default: none).",
        ),
    ] = None,
    levels: Annotated[
        int,
        typer.Option(
            "--levels",
            metavar="NUMBER",
            min=1,
            help="Number of levels of DCDB's topics that are the name of the node, such as 4 for /i01/r01/c01/s09/PKG_POWER.",
        ),
    ] = 2,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name of this collector, such as first. Use the same name at each start (default: the host's name).",
        ),
    ] = None,
) -> None:
    """Receive the readings that agents publish, and write them into a store. Ctrl-C or SIGTERM stops it.

    Several collectors share the load. A message is acknowledged when the store has it on disk. Messages that are malformed or too
    large are counted and dropped.

    Example: **steelyard power collect --broker admin:8883 --ca ca.pem --user collector --password-file secret --store readings**
    """
    import platform

    from steelyard.power.broker import Subscriber
    from steelyard.power.collector import Collector, list_subscriptions
    from steelyard.power.command_line import connections
    from steelyard.power.stores import open_store

    topics = connections.read_topics(prefix, levels, foreign or ())
    kept = open_store(store, make=True)
    to = connections.read_broker(place, user, password_file, ca, certificate, key, insecure)
    inbox = Subscriber(to, f"steelyard-collector-{name or platform.node()}", list_subscriptions(topics, foreign or ()))
    collector = Collector(inbox, kept, topics)
    connections.say(f"Receiving readings from {place} into {store}. Ctrl-C stops it.")
    with connections.run_until_signal(
        lambda: inbox.trouble or collector.trouble or "".join(kept.notes[-1:]), note=lambda: collector.note
    ):
        collector.run()
    counted = ", ".join(f"{count} {what}" for what, count in sorted(collector.counts.items()))
    connections.say(f"Received: {counted}." if counted else "No message was received.")
