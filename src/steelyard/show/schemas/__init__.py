"""The JSON Schemas of the files of a run and of the output of each command: the definitions of all *.json in this folder.

`types.json` is made from the dataclasses (`make docs`); `outputs.json` is written by hand. A wing has a folder `schemas`, too.
"""

import json
import re
from pathlib import Path
from typing import Any

from steelyard import doors
from steelyard.doors import Part
from steelyard.errors import UsageError, nearest

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = re.compile('"#/\\$defs/([^"]+)"')

Definitions = dict[str, Any]


def list_names() -> list[str]:
    """Returns the names of all outputs and files, such as "show", "power query" and "run.json", in order."""
    return sorted(name for folder in doors.packages("schemas").values() for name in _outputs(folder))


def read_schema(name: str) -> Definitions:
    """Returns the schema of an output or a file, with all definitions that it needs. UsageError if there is none."""
    core, *wings = doors.packages("schemas").values()
    for folder in (core, *wings):
        if name in _outputs(folder):
            needed: Definitions = {}
            _collect(name, _read(core) | _read(folder), needed)
            return {"$schema": DIALECT, "$ref": f"#/$defs/{name}", "$defs": needed}
    raise UsageError(f"There is no schema '{name}'. {nearest(name, list_names())}")


def _outputs(folder: Path) -> Definitions:
    return {name: schema for name, schema in _read(folder).items() if name[0].islower()}


def _read(folder: Path) -> Definitions:
    """Returns the definitions of a folder: types begin with a capital letter, outputs and files do not."""
    found: Definitions = {}
    for file in sorted(folder.glob("*.json")):
        found |= doors.attempt(doors.call, Part("schema", file), _read_definitions, file) or {}
    return found


def _read_definitions(file: Path) -> Definitions:
    return dict(json.loads(file.read_text(encoding="utf-8"))["$defs"])


def _collect(name: str, definitions: Definitions, needed: Definitions) -> None:
    """Adds the definition of that name and all to which it refers."""
    if name not in needed:
        needed[name] = definitions[name]
        for other in _REFERENCE.findall(json.dumps(needed[name])):
            _collect(other, definitions, needed)
