"""Options of the commands that use a broker or a store, and how such a command ends."""

import contextlib
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.errors import UsageError, spelled
from steelyard.measure.telemetry.clock_jumps import ClockWatch
from steelyard.system import signals

if TYPE_CHECKING:
    from steelyard.power.broker import Broker
    from steelyard.power.stores import Store
    from steelyard.power.topics import Topics

LOOK = 5.0  # seconds between two looks for trouble

BrokerPlace = Annotated[
    str | None,
    typer.Option(
        "--broker",
        metavar="HOST[:PORT]",
        help="MQTT broker, such as admin:8883 (default: none; default port: 8883 with TLS, else 1883).",
    ),
]
User = Annotated[
    str, typer.Option("--user", metavar="NAME", help="User name at the broker, such as node (default: none).")
]
PasswordFile = Annotated[
    Path | None,
    typer.Option(
        "--password-file", metavar="FILE", help="File with the user's password, such as secret (default: no password)."
    ),
]
Authority = Annotated[
    Path | None,
    typer.Option(
        "--ca",
        metavar="FILE",
        help="PEM file with the authority that signed the broker's certificate, such as ca.pem. Turns TLS on "
        "(default: no TLS).",
    ),
]
Certificate = Annotated[
    Path | None,
    typer.Option(
        "--certificate",
        metavar="FILE",
        help="PEM file with a certificate to present instead of a password, such as node.pem (default: none).",
    ),
]
Key = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="PEM file with the key of the certificate, such as key.pem (default: the certificate's file).",
    ),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure",
        help="Allow a broker on another host without TLS, and a password file that other users can read. "
        "Anyone on the network path can then read and change the readings and read the password.",
    ),
]
Prefix = Annotated[str, typer.Option("--prefix", metavar="TOPIC", help="First level of the topics, such as site.")]
_STORE = "Store of readings: a folder, such as readings, or cassandra://HOST/KEYSPACE"
StorePlace = Annotated[str, typer.Option("--store", metavar="PLACE", help=f"{_STORE} (required).")]
StorePlaceOrNone = Annotated[
    str | None, typer.Option("--store", metavar="PLACE", help=f"{_STORE} (default: none; then --broker is required).")
]


def read_broker(
    place: str,
    user: str,
    password_file: Path | None,
    ca: Path | None,
    certificate: Path | None,
    key: Path | None,
    insecure: bool,
) -> "Broker":
    """Returns the broker. UsageError for an invalid address, an unreadable password, or (unless `insecure`) a public one."""
    from steelyard.model.numbers import host_and_port, whole
    from steelyard.power.broker import Broker
    from steelyard.system.files import secret

    host, port = host_and_port(place)
    usual = "8883" if ca or certificate else "1883"
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.%a-z]*\]?", host):
        raise UsageError(
            f"'{place}' (given by --broker) is not an address of a broker. Expected HOST or HOST:PORT, such as admin:8883."
        )
    number = whole(port or usual, "(given by --broker)", 1, 65535)
    password = secret(password_file, "password", insecure) if password_file else ""
    if password and not user:
        raise UsageError(f"The password in '{password_file}' needs a user. Name both, with --user and --password-file.")
    return Broker(host.strip("[]"), number, user, password, ca, certificate, key, insecure)


def read_topics(prefix: str, levels: int = 2, foreign: Sequence[str] = ()) -> "Topics":
    """Returns the topics. UsageError for a prefix that no topic can have, and for an invalid filter of `foreign` ones."""
    from steelyard.power.message import is_name
    from steelyard.power.topics import Topics, is_filter

    if not is_name(prefix):
        raise UsageError(
            f"'{prefix}' (given by --prefix) cannot begin a topic. Expected words without +, # or quotes, such as steelyard."
        )
    for words in foreign:
        if not is_filter(words):
            raise UsageError(
                f"'{words}' (given by --foreign) is not a valid filter of topics. '+' must be a whole level and '#' the last "
                "level, such as in '/#' or 'org/+/cluster/#'."
            )
    return Topics(prefix, levels)


@contextlib.contextmanager
def open_store(place: str) -> "Iterator[Store]":
    """Opens a store that exists, prints its notes, and closes it. UsageError if there is none."""
    from steelyard.power.stores import open_store

    with contextlib.closing(open_store(place)) as store:
        for note in store.notes:
            say(note)
        yield store


@contextlib.contextmanager
def run_until_signal(trouble: Callable[[], str] = str, note: Callable[[], str] = str) -> Iterator[None]:
    """Lets a signal end the body, the usual way to stop it, and goes on.

    Meanwhile, it prints each new `trouble`, each new `note`, and that somebody set the clock.
    """
    ended = threading.Event()
    threading.Thread(target=_watch_connection, args=(trouble, note, ended), daemon=True).start()
    try:
        with signals.accepted():
            yield
    finally:
        ended.set()


@contextlib.contextmanager
def interrupt_waits() -> Iterator[Callable[[float], bool]]:
    """Gives a function that waits some seconds and returns whether a signal came. Signals do not interrupt printing.

    An exception within a write would leave it unknown whether the bytes were written, and they would be written twice.
    """

    def wait(seconds: float) -> bool:
        try:
            signals.sleep(seconds)
        except KeyboardInterrupt:
            signals.accept()
            return True
        return bool(signals.arrived())

    with signals.accepted(), signals.held():
        yield wait


def _watch_connection(trouble: Callable[[], str], note: Callable[[], str], ended: threading.Event) -> None:
    last = noted = ""
    clock = ClockWatch()
    over = False
    while not over:
        over = ended.wait(LOOK)
        if (now := note()) != noted:
            say(now)
            noted = now
        if jump := clock.jump():
            say(f"{jump} No reading is lost, but each keeps the time of the clock when it was measured.")
        if not over and (now := trouble()) != last:
            say(now or "This problem is over.")
            last = now


def say(words: str) -> None:
    print(f"steelyard: {spelled(words)}", file=sys.stderr, flush=True)
