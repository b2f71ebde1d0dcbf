"""The kinds of sensors, one file each, which are found by themselves. This file defines their interface."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError, nearest
from steelyard.model.declarations import declared
from steelyard.model.sensor import Reading, Sensor

NONE = (
    "This machine has no power sensor that you may read (RAPL, hwmon, IPMI, battery, accelerator). Name one with --sensor, such "
    "as command:run=FILE,unit=W,scope=node, or model:idle=20,full=95 (power computed from the load, and marked as modelled)."
)
GROUP = "steelyard.sensor"  # the entry point by which another package adds a kind of sensors


class Device:
    """A source of readings: one or several sensors that are read together. `notes` are sentences on its limits."""

    sensors: Sequence[Sensor]
    notes: Sequence[str] = ()

    def read(self) -> Sequence[Reading]:
        """Returns the current readings of its sensors, without sensors that have none. OSError if it cannot be read."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes what the device keeps open; most devices keep nothing open."""


@dataclass(frozen=True)
class Found:
    """The devices of a kind that can be read, and a sentence for each that cannot."""

    devices: tuple[Device, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kind:
    """A kind of sensors. `find` searches below a root folder ("/"; tests use others) for sensors that need no settings.

    `open` makes a device from the settings of a user ("--sensor ipmi:host=10.0.0.1"; None: the kind takes none). It raises
    UsageError for unknown settings, and OSError without a reading. `words` describes the settings in the help. `light`: a
    reading takes microseconds, so that these sensors may be read during any measurement.
    """

    name: str
    title: str
    find: Callable[[Path], Found] = lambda root: Found()
    open: Callable[[dict[str, str]], Device] | None = None
    words: str = ""
    light: bool = False


def kinds() -> dict[str, Kind]:
    """Returns all kinds by name."""
    return declared(__name__, GROUP, Kind)


def find(root: Path = Path("/"), light: bool = False) -> Found:
    """Returns the devices of all kinds (or of the `light` ones) that need no settings, and why others cannot be read."""
    results = [kind.find(root) for kind in kinds().values() if kind.light or not light]
    return Found(tuple(d for f in results for d in f.devices), tuple(s for f in results for s in f.refused))


def open_device(words: str) -> Device:
    """Opens a device that the user names, such as "csv:file=trace.csv" (KIND:NAME=VALUE,NAME=VALUE).

    UsageError for an unknown kind or setting, MachineFailed for a device that gives no reading.
    """
    name, _, rest = words.partition(":")
    usable = {n: kind for n, kind in kinds().items() if kind.open}
    if name not in usable:
        raise UsageError(f"--sensor does not accept the kind of sensor '{name}'. {nearest(name, usable)}")
    settings = dict(part.partition("=")[::2] for part in rest.split(",") if part)
    make = usable[name].open
    assert make is not None
    try:
        return make(settings)
    except OSError as problem:
        raise MachineFailed(f"The sensor '{name}' cannot be read: {problem}.") from None
