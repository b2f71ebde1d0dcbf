"""The cores, enclosure and price of a node of each side, from system files of the user, from the runs, or from shipped files."""

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from steelyard.compare.side import Side
from steelyard.errors import UsageError, nearest
from steelyard.measure.machine.system_file import SystemFile, find_system, load_system, shipped_systems
from steelyard.model import Equipment

OPTION = "--system"


def read_equipment(texts: Sequence[str], sides: Sequence[Side]) -> dict[str, Equipment]:
    """Returns the equipment of each side that has one, by the name of the side. `texts` are "SIDE=FILE" or "FILE".

    A file without a side belongs to the side whose system has the name that the file gives. What a file does not give stays as it
    was in the run or the shipped file. Raises UsageError if no side has the name.
    """
    shipped = [load_system(path) for path in shipped_systems().values()]
    equipment: dict[str, Equipment] = {}
    for side in sides:
        machine = side.runs[-1].machine
        of_name = (file.equipment for file in shipped if file.name in list_names(side))
        measured = machine.equipment if machine and machine.equipment != Equipment() else None
        if (stated := measured or next(of_name, None)) and stated != Equipment():
            equipment[side.name] = stated
    for text in texts:
        side, file = _assign(text, sides)
        equipment[side.name] = _replace(equipment.get(side.name, Equipment()), file.equipment)
    return equipment


def _replace(known: Equipment, given: Equipment) -> Equipment:
    """Returns the equipment with what the file gives; a currency stands with its prices."""
    stated = {f.name: getattr(given, f.name) for f in fields(given) if getattr(given, f.name) not in (None, "")}
    if "currency" in stated and stated["currency"] != known.currency:
        known = replace(known, price_per_node=None, price_per_kwh=None, price_per_hour=None)
    return replace(known, **stated)


def _assign(text: str, sides: Sequence[Side]) -> tuple[Side, SystemFile]:
    name, equals, path = text.partition("=")
    named = next((side for side in sides if equals and name in list_names(side)), None)
    if named:
        return named, load_system(find_system(path))
    if equals and not Path(text).exists():
        known = [side.name for side in sides]
        raise UsageError(f"{OPTION} '{text}' names no side: '{name}' is none. {nearest(name, known)}")
    file = load_system(find_system(text))
    side = next((side for side in sides if file.name and file.name in list_names(side)), None)
    if side is None:
        raise UsageError(
            f"The system file '{text}' (given by {OPTION}) has the name '{file.name or ''}', which no side has. "
            f"Say which side it describes: {OPTION} '{sides[0].name}={text}'"
        )
    return side, file


def list_names(side: Side) -> set[str]:
    """Returns the names by which a user may mean the side."""
    run = side.runs[-1]
    names = {side.name, run.run, run.path, Path(run.path).name} | ({run.machine.system} if run.machine else set())
    return names - {""}
