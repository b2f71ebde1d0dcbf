"""A Redfish service (DMTF DSP0266): its resources by HTTPS, the user, and the trusted certificates."""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from steelyard.errors import UsageError
from steelyard.measure.telemetry.sensors._words import expect
from steelyard.system.files import secret

if TYPE_CHECKING:
    from urllib.request import OpenerDirector  # with TLS and HTTP thirty modules: loaded where a service is asked

SETTINGS = ("url", "token-file", "user", "password-file", "ca")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SECONDS = 10.0  # a BMC takes a second or two
_MOST_BYTES = 1 << 20  # bytes of an answer; the power of a chassis has some thousand
_MOST_PAGES = 20  # pages of a collection


@dataclass(frozen=True)
class Service:
    """A Redfish service; `headers` name the user. They are sent only to that address, without a proxy or redirection."""

    url: str
    headers: Mapping[str, str]
    opener: "OpenerDirector"

    def get(self, path: str) -> dict[str, Any]:
        """Returns the resource at `path`. OSError if there is none, or the answer is not a resource."""
        from http.client import HTTPException
        from urllib.request import Request

        try:
            with self.opener.open(Request(self.url + path, headers=dict(self.headers)), timeout=_SECONDS) as answer:
                resource = json.loads(answer.read(_MOST_BYTES))
        except OSError as problem:
            raise OSError(f"{self.url}{path}: {problem}") from None
        except (HTTPException, ValueError, RecursionError) as problem:
            raise OSError(f"{self.url}{path} returned no valid JSON: {type(problem).__name__}: {problem}") from None
        if not isinstance(resource, dict):
            raise OSError(f"{self.url}{path} returned a {type(resource).__name__} instead of a resource")
        return resource

    def members(self, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields path and resource of each member of a collection; the resource is {} if the collection has only a link."""
        for _ in range(_MOST_PAGES):
            page = self.get(path)
            members = page.get("Members")
            for member in members if isinstance(members, list) else ():
                if target := link(member):
                    yield target, member if len(member) > 1 else {}
            path = link({"@odata.id": page.get("Members@odata.nextLink")})
            if not path:
                return


def link(to: Any) -> str:
    """Returns the path of a link within the service; "" for anything else."""
    path = to.get("@odata.id") if isinstance(to, dict) else None
    return (
        path if isinstance(path, str) and path.startswith("/redfish/") and path.isascii() and path.isprintable() else ""
    )


def open_service(settings: Mapping[str, str]) -> tuple[Service, str]:
    """Opens the service from the settings of a user. Returns it and its host. UsageError for invalid settings."""
    expect("redfish", settings, SETTINGS, ("url",))
    host, url = _split_address(settings["url"])
    opener = _make_opener(settings.get("ca"), url.startswith("https:"))
    return Service(url, {"Accept": "application/json", **_read_credentials(settings)}, opener), host


def _split_address(url: str) -> tuple[str, str]:
    """Returns (host, the address without a path). UsageError for plain HTTP to another machine, which shows the password."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    safe = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    if not host or not safe or "@" in parts.netloc or parts.path not in ("", "/") or parts.query or not url.isascii():
        raise UsageError(
            f"'{url}' (given by --sensor redfish:url=) is not valid: expected an address such as https://10.0.0.2."
        )
    return host, f"{parts.scheme}://{parts.netloc}"


def _read_credentials(settings: Mapping[str, str]) -> dict[str, str]:
    """Returns the header with the user: a session token, or else name and password; none if neither is given."""
    if "token-file" in settings:
        return {"X-Auth-Token": _read_secret(settings, "token-file")}
    if "user" in settings:
        pair = f"{settings['user']}:{_read_secret(settings, 'password-file')}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    return {}


def _read_secret(settings: Mapping[str, str], name: str) -> str:
    expect("redfish", settings, SETTINGS, (name,))
    word = secret(Path(settings[name]), name.removesuffix("-file")).strip()
    if not word.isascii() or not word.isprintable():
        raise UsageError(
            f"'{settings[name]}' (given by --sensor redfish:{name}=) must contain one line of ASCII characters. Correct the file."
        )
    return word


def _make_opener(authority: str | None, secure: bool) -> "OpenerDirector":
    """Returns an opener of addresses. It checks certificates against the system or the given file, and follows no redirection."""
    import ssl
    from urllib.request import HTTPDefaultErrorHandler, HTTPErrorProcessor, HTTPHandler, HTTPSHandler, OpenerDirector

    try:
        # The certificates of the system take a tenth of a second to load: only where they are asked for.
        context = ssl.create_default_context(cafile=authority) if secure else None
    except (OSError, ValueError) as problem:
        raise UsageError(f"'{authority}' (given by --sensor redfish:ca=) contains no certificate: {problem}.") from None

    opener = OpenerDirector()
    transport = HTTPSHandler(context=context) if context else HTTPHandler()
    for handler in (transport, HTTPDefaultErrorHandler(), HTTPErrorProcessor()):
        opener.add_handler(handler)
    return opener
