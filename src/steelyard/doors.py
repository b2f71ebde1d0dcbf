"""The doors through which the parts of the product enter: packages and modules with fixed names, in the core and in each wing.

A wing is a folder of this package, or a package that a site installs and names by the entry point `steelyard.wings`. A wing
adds files under these names, and nothing else has to be edited:

- `benchmarks/<group>/`: benchmarks
- `commands/`: commands, one file or package each
- `findings/`: rules, one file each
- `formats/`: outputs of other tools that can be imported, one file each
- `pages/`: pages of the report, one file or package each
- `programs.py`: runs programs that Steelyard does not build (`PROGRAMS`)
- `traces.py`: reads and exports traces (`TRACES`)
"""

import importlib
import importlib.util
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from steelyard.errors import UsageError

WINGS = "steelyard.wings"
PROGRAMS, TRACES = "programs", "traces"
_ROOT = Path(__file__).parent


@cache
def inside(door: str) -> dict[str, Path]:
    """Returns the folder of each package of Steelyard behind a door, by dotted name, the core's first. Imports nothing."""
    core = [_ROOT / door] if (_ROOT / door).is_dir() else []
    wings = sorted(path.parent for path in _ROOT.glob(f"*/{door}/__init__.py"))
    return {".".join(("steelyard", *folder.relative_to(_ROOT).parts)): folder for folder in [*core, *wings]}


@cache
def installed(door: str) -> dict[str, Path]:
    """Returns the folder of each package behind a door of the wings that a site has installed, by dotted name."""
    return {name: Path(spec.origin or "").parent for name, spec in _installed(door).items()}


def packages(door: str) -> dict[str, Path]:
    """Returns all packages behind a door: those of `inside`, then those that are `installed`."""
    return inside(door) | installed(door)


@cache
def modules(door: str) -> tuple[ModuleType, ...]:
    """Imports and returns the modules of that name in all wings. Installed wings come first, since ours accept most files."""
    our_names = sorted(f"steelyard.{path.parent.name}.{door}" for path in _ROOT.glob(f"*/{door}.py"))
    return tuple(importlib.import_module(name) for name in [*_installed(door), *our_names])


def _installed(door: str) -> dict[str, ModuleSpec]:
    """Returns the packages behind the door of the wings that a site has installed. UsageError if one cannot be imported."""
    names = [f"{wing}.{door}" for wing in _installed_wings()]
    try:
        return {name: spec for name in names if (spec := importlib.util.find_spec(name))}
    except ImportError as error:
        raise UsageError(
            f"A package that the entry point {WINGS} names cannot be imported ({error}). Repair or uninstall it."
        ) from error


@cache
def _installed_wings() -> tuple[str, ...]:
    from importlib.metadata import entry_points  # forty modules

    return tuple(sorted(point.value for point in entry_points(group=WINGS)))


def forget() -> None:
    """Clears the caches, so that wings are searched for again; tests need it because they install some."""
    for function in (inside, installed, modules, _installed_wings):
        function.cache_clear()


def program_runner(path: Path) -> Any:
    """Returns the module that runs the program that the file `path` describes; None if there is none."""
    return next((module for module in modules(PROGRAMS) if module.is_described(path)), None)


def trace_reader(path: Path) -> Any:
    """Returns the module that reads the trace `path`; None if there is none."""
    return next((module for module in modules(TRACES) if module.is_trace(path)), None)
