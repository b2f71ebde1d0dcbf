"""A program of the user that prints a number, or lines `name value unit`: for sensors that a site can already read."""

import shlex
from collections.abc import Iterable, Mapping

from steelyard.errors import UsageError
from steelyard.measure.telemetry.sensors import Device, Kind
from steelyard.measure.telemetry.sensors._programs import Program
from steelyard.measure.telemetry.sensors._words import (
    expect,
    number,
    number_duplicates,
    parse_unit,
    positive,
    scope_of,
    slug,
    unit_of,
)
from steelyard.model.sensor import Quantity, Scope, Sensor

_SOURCE = "command"


def parse(text: str, place: str, name: str, unit: str, window: float, scope: Scope = "") -> dict[Sensor, float]:
    """Reads an answer: lines with their own unit and name, or one number with the given ones."""
    lines = text.splitlines()
    kept = _parse_measured(map(_split_line, lines))
    alone = [line for line in lines if number(line) is not None]
    if not kept and len(alone) == 1:
        kept = _parse_measured([(name, alone[0], unit)])
    names = number_duplicates([f"command/{slug(label)}" for label, _, _ in kept])
    return {
        Sensor(called, quantity, _SOURCE, place, window=window if quantity == "power" else 0.0, scope=scope): value
        * factor
        for called, (_, value, (quantity, factor)) in zip(names, kept, strict=True)
    }


def _parse_measured(lines: Iterable[tuple[str, str, str]]) -> list[tuple[str, float, tuple[Quantity, float]]]:
    """Returns label, value and unit of each line that has a value with a unit."""
    return [
        (label, value, quantity)
        for label, printed, unit in lines
        if (value := number(printed)) is not None and (quantity := parse_unit(unit)) is not None
    ]


def _split_line(line: str) -> tuple[str, str, str]:
    """Returns name, value and unit of a line such as 'CPU package 12.5 W'; the name may have several words."""
    words = line.rsplit(maxsplit=2)
    return (words[0], words[1], words[2]) if len(words) == 3 else ("", "", "")


def make(settings: Mapping[str, str]) -> Device:
    """Opens the device of --sensor command:run=…."""
    expect("command", settings, ("run", "unit", "name", "window", "scope"), ("run",))
    try:
        command = shlex.split(settings["run"])
    except ValueError as problem:
        raise UsageError(f"'{settings['run']}' (given by --sensor command:run=) is not a command: {problem}.") from None
    if not command:
        raise UsageError("The sensor 'command' needs a program. Write --sensor command:run=PROGRAM.")
    unit = settings.get("unit", "W")
    unit_of(unit, "(given by --sensor command:unit=)")
    name = settings.get("name") or command[0].rpartition("/")[2]
    window = positive("command", settings, "window", 0.0)
    scope = scope_of("command", settings)
    return Program(command, lambda text: parse(text, settings["run"], name, unit, window, scope))


kind = Kind(
    "command",
    "A program that prints a number, or lines of name, value and unit",
    open=make,
    words="run=PROGRAM WORDS,unit=W (for a number without a unit),name=NAME,window=SECONDS,"
    "scope=node (what it measures); put a command with a comma into a script",
)
