"""The kinds of sensors that are known: one file each, found by itself. Here is what a file declares, and what is asked of all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from steelyard.declarations import declared
from steelyard.errors import UsageError, nearest
from steelyard.model.sensor import Reading, Sensor

NONE = (
    "This machine has no power sensor that you may read (RAPL, hwmon, IPMI, battery, accelerator). Name one with --sensor, such "
    "as command:run=FILE,unit=W, or model:idle=20,full=95 (power computed from the load, and marked as modelled)."
)
GROUP = "steelyard.sensor"  # the entry point by which another package adds a kind of sensors


class Device(Protocol):
    """A source of readings: one or several sensors that are read together.

    It may have `notes`, a sequence of sentences on what it cannot say; `opened` prints none of them.
    """

    @property
    def sensors(self) -> Sequence[Sensor]: ...

    def read(self) -> Sequence[Reading]:
        """Returns the readings of its sensors now; a sensor without a reading is left out. OSError where it cannot be asked."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Found:
    """The devices of a kind: those that can be read, and a sentence for each that cannot."""

    devices: tuple[Device, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """A kind of sensors. `find` looks below a root of files ("/"; tests give others) for those that need no settings.

    `open` makes a device from words that a user gives ("--sensor ipmi:host=10.0.0.1"), None where the kind takes none;
    UsageError for words that it does not know. `words` says them in the help. `light`: to read them takes microseconds, so that
    they may be read beside a measurement which did not ask for them.
    """

    name: str
    title: str
    find: Callable[[Path], Found]
    open: Callable[[dict[str, str]], Device] | None = None
    words: str = ""
    light: bool = False


def kinds() -> dict[str, Kind]:
    """All kinds by name."""
    return declared(__name__, GROUP, Kind)


def find(root: Path = Path("/"), light: bool = False) -> Found:
    """The devices of all kinds (only of `light` ones) that are there without being asked for, and why others cannot be read."""
    found = [kind.find(root) for kind in kinds().values() if kind.light or not light]
    return Found(tuple(d for f in found for d in f.devices), tuple(s for f in found for s in f.refused))


def notes(devices: Sequence[Device]) -> list[str]:
    """Returns a sentence for each limit of the devices."""
    return [sentence for device in devices for sentence in getattr(device, "notes", ())]


def opened(words: str) -> Device:
    """A device that the user names: "csv:file=trace.csv", as KIND:NAME=VALUE,NAME=VALUE. UsageError where it is none."""
    name, _, rest = words.partition(":")
    known = {n: kind for n, kind in kinds().items() if kind.open}
    if name not in known:
        raise UsageError(
            f"'{name}' (given by --sensor) is not a kind of sensor that can be named. {nearest(name, known)}"
        )
    settings = dict(part.partition("=")[::2] for part in rest.split(",") if part)
    make = known[name].open
    assert make is not None
    return make(settings)
