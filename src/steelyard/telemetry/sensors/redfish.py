"""What a BMC says of its chassis' power over Redfish (DMTF DSP0266): PowerControl[].PowerConsumedWatts, by HTTPS."""

import base64
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from steelyard.errors import MachineFailed, UsageError
from steelyard.files import secret
from steelyard.model.sensor import Reading, Sensor
from steelyard.telemetry.sensors import Device, Found, Kind
from steelyard.telemetry.sensors._files import held
from steelyard.telemetry.sensors._words import distinct, expect, slug

if TYPE_CHECKING:
    from urllib.request import OpenerDirector  # with TLS and HTTP thirty modules: loaded where a service is asked

_CHASSIS = "/redfish/v1/Chassis"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SECONDS = 10.0  # a BMC takes a second or two
_MOST_BYTES = 1 << 20  # of an answer; a chassis' power has some thousand
_SETTINGS = ("url", "token-file", "user", "password-file", "ca")


@dataclass(frozen=True)
class Service:
    """A Redfish service; `headers` say who asks. They go to that address alone: no proxy, and no other that it names."""

    url: str
    headers: Mapping[str, str]
    opener: "OpenerDirector"

    def get(self, path: str) -> dict[str, Any]:
        """The resource at `path`. OSError where there is none, or what comes is none."""
        from http.client import HTTPException
        from urllib.request import Request

        try:
            with self.opener.open(Request(self.url + path, headers=dict(self.headers)), timeout=_SECONDS) as answer:
                found = json.loads(answer.read(_MOST_BYTES))
        except OSError as problem:
            raise OSError(f"{self.url}{path}: {problem}") from None
        except (HTTPException, ValueError, RecursionError) as problem:
            raise OSError(f"{self.url}{path} gave no JSON of a resource: {type(problem).__name__}: {problem}") from None
        if not isinstance(found, dict):
            raise OSError(f"{self.url}{path} gave no resource, but a {type(found).__name__}")
        return found


@dataclass(frozen=True)
class _Control:
    """A member of a PowerControl list: where it is, whose it is, and what holds that chassis."""

    power: str
    place: int
    chassis: str
    container: str
    name: str
    partial: bool  # of a part of that chassis


class Redfish:
    """The chassis of one service that say what they draw. OSError where none does."""

    def __init__(self, service: Service, host: str) -> None:
        self._service = service
        controls = _controls(service)
        if not controls:
            raise OSError(f"{service.url}{_CHASSIS}: no chassis says what it draws (PowerControl, PowerConsumedWatts)")
        names = distinct([f"redfish/{slug(host)}/{control.name}" for control in controls])
        whole = {c.chassis: name for c, name in zip(controls, names, strict=True) if c.place == 0}
        self.sensors: Sequence[Sensor] = held(
            [
                Sensor(
                    name,
                    "power",
                    "Redfish",
                    service.url + c.power,
                    part_of=whole.get(c.chassis if c.partial else c.container, ""),
                    scope="" if c.partial else "node",
                )
                for c, name in zip(controls, names, strict=True)
            ]
        )
        self._names = {(c.power, c.place): name for c, name in zip(controls, names, strict=True)}

    def read(self) -> Sequence[Reading]:
        readings = []
        for power in dict.fromkeys(power for power, _ in self._names):
            before = time.time_ns()
            reported = _watts(self._service.get(power))
            at = (before + time.time_ns()) // 2
            for place, (_, watts, _) in reported.items():
                if (power, place) in self._names:
                    readings.append(Reading(self._names[power, place], at, watts))
        return readings

    def close(self) -> None:
        """No connection is kept."""


def _controls(service: Service) -> list[_Control]:
    members = service.get(_CHASSIS).get("Members")
    controls = []
    for chassis in filter(None, map(_path, members if isinstance(members, list) else ())):
        about = service.get(chassis)
        power = _path(about.get("Power"))
        links = about.get("Links")
        container = _path(links.get("ContainedBy")) if isinstance(links, dict) else ""
        label = slug(chassis.rstrip("/").rpartition("/")[2])
        controls += [
            _Control(power, place, chassis, container, f"{label}/{slug(name)}", partial)
            for place, (name, _, partial) in (_watts(service.get(power)) if power else {}).items()
        ]
    return controls


def _path(link: Any) -> str:
    """The path of a link within the service; "" for what is none, or leads elsewhere."""
    path = link.get("@odata.id") if isinstance(link, dict) else None
    return (
        path if isinstance(path, str) and path.startswith("/redfish/") and path.isascii() and path.isprintable() else ""
    )


def _watts(power: Mapping[str, Any]) -> dict[int, tuple[str, float, bool]]:
    """Name and watts of each member of a PowerControl list that gives some, by its place, and whether it is of a part alone.

    That is what its PhysicalContext says (CPU, Memory …); the first one is always the chassis'.
    """
    controls = power.get("PowerControl")
    found = {}
    for place, control in enumerate(controls if isinstance(controls, list) else ()):
        watts = control.get("PowerConsumedWatts") if isinstance(control, dict) else None
        if (
            isinstance(watts, int | float)
            and not isinstance(watts, bool)
            and abs(watts) < 1e12
            and math.isfinite(watts)
        ):
            name = str(control.get("Name") or control.get("MemberId") or place)
            found[place] = (name, float(watts), place > 0 and control.get("PhysicalContext", "Chassis") != "Chassis")
    return found


def make(settings: Mapping[str, str]) -> Device:
    """The device of --sensor redfish:url=…; UsageError for settings that cannot be, MachineFailed where nothing comes."""
    expect("redfish", settings, _SETTINGS, ("url",))
    host, url = _address(settings["url"])
    service = Service(url, {"Accept": "application/json", **_who(settings)}, _opener(settings.get("ca")))
    try:
        return Redfish(service, host)
    except OSError as problem:
        raise MachineFailed(f"The sensor 'redfish' cannot be read: {problem}.") from None


def _address(url: str) -> tuple[str, str]:
    """(host, the address without a path); plain HTTP would show the password to everyone on the way."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    safe = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    if not host or not safe or "@" in parts.netloc or parts.path not in ("", "/") or parts.query or not url.isascii():
        raise UsageError(
            f"'{url}' (given by --sensor redfish:url=) cannot be: expected an address such as https://10.0.0.2."
        )
    return host, f"{parts.scheme}://{parts.netloc}"


def _who(settings: Mapping[str, str]) -> dict[str, str]:
    """The header that says who asks: a token of a session, or else name and password; none where neither is given."""
    if "token-file" in settings:
        return {"X-Auth-Token": _secret(settings, "token-file")}
    if "user" in settings:
        pair = f"{settings['user']}:{_secret(settings, 'password-file')}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    return {}


def _secret(settings: Mapping[str, str], name: str) -> str:
    expect("redfish", settings, _SETTINGS, (name,))
    word = secret(Path(settings[name]), name.removesuffix("-file")).strip()
    if not word.isascii() or not word.isprintable():
        raise UsageError(
            f"'{settings[name]}' (given by --sensor redfish:{name}=) holds more than one line of ASCII letters."
        )
    return word


def _opener(authority: str | None) -> "OpenerDirector":
    """What opens addresses: certificates are checked, those of the system or of the file that was given; no redirection."""
    import ssl
    from urllib.request import HTTPDefaultErrorHandler, HTTPErrorProcessor, HTTPHandler, HTTPSHandler, OpenerDirector

    try:
        context = ssl.create_default_context(cafile=authority)
    except (OSError, ValueError) as problem:
        raise UsageError(f"'{authority}' (given by --sensor redfish:ca=) holds no certificate: {problem}.") from None

    opener = OpenerDirector()
    for handler in (HTTPHandler(), HTTPSHandler(context=context), HTTPDefaultErrorHandler(), HTTPErrorProcessor()):
        opener.add_handler(handler)
    return opener


kind = Kind(
    "redfish",
    "A BMC by Redfish: what each chassis draws",
    lambda root: Found(),
    make,
    "url=https://ADDRESS,token-file=FILE or user=NAME,password-file=FILE; ca=FILE (certificate of a BMC that signed its own)",
)
