"""The address of a broker, and a client of paho-mqtt for it with the identity and the secrecy that a user asked for."""

import contextlib
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import UsageError
from steelyard.power.message import RECEIVE_MAXIMUM
from steelyard.system.installation import install_extra

if TYPE_CHECKING:
    from paho.mqtt.client import Client

PAUSES = (1, 60)  # seconds until a lost connection is tried again: the first, doubled up to the last


@dataclass(frozen=True, slots=True)
class Broker:
    """The address of a broker and the identity of the client: a user with a password, or a certificate with its key.

    `ca` turns TLS on.
    """

    host: str
    port: int = 8883
    user: str = ""
    password: str = ""
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    insecure: bool = False  # to another host without TLS


def make_client(broker: Broker, name: str) -> "Client":
    """Returns a client that is not connected yet. UsageError for an address, a password or a certificate that cannot be used."""
    try:
        from paho.mqtt.client import Client, MQTTv5
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError:
        raise UsageError(
            f"A broker needs the Python package paho-mqtt, which is not installed. Do: {install_extra('power')}"
        ) from None
    if not broker.host or not 0 < broker.port < 65536:
        raise UsageError(
            f"'{broker.host}:{broker.port}' is not an address of a broker. Expected a host and a port from 1 to 65535."
        )
    client = Client(CallbackAPIVersion.VERSION2, name, protocol=MQTTv5, manual_ack=True)
    client.reconnect_delay_set(*PAUSES)
    client.max_inflight_messages_set(RECEIVE_MAXIMUM)
    _expect_secrecy(broker)
    if broker.user:
        client.username_pw_set(broker.user, broker.password)
    if broker.key and not broker.certificate:
        raise UsageError(f"The key '{broker.key}' needs a certificate. Give both, with --key and --certificate.")
    if broker.ca or broker.certificate:
        _turn_on_tls(client, broker)
    return client


def _turn_on_tls(client: "Client", broker: Broker) -> None:
    """Turns TLS on, with the certificate of the authority or those that the system trusts."""
    names = (broker.ca, broker.certificate, broker.key)
    for path in names:
        if path and not path.is_file():
            raise UsageError(f"The certificate or key '{path}' does not exist. Name a file in PEM format.")
    try:
        ca, certificate, key = (str(path) if path else None for path in names)
        client.tls_set(ca, certificate, key, tls_version=ssl.PROTOCOL_TLS_CLIENT)
    except (OSError, ValueError) as error:
        given = ", ".join(f"'{path}'" for path in names if path)
        raise UsageError(f"{given} cannot be read as a certificate and its key in PEM format: {error}.") from None


def _expect_secrecy(broker: Broker) -> None:
    """Refuses to send a password over a network without TLS; and anything else, unless the user asked for that."""
    if broker.ca or broker.certificate or broker.host == "localhost":
        return
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(broker.host).is_loopback:
            return
    if broker.user:
        raise UsageError(
            f"Anyone on the network path could read the password for the broker '{broker.host}'. "
            "Turn TLS on with the certificate of the broker's authority: --ca FILE."
        )
    if not broker.insecure:
        raise UsageError(
            f"The broker '{broker.host}' is on another host. Without TLS, anyone on the network path can read and change "
            "the data. Turn TLS on with the certificate of the broker's authority: --ca FILE  (or continue without: --insecure)"
        )
