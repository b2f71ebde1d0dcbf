"""Reads a BMC by ipmitool: the power reading of DCMI, the sensors of its repository, and a raw command of the site."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.measure.telemetry.sensors import Device, Found, Kind
from steelyard.measure.telemetry.sensors._programs import Parser, Program
from steelyard.measure.telemetry.sensors._supplies import find_feeding
from steelyard.measure.telemetry.sensors._words import (
    expect,
    number,
    number_duplicates,
    parse_unit,
    scope_of,
    slug,
    unit_of,
)
from steelyard.model.numbers import whole
from steelyard.model.sensor import Sensor, is_power_of_node
from steelyard.system.starts import find_program

_LOCAL = ("dev/ipmi0", "dev/ipmi/0", "dev/ipmidev/0")
_POWER = ("dcmi", "power", "reading")
# CSV, full records only: compact ones have no numbers.
_SENSORS = ("-c", "sdr", "list", "full")
_DCMI = re.compile(r"Instantaneous power reading:\s*([0-9]{1,6}) Watts")
_STATE = re.compile(r"Power reading state is:\s*activated")
_SETTINGS = (
    "host",
    "port",
    "user",
    "password-file",
    "interface",
    "cipher",
    "ask",
    "raw",
    "first",
    "bytes",
    "unit",
    "scope",
)
_MOST_BYTES = 8
_BYTES = re.compile(r"(?:\s*[0-9a-fA-F]{2})(?:\s+[0-9a-fA-F]{2})*\s*")


def parse_dcmi(text: str, prefix: str) -> dict[Sensor, float]:
    """Returns the momentary power (DCMI 1.5, Get Power Reading: whole watts); nothing if the reading is not active.

    Its time stamp has whole seconds of the BMC's clock, so that the time of the request is more exact. Some boards offer the
    command and always answer 0 W or 65535 W (16 bits of ones). No running node draws this, so that it is not a reading.
    """
    match = _DCMI.search(text)
    if match is None or not _STATE.search(text) or not is_power_of_node(float(match[1])):
        return {}
    name, place = f"{prefix}/dcmi-power", " ".join(_POWER)
    return {Sensor(name, "power", "IPMI (DCMI)", place, resolution=1.0, scope="node"): float(match[1])}


def _explain_dcmi(text: str) -> str:
    match = _DCMI.search(text)
    return f"reports {match[1]} W, which no running machine draws" if match and _STATE.search(text) else ""


def parse_sensors(text: str, prefix: str) -> dict[Sensor, float]:
    """Returns the sensors of power, temperature and fans that have a value, from lines `name,value,unit,status`."""
    rows = []
    for line in text.splitlines():
        words = line.rsplit(",", 3)  # a name may hold commas
        if len(words) == 4 and (unit := parse_unit(words[2])) and (value := number(words[1])) is not None:
            rows.append((words[0], unit, value))
    names = number_duplicates([f"{prefix}/{slug(name)}" for name, _, _ in rows])
    powers = {place: value for place, (_, (quantity, _), value) in enumerate(rows) if quantity == "power"}
    top = [names[place] for place in _list_feeding({place: rows[place][0] for place in powers}, powers)]
    return {
        Sensor(
            name,
            quantity,
            "IPMI (sensor)",
            label,
            part_of=top[0] if quantity == "power" and top and name not in top else "",
            scope="node" if name in top else "",
        ): value * factor
        for name, (label, (quantity, factor), value) in zip(names, rows, strict=True)
    }


def _list_feeding(labels: Mapping[int, str], watts: Mapping[int, float]) -> list[int]:
    """Returns the sensors that measure the whole board. One with a power that no board draws does not count."""
    places = list(labels)
    top = [places[place] for place in find_feeding([*labels.values()])]
    if not top or any(is_power_of_node(watts[place]) for place in top):
        return top
    rest = {place: label for place, label in labels.items() if place not in top}
    return _list_feeding(rest, watts)


def parse_raw(text: str, sensor: Sensor, first: int, count: int, factor: float) -> dict[Sensor, float]:
    """Returns the number in `count` bytes from byte `first` of an answer, in little-endian order as in IPMI."""
    words = [word for line in text.splitlines() if _BYTES.fullmatch(line) for word in line.split()]
    if len(words) < first + count:
        return {}
    return {sensor: int.from_bytes(bytes(int(word, 16) for word in words[first : first + count]), "little") * factor}


def find(root: Path) -> Found:
    """Returns the BMC of this machine if the kernel has a driver for it: its power, and separately its other sensors."""
    device = next((root / name for name in _LOCAL if (root / name).exists()), None)
    if device is None:
        return Found()
    if not find_program("ipmitool"):
        return Found(
            (), (f"This machine has a BMC ({device}), but the program ipmitool is missing. Install ipmitool.",)
        )
    if not os.access(device, os.R_OK | os.W_OK):
        reason = f"only root may use {device}, because its users can also switch the machine off"
        allow = f"Run as root, or allow a trusted group: 'chgrp GROUP {device}; chmod g+rw {device}'."
        return Found((), (f"This machine has a BMC, but {reason}. {allow}",))
    devices: list[Device] = []
    refused: list[str] = []
    for words, parser in _list_questions("ipmi").values():
        try:
            devices.append(Program(["ipmitool", *words], parser, _explain_dcmi))
        except OSError as problem:
            refused.append(f"The BMC ({device}) gives no reading: {problem}.")
    return Found(tuple(devices), tuple(refused))


def _list_questions(prefix: str) -> dict[str, tuple[Sequence[str], Parser]]:
    return {
        "power": (_POWER, lambda text: parse_dcmi(text, prefix)),
        "sensors": (_SENSORS, lambda text: parse_sensors(text, prefix)),
    }


def make(settings: Mapping[str, str]) -> Device:
    """Opens the device of --sensor ipmi:host=…."""
    expect("ipmi", settings, _SETTINGS)
    command = ["ipmitool", *_name_session(settings)]
    prefix = f"ipmi/{slug(settings['host'])}" if "host" in settings else "ipmi"
    if "raw" in settings:
        return Program([*command, "raw", *_split_raw_words(settings["raw"])], _make_raw_parser(settings, prefix))
    questions = _list_questions(prefix)
    asked = settings.get("ask", "power")
    if asked not in questions:
        raise UsageError(f"'{asked}' (given by --sensor ipmi:ask=) is not valid: expected {' or '.join(questions)}.")
    words, parser = questions[asked]
    return Program([*command, *words], parser, _explain_dcmi)


def _name_session(settings: Mapping[str, str]) -> list[str]:
    """Returns the arguments of ipmitool for a BMC over the network; none for the local one. They contain no password."""
    host = settings.get("host")
    if not host:
        return []
    words = ["-I", settings.get("interface", "lanplus"), "-H", host]
    options = {"port": "-p", "user": "-U", "password-file": "-f", "cipher": "-C"}
    for name, option in options.items():
        if name in settings:
            words += [option, settings[name]]
    if "password-file" in settings and not Path(settings["password-file"]).is_file():
        raise UsageError(
            f"The file '{settings['password-file']}' (given by --sensor ipmi:password-file=) does not exist. "
            "Name an existing file."
        )
    return words


def _split_raw_words(text: str) -> list[str]:
    words = text.split()
    if len(words) < 2 or not all(re.fullmatch(r"0x[0-9a-fA-F]{1,2}", word) for word in words):
        raise UsageError(
            f"'{text}' (given by --sensor ipmi:raw=) is not valid: expected bytes such as '0x30 0x1b 0x00'."
        )
    return words


def _make_raw_parser(settings: Mapping[str, str], prefix: str) -> Parser:
    first = whole(settings.get("first", "0"), "(given by --sensor ipmi:first=)", 0, 255)
    count = whole(settings.get("bytes", "2"), "(given by --sensor ipmi:bytes=)", 1, _MOST_BYTES)
    quantity, factor = unit_of(settings.get("unit", "W"), "(given by --sensor ipmi:unit=)")
    place, scope = f"raw {settings['raw']}", scope_of("ipmi", settings)
    sensor = Sensor(f"{prefix}/raw-{quantity}", quantity, "IPMI (raw)", place, resolution=factor, scope=scope)
    return lambda text: parse_raw(text, sensor, first, count, factor)


kind = Kind(
    "ipmi",
    "A BMC: power reading of DCMI, sensors, or a raw command of the site (ipmitool)",
    find,
    make,
    "host=ADDRESS,port=623,user=NAME,password-file=FILE,interface=lanplus,cipher=17,ask=power or sensors; "
    "raw=0x30 0x1b,first=0,bytes=2,unit=W,scope=node instead of ask (bytes of the answer, lowest first)",
)
