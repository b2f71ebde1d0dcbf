"""Reads a system file (TOML): what the user knows about a machine and its own files do not tell."""

from dataclasses import dataclass, field
from pathlib import Path

from steelyard.errors import UsageError, nearest
from steelyard.measure.machine import cluster_file
from steelyard.model import Cluster, Enclosure, Equipment, Limit
from steelyard.model.settings_file import read_settings
from steelyard.system.files import is_file

_CHANNEL_BYTES = 8  # JEDEC: 64 bits of data a transfer
# No machine has less: a smaller number was meant in M, G or T. None has more, either.
_LEAST, _MOST = 1e6, 1e24
_CHANNELS = 1_000_000  # at most
_MOST_WHOLE, _MOST_PRICE = 10**9, 1e12
_KEYS = {
    "name": "a text",
    "notes": "a text or a list of texts",
    "memory_bandwidth": "bytes per second: 136.5 GB/s is written 136.5e9",
    "memory_channels": "a whole number, all sockets together",
    "memory_rate": "transfers per second: 2133 MT/s is written 2133e6",
    "network_bandwidth": "bytes per second of a node's link, each way: 100 Gbit/s is written 12.5e9",
    "flops": "double precision flop per second: 1.2 Tflop/s is written 1.2e12",
    "cores_per_node": "a whole number",
    "nodes_per_enclosure": "a whole number: the nodes of the smallest unit that is mounted in a rack",
    "rack_units_per_enclosure": "a number of rack units: a chassis of 7 U is written 7",
    "price_per_node": "a number, in the currency of the key 'currency'",
    "price_per_kwh": "a number, in the currency of the key 'currency'",
    "price_per_hour": "a number for a node, in the currency of the key 'currency'",
    "currency": "a text such as 'EUR'",
    **cluster_file.KEYS,
}


@dataclass(frozen=True, kw_only=True)
class SystemFile:
    """The content of a system file. `name` None: it gives none."""

    name: str | None
    limits: dict[str, Limit] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    equipment: Equipment = field(default_factory=Equipment)
    cluster: Cluster = field(default_factory=Cluster)


def shipped_systems() -> dict[str, Path]:
    """Returns the system files that come with Steelyard, by name."""
    return {path.stem: path for path in sorted(Path(__file__).with_name("systems").glob("*.toml"))}


def find_system(name: str) -> Path:
    """Returns the path that `name` is, or the shipped file of that name. Raises UsageError when there is neither."""
    path, shipped = Path(name), shipped_systems()
    if path.suffix == ".toml" or is_file(path):
        return path
    if name in shipped:
        return shipped[name]
    raise UsageError(f"There is no system file '{name}'. {nearest(name, shipped)} Or give the path of a file.")


def find_measured(file: str | None, name: str | None) -> SystemFile | None:
    """Returns what is known of a machine by a system file or by its name alone; None without both. UsageError with both."""
    if file and name:
        raise UsageError("Give --machine or --system: both name the machine that was measured.")
    if name is not None and not name.strip():
        raise UsageError(
            "The name of the machine (given by --machine) is empty. Write for example --machine '2x EPYC 7742'."
        )
    return load_system(find_system(file)) if file else SystemFile(name=name) if name else None


def load_system(path: Path) -> SystemFile:
    """Reads and checks `path`. Raises UsageError with the file, the key, and what is expected there."""
    file = read_settings(path, "The system file")
    content = file.content
    for key in content:
        if key not in _KEYS:
            raise UsageError(f"The system file '{path}' has an unknown key '{key}'. {nearest(key, _KEYS)}")
    name = content.get("name")
    if name is not None and not (isinstance(name, str) and name.strip()):
        raise _refuse_value(path, "name", name)
    notes = content.get("notes", [])
    notes = [notes] if isinstance(notes, str) else notes
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise _refuse_value(path, "notes", notes)
    enclosures = cluster_file.read_enclosures(file)
    cluster = cluster_file.read_cluster(file, enclosures)
    return SystemFile(
        name=name,
        limits=_read_limits(path, content),
        notes=tuple(notes),
        enclosures=enclosures,
        equipment=_read_equipment(path, content),
        cluster=cluster,
    )


def _read_equipment(path: Path, content: dict[str, object]) -> Equipment:
    """Returns what a node needs and costs. Keys that have a meaning only together are given together."""
    whole = {key: _read_number(path, content, key, 1, _MOST_WHOLE) for key in ("cores_per_node", "nodes_per_enclosure")}
    if odd := next((key for key, value in whole.items() if value is not None and value % 1), None):
        raise _refuse_value(path, odd, content[odd])
    units = _read_number(path, content, "rack_units_per_enclosure", 0.01, _MOST_WHOLE)
    keys = ("price_per_node", "price_per_kwh", "price_per_hour")
    prices = {key: _read_number(path, content, key, 0, _MOST_PRICE) for key in keys}
    currency = content.get("currency", "")
    if not isinstance(currency, str) or ("currency" in content and not currency.strip()):
        raise _refuse_value(path, "currency", currency)
    priced = next((key for key, value in prices.items() if value is not None), None)
    if priced and not currency:
        raise UsageError(
            f"The system file '{path}' gives {priced} = {content[priced]} without a currency. "
            "Add the key 'currency', such as: currency = 'EUR'"
        )
    if (units is None) != (whole["nodes_per_enclosure"] is None):
        names = ("rack_units_per_enclosure", "nodes_per_enclosure")
        given, absent = names if units is not None else names[::-1]
        raise UsageError(f"The system file '{path}' gives '{given}' without '{absent}' ({_KEYS[absent]}).")
    cores, nodes = (None if value is None else int(value) for value in whole.values())
    return Equipment(
        cores_per_node=cores,
        nodes_per_enclosure=nodes,
        rack_units_per_enclosure=units,
        price_per_node=prices["price_per_node"],
        price_per_kwh=prices["price_per_kwh"],
        price_per_hour=prices["price_per_hour"],
        currency=currency.strip(),
    )


def _read_number(path: Path, content: dict[str, object], key: str, least: float, most: float) -> float | None:
    value = content.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise _refuse_value(path, key, value)
    return float(value)


def _read_limits(path: Path, content: dict[str, object]) -> dict[str, Limit]:
    source = f"given by {path.name}"
    limits = {}
    bandwidth = _read_positive(path, content, "memory_bandwidth")
    rate = _read_positive(path, content, "memory_rate")
    channels = content.get("memory_channels")
    if channels is not None and (
        isinstance(channels, bool) or not isinstance(channels, int) or not 1 <= channels <= _CHANNELS
    ):
        raise _refuse_value(path, "memory_channels", channels)
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
        value = _read_positive(path, content, key)
        if value is not None:
            limits[key] = Limit(value, unit, source)
    return limits


def _read_positive(path: Path, content: dict[str, object], key: str) -> float | None:
    return _read_number(path, content, key, _LEAST, _MOST)


def _refuse_value(path: Path, key: str, value: object) -> UsageError:
    return UsageError(f"The system file '{path}' has {key} = '{value}'. Write {_KEYS[key]}.")
