"""Checks outputs and files against their JSON Schemas, and more strictly than a reader must."""

import json
import re
from functools import cache
from typing import Any

import jsonschema

from steelyard.show.schemas import read_schema

# A record has only the observations that were made, and files of earlier versions lack later fields.
MAY_LACK = {"PowerLine"}
ADDED_TO = {"Numbered", "NumberedTable"}  # a part of the objects whose other fields a second definition has


@cache
def validator(name: str, is_own: bool) -> jsonschema.Draft202012Validator:
    """Returns the schema as it is; for an output of this version, all fields must be there, and no others."""
    schema = read_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    if is_own:
        optional = MAY_LACK | _list_observations()
        for key, definition in schema["$defs"].items():
            if key not in ADDED_TO:
                _forbid_others(definition)
            if key[0].isupper() and key not in optional and _is_of_dataclass(definition):
                definition["required"] = [field for field in definition["properties"] if field != "format"]
    return jsonschema.Draft202012Validator(schema)


def _list_observations() -> set[str]:
    """Returns the types of the observations around the samples of a record."""
    definitions = read_schema("records.jsonl")["$defs"]
    found, to_see = set(), ["Observed"]
    while to_see:
        name = to_see.pop()
        found.add(name)
        to_see += set(re.findall('"#/\\$defs/(\\w+)"', json.dumps(definitions[name]))) - found
    return found


def _is_of_dataclass(definition: dict[str, Any]) -> bool:
    return "properties" in definition and "if" not in definition and "format" not in definition["properties"]


def _forbid_others(schema: Any) -> None:
    """Allows only the named fields in each object, and the format, which is added to types that are printed alone."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
            schema["properties"].setdefault("format", True)
            schema["additionalProperties"] = False
        for value in schema.values():
            _forbid_others(value)
    elif isinstance(schema, list):
        for value in schema:
            _forbid_others(value)


def find_errors(name: str, value: Any, is_own: bool = False) -> list[str]:
    """Returns what differs from the schema, each with its place."""
    found = validator(name, is_own).iter_errors(value)
    return [f"{e.json_path}: {e.message[:300]}" for e in map(_deepest, found)]


def _deepest(error: jsonschema.ValidationError) -> jsonschema.ValidationError:
    best = jsonschema.exceptions.best_match([error])
    return best or error


def expect_valid(name: str, value: Any) -> None:
    """Fails if a value that this version printed or wrote does not follow its schema, or lacks or adds a field."""
    errors = find_errors(name, value, is_own=True)
    if errors:
        raise AssertionError(f"not as the schema '{name}' says: {errors}")


def read_output(name: str, text: str) -> Any:
    """Returns the JSON that a command printed, after a check against its schema."""
    value = json.loads(text)
    expect_valid(name, value)
    return value
