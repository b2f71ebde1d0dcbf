"""The JSON Schemas of the types in files and outputs, made from their dataclasses."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from steelyard.compare.commands import Measure
from steelyard.compare.compared_sides import SidesComparison
from steelyard.compare.equal_time import EqualTimes
from steelyard.compare.published_figures import Beside
from steelyard.compare.runs import RunComparison
from steelyard.judge.findings.doctor.advice import Advice
from steelyard.measure.launch.commands_in_turn import Timing
from steelyard.measure.published.system import System
from steelyard.measure.records import power
from steelyard.measure.run.selfcheck import Outcome
from steelyard.model import Attempt, ForeignValue, Machine, Plan, Record
from steelyard.model.machine import Site, Toolchain
from steelyard.model.run import InTurn, Shown
from steelyard.model.sensor import Sensor
from steelyard.results.table import Head, Row
from steelyard.show.command_line.evaluated_run import StoredSummary
from steelyard.statistics.models.scaling import Fit, Point, Stop
from steelyard.whatif import question
from steelyard.whatif.engine import Traced

WIDTH = 130
# Earlier versions wrote these without the fields that have a default now.
READ_AGAIN = (Machine, Plan, Record, ForeignValue, Toolchain, Site, Shown, InTurn, Sensor, power.Line)
WRITTEN = (
    Head, Row, Attempt, StoredSummary, RunComparison, Beside, SidesComparison, EqualTimes, Measure, Timing, System, Outcome,
    Advice, Point, Fit, Stop,
)  # fmt: skip
FILES: Mapping[str, tuple[tuple[type, ...], tuple[type, ...]]] = {
    "../src/steelyard/show/schemas/types.json": (READ_AGAIN, WRITTEN),
    "../src/steelyard/whatif/schemas/types.json": ((), (question.Point, Traced)),
}
NOT_PRINTED = {"RunComparison": ("counts",)}
UNIT = {"type": "string", "pattern": "^\\S*( \\S+)?$"}  # "B/s", "J s"
Schema = dict[str, Any]


def files() -> dict[str, str]:
    """Returns the text of each generated file."""
    return {name: _describe(*types) for name, types in FILES.items()}


def _describe(read_again: tuple[type, ...], written: tuple[type, ...]) -> str:
    """Returns the definitions of the types and of all types in them, each in a few lines."""
    roots, components = msgspec.json.schema_components((*read_again, *written), ref_template="{name}")
    older = _collect((root["$ref"] for root in roots[: len(read_again)]), components)
    defined = {_shorten(name): _define(_shorten(name), found, name in older) for name, found in components.items()}
    entries = ("\n".join(_fill(name, schema)) for name, schema in sorted(defined.items()))
    return '{"$defs": {\n' + ",\n".join(entries) + "\n}}\n"


def _collect(names: Iterable[str], components: Mapping[str, Schema]) -> set[str]:
    """Returns the names and those of all types in them."""
    collected: set[str] = set()
    to_see = [*names]
    while to_see:
        name = to_see.pop()
        if name not in collected:
            collected.add(name)
            to_see += re.findall(r'"\$ref": "([^"]+)"', json.dumps(components[name]))
    return collected


def _shorten(name: str) -> str:
    """Returns the name of a class. If several modules have a class of that name, the module's name precedes it."""
    *_, module, last = f".{name}".split(".")
    return "".join(word.capitalize() for word in module.split("_")) + last


def _define(name: str, found: Schema, is_older: bool) -> Schema:
    left_out = NOT_PRINTED.get(name, ())
    properties = {key: _simplify(value) for key, value in found["properties"].items() if key not in left_out}
    if properties.get("unit") == {"type": "string"}:
        properties["unit"] = UNIT
    required = found.get("required", []) if is_older else list(properties)
    return {"type": "object", "required": required, "properties": properties}


def _simplify(value: Any) -> Any:
    """Returns the schema without defaults and bounds of numbers, and with a choice of simple types as one list."""
    if isinstance(value, list):
        return [_simplify(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return {"$ref": f"#/$defs/{_shorten(value['$ref'])}"}
    kept = {
        key: _simplify(value[key]) for key in value if key not in ("default", "minimum", "maximum", "exclusiveMaximum")
    }
    choices = kept.get("anyOf", [])
    if not choices or any(set(choice) != {"type"} for choice in choices):
        return kept
    names = [choice["type"] for choice in choices]
    return {"type": [name for name in names if name != "integer" or "number" not in names]}


def _fill(name: str, schema: Schema) -> Iterator[str]:
    """Yields the definition in lines of at most WIDTH letters, if no single member is longer."""
    yield from _wrap(f' "{name}": {{"type": "object", "required": [', map(json.dumps, schema["required"]), "],")
    members = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in schema["properties"].items())
    yield from _wrap('  "properties": {', members, "}}")


def _wrap(begin: str, items: Iterable[str], end: str) -> Iterator[str]:
    *others, last = [*items] or [""]
    line = begin
    for item in (*(f"{other}," for other in others), last + end):
        if len(line) + len(item) >= WIDTH:
            yield line
            line = "   "
        line += item if line in (begin, "   ") else f" {item}"
    yield line
