"""Where is listened, and who may come in."""

import ipaddress
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError
from steelyard.files import secret

PORT = 9464
LEAST_TOKEN = 16  # characters: a shorter one can be guessed


@dataclass(frozen=True, slots=True)
class Address:
    """What is listened on. `loopback`: no other machine reaches it."""

    host: str
    port: int
    loopback: bool


@dataclass(frozen=True, slots=True)
class Secured:
    """The certificate (PEM) that the server shows, and its key (None: in the same file)."""

    certificate: Path
    key: Path | None


def address(text: str) -> Address:
    """Of HOST, HOST:PORT or [HOST]:PORT. UsageError for what is none."""
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        host, port = text, str(PORT)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise UsageError(
            f"'{text}' (given by --listen) is not an address. Expected HOST:PORT, such as 127.0.0.1:{PORT}."
        )
    try:
        found = [str(each[4][0]) for each in socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"The host '{host}' (given by --listen) has no address: {error}. Name another host.") from None
    numeric = next((each for each in found if "." in each), found[0])
    return Address(numeric, int(port), ipaddress.ip_address(numeric.partition("%")[0]).is_loopback)


def token(file: Path, insecure: bool) -> str:
    """The word that a file holds. UsageError as `files.secret`, and where it can be guessed."""
    found = secret(file, "token", insecure).strip()
    if len(found) < LEAST_TOKEN or not found.isascii() or not found.isprintable() or " " in found:
        raise UsageError(
            f"The token file '{file}' must contain one word of at least {LEAST_TOKEN} letters. Make one: openssl rand -hex 32"
        )
    return found


def expect_token(at: Address, token: str) -> None:
    """Refuses to answer everybody."""
    if not at.loopback and not token:
        raise UsageError(
            f"Other machines can reach '{at.host}' (given by --listen). Name a token that requests must send, "
            "--token-file FILE, or listen on 127.0.0.1."
        )


def secured(certificate: Path | None, key: Path | None) -> Secured | None:
    """UsageError for what is no certificate with its key; None without one."""
    if certificate is None:
        if key:
            raise UsageError(f"The key '{key}' needs a certificate. Name both, with --key and --certificate.")
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError as error:
        given = ", ".join(f"'{path}'" for path in (certificate, key) if path)
        raise UsageError(f"{given} cannot be read as a certificate and its key in PEM format: {error}.") from None
    return Secured(certificate, key)


def opened(at: Address) -> socket.socket:
    """A socket that is listened on. MachineFailed where the address is in use, or not this machine's."""
    family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
    try:
        return socket.create_server((at.host, at.port), family=family)
    except OSError as error:
        raise MachineFailed(
            f"The server cannot listen on {at.host} port {at.port}: {error.strerror}. Name another address, such as "
            "--listen 127.0.0.1:0."
        ) from None


def place(of: socket.socket, secured: Secured | None) -> str:
    """The address as a browser takes it."""
    host, port = of.getsockname()[:2]
    return f"{'https' if secured else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
