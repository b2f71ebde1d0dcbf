"""Reads the power of this node from Slurm (acct_gather_energy, external sensors), by scontrol."""

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

from steelyard.measure.telemetry.sensors import Device, Found, Kind
from steelyard.measure.telemetry.sensors._files import keep, label, listed
from steelyard.measure.telemetry.sensors._programs import Program, answer
from steelyard.measure.telemetry.sensors._words import expect, number, slug
from steelyard.model.sensor import Scope, Sensor
from steelyard.system.starts import find_program

_CONFIGURATION = ("scontrol", "show", "config")
_STEP = 1.0  # whole watts and joules are printed
# The scopes of the plugins, from Slurm's manual (slurm.conf, AcctGatherEnergyType).
_SCOPES: dict[str, Scope] = {
    "rapl": "processors",
    "gpu": "accelerators",
    "external sensors": "node",
    "ipmi": "node",
    "xcc": "node",
    "pm_counters": "node",
}
_PRINTED = (
    ("CurrentWatts", "power", "power"),
    ("ConsumedJoules", "energy", "energy"),  # in earlier versions; it begins at 0 at each start of slurmd
)


def find(root: Path) -> Found:
    """Returns the power of this node if slurmd runs and measures it; a sentence if it is configured but fails."""
    if not any(label(process / "comm") == "slurmd" for process in listed(root / "proc", "[0-9]*")):
        return Found()
    if not find_program("scontrol"):
        return Found(
            (), ("Slurm runs here, but scontrol is not in PATH. Add scontrol to PATH to read the node's power.",)
        )
    try:
        gathered = _gathered(answer(_CONFIGURATION))
        return Found((_make_device(_name_this_node(), gathered),)) if any(gathered.values()) else Found()
    except OSError as problem:
        return Found((), (f"Slurm reports no power of this node: {problem}.",))


def parse(text: str, node: str, gathered: Mapping[str, float]) -> dict[Sensor, float]:
    """Returns the sensors in the output of `scontrol -o show node`, without values of 'n/s' or 0.

    `gathered` comes from `_gathered`. A value is as old as the last sample, and a power counts as the mean since then.
    """
    said = dict(re.findall(r"\b(\w++)=(\S+)", text))
    readings: dict[Sensor, float] = {}
    for plugin, every in gathered.items():
        external = plugin == "external sensors"
        names = [(f"ExtSensors{e}", q, f"external-{q}") for e, q in (("Watts", "power"), ("Joules", "energy"))]
        for key, quantity, name in names if external else _PRINTED:
            if value := number(said.get(key, "")):
                readings[_make_sensor(f"slurm/{slug(node)}/{name}", quantity, plugin, key, every)] = value
    return dict(zip(keep([*readings]), readings.values(), strict=True))


def _make_sensor(name: str, quantity: str, plugin: str, key: str, every: float) -> Sensor:
    source, place, scope = f"Slurm ({plugin})", f"scontrol show node: {key}", _SCOPES.get(plugin, "")
    if quantity == "power":  # an energy from Slurm measures the same
        counter = f"{name.removesuffix('power')}energy"
        return Sensor(name, "power", source, place, _STEP, every, window=every, part_of=counter, scope=scope)
    return Sensor(name, "energy", source, place, _STEP, every, scope=scope)


def _gathered(text: str) -> dict[str, float]:
    """Returns the sampled quantity of `scontrol show config` and its period in seconds (0: never)."""
    said = {name: value.strip() for name, value in re.findall(r"^(\w+)[ \t]*=(.*)$", text, re.MULTILINE)}
    kinds = {"AcctGather": said.get("AcctGatherEnergyType", ""), "ExtSensors": said.get("ExtSensorsType", "")}
    plugins = {name: kind.rpartition("/")[2] for name, kind in kinds.items()}
    seconds = {
        "AcctGather": number(said.get("AcctGatherNodeFreq", "").removesuffix(" sec")) or 0.0,
        "ExtSensors": number(said.get("ExtSensorsFreq", "").removesuffix(" sec")) or 0.0,
    }
    return {
        "external sensors" if name == "ExtSensors" else plugin: seconds[name]
        for name, plugin in plugins.items()
        if plugin not in ("", "none", "(null)")
    }


def _make_device(node: str, gathered: Mapping[str, float]) -> Program:
    """Returns the device of a node. OSError with the reason if Slurm gives no value."""
    if not gathered:
        raise OSError("it is not configured to measure it (AcctGatherEnergyType and ExtSensorsType are none)")
    plugins = " and ".join(gathered)
    if not any(gathered.values()):
        raise OSError(f"{plugins} is never read: AcctGatherNodeFreq or ExtSensorsFreq is 0")
    command = ("scontrol", "-o", "show", "node", node)
    if not parse(answer(command), node, gathered):
        raise OSError(f"{plugins} gives 'n/s' or 0 for {node}; the log of slurmd there names the cause")
    return Program(command, lambda text: parse(text, node, gathered))


def _name_this_node() -> str:
    """Returns Slurm's name of this node: from the variable within a job, else the name of the host."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]


def make(settings: Mapping[str, str]) -> Device:
    """Opens the device of --sensor slurm:node=…."""
    expect("slurm", settings, ("node",))
    return _make_device(settings.get("node") or _name_this_node(), _gathered(answer(_CONFIGURATION)))


kind = Kind(
    "slurm",
    "The node's power from Slurm (acct_gather_energy, external sensors)",
    find,
    make,
    "node=NAME (default: this node)",
)
