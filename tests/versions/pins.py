"""The packages that pyproject.toml names, with their bounds, and the versions in constraints.txt."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


def read_direct(text: str) -> Iterator[Requirement]:
    """Yields every requirement in the text of a pyproject.toml: to build, to run, and those of the extras."""
    stated = tomllib.loads(text)
    project = stated["project"]
    for group in (
        stated["build-system"]["requires"],
        project["dependencies"],
        *project["optional-dependencies"].values(),
    ):
        yield from map(Requirement, group)


def read_pins(text: str) -> dict[str, str]:
    """Returns the version of each package in the text of a constraints.txt. ValueError for a line without an exact version."""
    pins = {}
    for line in filter(None, (line.partition("#")[0].strip() for line in text.splitlines())):
        pin = Requirement(line)
        exact = [part.version for part in pin.specifier if part.operator == "==" and "*" not in part.version]
        if len(pin.specifier) != 1 or len(exact) != 1:
            raise ValueError(f"constraints.txt: '{line}' has no exact version. Renew the file: make constraints")
        if canonicalize_name(pin.name) in pins:
            raise ValueError(f"constraints.txt has two versions of '{pin.name}'. Renew the file: make constraints")
        pins[canonicalize_name(pin.name)] = exact[0]
    return pins


def list_faults(project: str, constraints: str) -> list[str]:
    """Returns a sentence for each direct requirement without a tested version within its bounds."""
    pins, faults = read_pins(constraints), []
    for wanted in read_direct(project):
        version = pins.get(canonicalize_name(wanted.name))
        if version is None:
            faults.append(f"constraints.txt has no version of '{wanted.name}'.")
        elif version not in wanted.specifier:
            faults.append(
                f"'{wanted.name}=={version}' in constraints.txt is not within '{wanted.specifier}' of pyproject.toml."
            )
    return faults


def list_lowest(project: str) -> dict[str, str]:
    """Returns the lowest version that pyproject.toml allows of each direct requirement with a lower bound."""
    bounds = ((canonicalize_name(wanted.name), part) for wanted in read_direct(project) for part in wanted.specifier)
    return {name: part.version for name, part in bounds if part.operator == ">="}
