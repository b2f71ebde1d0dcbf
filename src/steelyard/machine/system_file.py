"""Reads a system file (TOML): what the user knows about a machine and its own files do not tell."""

from collections import Counter
from dataclasses import dataclass
from importlib.resources import files as package_files
from pathlib import Path

from steelyard.errors import UsageError, nearest
from steelyard.files import is_file
from steelyard.machine import hostlist
from steelyard.model import Enclosure, Limit
from steelyard.settings_file import read_settings

_CHANNEL_BYTES = 8  # JEDEC: 64 bits of data a transfer
# No machine has less: a smaller number was meant in M, G or T. None has more, either.
_LEAST, _MOST = 1e6, 1e24
_CHANNELS = 1_000_000  # at most
_KEYS = {
    "name": "a text",
    "notes": "a text or a list of texts",
    "memory_bandwidth": "bytes per second: 136.5 GB/s is written 136.5e9",
    "memory_channels": "a whole number, all sockets together",
    "memory_rate": "transfers per second: 2133 MT/s is written 2133e6",
    "network_bandwidth": "bytes per second of a node's link, each way: 100 Gbit/s is written 12.5e9",
    "flops": "double precision flop per second: 1.2 Tflop/s is written 1.2e12",
    "enclosures": "a table, the smallest kind first, each with a list of lists of hosts: blade = ['n[1-15]', 'n[16-30]']",
}


@dataclass(frozen=True)
class SystemFile:
    """The content of a system file. `name` None: it gives none."""

    name: str | None
    limits: dict[str, Limit]
    notes: tuple[str, ...]
    enclosures: tuple[Enclosure, ...]


def shipped_systems() -> dict[str, Path]:
    """The system files that come with Steelyard, by name."""
    folder = Path(str(package_files("steelyard") / "systems"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find_system(name: str) -> Path:
    """The path that `name` is, or the shipped file of that name. Raises UsageError when there is neither."""
    path, shipped = Path(name), shipped_systems()
    if path.suffix == ".toml" or is_file(path):
        return path
    if name in shipped:
        return shipped[name]
    raise UsageError(f"There is no system file '{name}'. {nearest(name, shipped)} Or give the path of a file.")


def load_system(path: Path) -> SystemFile:
    """Reads and checks `path`. Raises UsageError with the file, the key, and what is expected there."""
    content = read_settings(path, "The system file").content
    for key in content:
        if key not in _KEYS:
            raise UsageError(f"The system file '{path}' has an unknown key '{key}'. {nearest(key, _KEYS)}")
    name = content.get("name")
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise _wrong(path, "name", name)
    notes = content.get("notes", [])
    notes = [notes] if isinstance(notes, str) else notes
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise _wrong(path, "notes", notes)
    return SystemFile(name, _limits(path, content), tuple(notes), _enclosures(path, content.get("enclosures", {})))


def _limits(path: Path, content: dict[str, object]) -> dict[str, Limit]:
    source = f"given by {path.name}"
    limits = {}
    bandwidth = _positive(path, content, "memory_bandwidth")
    rate = _positive(path, content, "memory_rate")
    channels = content.get("memory_channels")
    if channels is not None and (
        isinstance(channels, bool) or not isinstance(channels, int) or not 1 <= channels <= _CHANNELS
    ):
        raise _wrong(path, "memory_channels", channels)
    if (rate is None) != (channels is None):
        given, absent = ("memory_rate", "memory_channels") if channels is None else ("memory_channels", "memory_rate")
        raise UsageError(f"The system file '{path}' gives '{given}' without '{absent}' ({_KEYS[absent]}).")
    if bandwidth is not None and rate is not None:
        raise UsageError(
            f"The system file '{path}' gives the memory's bandwidth twice: keep either 'memory_bandwidth' or "
            "'memory_channels' and 'memory_rate'."
        )
    if isinstance(channels, int) and rate is not None:
        derived = f"{channels} channels × {rate / 1e6:.0f} MT/s × {_CHANNEL_BYTES} B, {source}"
        limits["memory_bandwidth"] = Limit(channels * rate * _CHANNEL_BYTES, "B/s", derived)
    elif bandwidth is not None:
        limits["memory_bandwidth"] = Limit(bandwidth, "B/s", source)
    for key, unit in (("network_bandwidth", "B/s"), ("flops", "flop/s")):
        value = _positive(path, content, key)
        if value is not None:
            limits[key] = Limit(value, unit, source)
    return limits


def _enclosures(path: Path, given: object) -> tuple[Enclosure, ...]:
    """Each with its hosts written out. A host stands in one enclosure of a kind, or in none."""
    if not isinstance(given, dict):
        raise _wrong(path, "enclosures", given)
    enclosures: list[Enclosure] = []
    for kind, lists in given.items():
        if not isinstance(lists, list) or not all(isinstance(text, str) and text for text in lists):
            raise _wrong(path, "enclosures", {kind: lists})
        try:
            of_kind = [Enclosure(kind, hostlist.expand(text)) for text in lists]
        except ValueError as problem:
            raise UsageError(f"The system file '{path}', key 'enclosures', '{kind}': {problem}.") from None
        hosts = [host for enclosure in of_kind for host in enclosure.hosts]
        twice = next((host for host, times in Counter(hosts).items() if times > 1), None)
        if twice is not None:
            raise UsageError(
                f"The system file '{path}', key 'enclosures', puts the host '{twice}' into two enclosures of the kind "
                f"'{kind}'. Name each host only once for each kind."
            )
        enclosures += of_kind
    return tuple(enclosures)


def _positive(path: Path, content: dict[str, object], key: str) -> float | None:
    value = content.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not _LEAST <= value <= _MOST:
        raise _wrong(path, key, value)
    return float(value)


def _wrong(path: Path, key: str, value: object) -> UsageError:
    return UsageError(f"The system file '{path}' has {key} = '{value}'. Write {_KEYS[key]}.")
