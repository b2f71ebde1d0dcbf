"""The address of the server, its certificate and its token."""

import ipaddress
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError
from steelyard.system.files import secret

PORT = 9464
BACKLOG = 1024  # connections that wait to be accepted
LEAST_TOKEN = 16  # characters: a shorter one can be guessed


@dataclass(frozen=True, slots=True)
class Address:
    """The address of the server. `loopback`: no other machine can reach it."""

    host: str
    port: int
    loopback: bool


def parse_address(text: str) -> Address:
    """Returns the address from HOST, HOST:PORT or [HOST]:PORT. UsageError for anything else."""
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        host, port = text, str(PORT)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise UsageError(
            f"'{text}' (given by --listen) is not an address. Expected HOST:PORT, such as 127.0.0.1:{PORT}."
        )
    try:
        addresses = [str(entry[4][0]) for entry in socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"The host '{host}' (given by --listen) has no address: {error}. Name another host.") from None
    numeric = next((entry for entry in addresses if "." in entry), addresses[0])
    return Address(numeric, int(port), ipaddress.ip_address(numeric.partition("%")[0]).is_loopback)


def read_token(file: Path, insecure: bool) -> str:
    """Returns the token in a file. UsageError as in `files.secret`, and if it can be guessed."""
    word = secret(file, "token", insecure).strip()
    if len(word) < LEAST_TOKEN or not word.isascii() or not word.isprintable() or " " in word:
        raise UsageError(
            f"The token file '{file}' must contain one word of at least {LEAST_TOKEN} characters, without spaces. Make such a "
            "word with: openssl rand -hex 32"
        )
    return word


def expect_token(at: Address, token: str) -> None:
    """Raises UsageError if other machines could send requests without a token."""
    if not at.loopback and not token:
        raise UsageError(
            f"Other machines can connect to '{at.host}' (given by --listen), so requests must send a token. Name a file that "
            "contains a token with --token-file FILE, or listen on 127.0.0.1."
        )


def load_tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """Returns the TLS that shows a certificate (PEM); None without a certificate. UsageError if it cannot be used."""
    if certificate is None:
        if key:
            raise UsageError(f"The key '{key}' needs a certificate. Give both, with --key and --certificate.")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        given = ", ".join(f"'{path}'" for path in (certificate, key) if path)
        raise UsageError(f"{given} cannot be read as a certificate and its key in PEM format: {error}.") from None
    return context


def listen(at: Address) -> socket.socket:
    """Returns a listening socket. MachineFailed if the address is in use or not of this machine."""
    family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
    try:
        return socket.create_server((at.host, at.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise MachineFailed(
            f"The server cannot listen on {at.host} port {at.port}: {error.strerror}. Name another address, such as "
            "--listen 127.0.0.1:0."
        ) from None


def place(listening: socket.socket, secured: ssl.SSLContext | None) -> str:
    """Returns the URL of the server."""
    host, port = listening.getsockname()[:2]
    return f"{'https' if secured else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
