"""`steelyard power agent`."""

from pathlib import Path
from typing import Annotated

import typer

from steelyard.power.command_line.connections import (
    Authority,
    BrokerPlace,
    Certificate,
    Insecure,
    Key,
    PasswordFile,
    Prefix,
    StorePlaceOrNone,
    User,
)
from steelyard.show.command_line.options import Every, Sensors

PLACE = 30


def command(
    place: BrokerPlace = None,
    store: StorePlaceOrNone = None,
    node: Annotated[
        str | None,
        typer.Option(
            "--node", metavar="SYSTEM/NODE", help="Name of this node, such as cluster/node7 (default: cluster/HOST)."
        ),
    ] = None,
    sensor: Sensors = None,
    every: Every = "1s",
    user: User = "",
    password_file: PasswordFile = None,
    ca: Authority = None,
    certificate: Certificate = None,
    key: Key = None,
    insecure: Insecure = False,
    prefix: Prefix = "steelyard",
    buffer: Annotated[
        Path | None,
        typer.Option(
            "--buffer",
            metavar="FOLDER",
            help="Folder in which readings wait for the broker, such as /var/tmp/waiting (default: in the user's cache).",
        ),
    ] = None,
    moments: Annotated[
        int | None,
        typer.Option(
            "--moments",
            metavar="NUMBER",
            min=1,
            help="Stop after this many readings of each sensor, such as 600 (default: run until Ctrl-C).",
        ),
    ] = None,
) -> None:
    """Read the sensors of this node at a set rate. Publish the readings by MQTT, or write them into a store.

    With a broker, each batch of readings waits on disk until a collector has stored it. No reading is lost while the broker is
    unavailable. Ctrl-C or SIGTERM stops the agent cleanly.

    Examples: **steelyard power agent --broker admin:8883 --ca ca.pem --user node --password-file secret** ·
    **steelyard power agent --store readings --every 100ms**
    """
    import platform

    from steelyard.errors import UsageError
    from steelyard.measure.build import inside
    from steelyard.measure.telemetry.sensors import NONE
    from steelyard.model.numbers import period
    from steelyard.power.agent import Agent, Cost, expect_sensors
    from steelyard.power.broker import Publisher
    from steelyard.power.buffer import Buffer
    from steelyard.power.command_line import connections, device_options
    from steelyard.power.sender import Direct, Outlet, Sender
    from steelyard.power.stores import open_store
    from steelyard.system import signals

    if (place is None) == (store is None):
        raise UsageError("The readings need one destination. Give either --broker HOST or --store PLACE.")
    if store and (user or password_file or ca or certificate or key or insecure or buffer):
        raise UsageError(
            "--user, --password-file, --ca, --certificate, --key, --insecure and --buffer are for a broker. Remove them, or give "
            "--broker HOST instead of --store."
        )
    between = period(every)
    called = node or f"cluster/{platform.node().partition('.')[0]}"
    readable = device_options.open_devices(sensor)
    if not readable:
        raise UsageError(NONE)
    devices = [*readable, Cost()]
    sensors = [sensor_of_device for device in devices for sensor_of_device in device.sensors]
    expect_sensors(called, sensors)
    outlet: Outlet
    link: Publisher | None = None
    if store:
        outlet = Direct(open_store(store, make=True), called, sensors)
    else:
        topics = connections.read_topics(prefix)
        waiting = Buffer(buffer or inside("power") / called.replace("/", "-"))
        to = connections.read_broker(place or "", user, password_file, ca, certificate, key, insecure)
        link = Publisher(to, f"steelyard-agent-{called.replace('/', '-')}", topics.stored(called))
        outlet = Sender(link, waiting, topics, called, sensors)
    connections.say(f"Reading {len(sensors)} sensors of {called} every {every} into {store or place}. Ctrl-C stops it.")
    agent = Agent(called, devices, outlet, between)
    # A signal ends only a sleep, so that no reading is lost.
    with connections.run_until_signal(lambda: link.trouble if link else ""), signals.held():
        agent.run(moments)
    counts = agent.counts
    connections.say(f"{counts.readings} readings at {counts.moments} moments; {counts.missed} moments were missed.")
    if isinstance(outlet, Sender) and outlet.backlog:
        connections.say(f"{outlet.backlog} batches wait in {waiting.folder}. The next agent of {called} sends them.")
