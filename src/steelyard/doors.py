"""The doors through which the parts of the product enter: packages and modules with fixed names, in the core and in each wing.

A wing is a folder of this package, or a package that a site installs and names by the entry point `steelyard.wings`. A wing
adds files under these names, and nothing else has to be edited:

- `benchmarks/<group>/`: benchmarks
- `commands/`: commands, one file or package each
- `findings/`: rules, one file each
- `formats/`: outputs of other tools that can be imported, one file each
- `pages/`: pages of the report, one file or package each
- `schemas/`: the JSON Schemas of its outputs
- `programs.py`: runs programs that Steelyard does not build (`PROGRAMS`)
- `traces.py`: reads and exports traces (`TRACES`)
"""

import importlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from steelyard import api
from steelyard.errors import SteelyardError, describe_shortage

WINGS = "steelyard.wings"
PROGRAMS, TRACES = "programs", "traces"
_CORE = {
    "benchmarks": "measure/benchmarks",
    "commands": "show/commands",
    "findings": "judge/findings",
    "pages": "show/report/pages",
    "schemas": "show/schemas",
}
_KINDS = {PROGRAMS: "program runner", TRACES: "trace reader"}
_ROOT = Path(__file__).parent
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Part:
    """A file behind a door. `kind` is one of `api.KINDS`; `module` is its dotted name, "" if the file is in no package."""

    kind: str
    file: Path
    module: str = ""

    @property
    def name(self) -> str:
        """The name of the file, or of its folder."""
        return self.file.parent.name if self.file.stem == "__init__" else self.file.stem


class PartFailed(SteelyardError):
    """The part behind a door has a fault, which costs this part only. The sentence names its file."""

    def __init__(self, part: Part, reason: str, where: str = "") -> None:
        self.part = part
        end = "" if reason.endswith((".", "?")) else "."
        super().__init__(f"The {part.kind} '{part.name}' failed: {reason}{end} The fault is in {where or part.file}.")


def call(part: Part, work: Callable[..., _Answer], *given: Any, passing: tuple[type[Exception], ...] = ()) -> _Answer:
    """Calls a function of a part and returns its answer. PartFailed for every error, but for those of the types `passing`.

    Signals and the end of the process pass, too.
    """
    try:
        return work(*given)
    except passing:
        raise
    except Exception as error:
        raise blame(part, error) from error


def blame(part: Part, error: Exception) -> PartFailed:
    """Returns the failure of a part by an error in it. A lack of memory or threads is no fault of the part: raises the error."""
    if isinstance(error, PartFailed) or describe_shortage(error):
        raise error
    begin = f"{part.file.parent}/" if part.file.stem == "__init__" else f"{part.file.with_suffix('')}."
    if part.module.count(".") > 1 and not part.module.startswith(
        "steelyard."
    ):  # a helper module of the wing may have the fault
        begin = f"{part.file.parents[part.module.count('.') - (part.file.stem != '__init__')]}/"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(begin)]
    where = f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else ""  # also in the template of a page
    reason = str(error)
    if isinstance(error, SyntaxError) and error.filename:  # of this file, or of one that it imports
        where, reason = f"{error.filename}, line {error.lineno}", error.msg
    kind = "" if isinstance(error, SteelyardError) else f"{type(error).__name__}: "
    return PartFailed(part, kind + " ".join(reason.split()), where)


def load(part: Part) -> ModuleType:
    """Imports a part and checks its members (see `api`). PartFailed for an error, or for a member that does not fit."""
    with redirect_stdout(sys.stderr):  # what a part prints when it is imported is no output of the command
        module = call(part, importlib.import_module, part.module) if part.module else call(part, _import_file, part)
    if mistake := api.find_mistake(part.kind, module):
        raise PartFailed(part, mistake)
    return module


def _import_file(part: Part) -> ModuleType:
    name = f"steelyard_{part.kind}_{part.file.parent.name}_{part.name}"
    spec = cast("ModuleSpec", importlib.util.spec_from_file_location(name, part.file))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module
    cast("Any", spec.loader).exec_module(module)
    return module


@cache
def warn(sentence: str) -> None:
    """Prints once that a part failed, where nothing else shows it."""
    print(f"steelyard: {sentence}", file=sys.stderr)


@cache
def inside(door: str) -> dict[str, Path]:
    """Returns the folder of each package of Steelyard behind a door, by dotted name, the core's first. Imports nothing."""
    core = [_ROOT / _CORE[door]] if door in _CORE else []
    wings = sorted({path.parent for path in _ROOT.glob(f"*/{door}/__init__.py")} - set(core))
    return {".".join(("steelyard", *folder.relative_to(_ROOT).parts)): folder for folder in [*core, *wings]}


@cache
def installed(door: str) -> dict[str, Path]:
    """Returns the folder of each package behind a door of the wings that a site has installed, by dotted name."""
    folders = ((name, spec.submodule_search_locations) for name, spec in _installed(door).items())
    return {name: Path(next(iter(places))) for name, places in folders if places}


def packages(door: str) -> dict[str, Path]:
    """Returns all packages behind a door: those of `inside`, then those that are `installed`."""
    return inside(door) | installed(door)


def parts(kind: str, folders: Mapping[str, Path]) -> list[Part]:
    """Returns the files and folders of packages, sorted by name, without those whose name begins with _. Imports nothing.

    A name belongs to the first package that has it, so a wing cannot replace a part of the core: a warning names its file.
    """
    named: dict[str, Part] = {}
    found = [
        Part(
            kind,
            folder / (f"{module.name}/__init__.py" if module.ispkg else f"{module.name}.py"),
            f"{package}.{module.name}",
        )
        for package, folder in folders.items()
        for module in _list_modules(folder)
        if not module.name.startswith("_")
    ]
    for part in found:
        first = named.setdefault(part.name, part)
        if first is not part:
            warn(f"The {kind} '{part.name}' in {part.file} is left out: {first.file} has this name. Rename the file.")
    return [named[name] for name in sorted(named)]


@cache
def _list_modules(folder: Path) -> tuple[pkgutil.ModuleInfo, ...]:
    return tuple(pkgutil.iter_modules([str(folder)]))


class Guarded:
    """A module of a wing. A function of it that fails raises PartFailed; its sentences for the user (SteelyardError) pass."""

    def __init__(self, part: Part) -> None:
        self._part, self._module = part, load(part)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._module, name)
        return partial(call, self._part, member, passing=(SteelyardError, OSError)) if callable(member) else member


@cache
def modules(door: str) -> tuple[Guarded, ...]:
    """Imports and returns the modules of that name in all wings. Installed wings come first, since ours accept most files.

    A module that cannot be imported is left out, and a warning says so.
    """
    specs = {name: Path(spec.origin or "") for name, spec in _installed(door).items()}
    ours = {f"steelyard.{path.parent.name}.{door}": path for path in sorted(_ROOT.glob(f"*/{door}.py"))}
    found = (attempt(Guarded, Part(_KINDS[door], file, name)) for name, file in (specs | ours).items())
    return tuple(module for module in found if module)


def attempt(work: Callable[..., _Answer], *given: Any) -> _Answer | None:
    """Calls a function that raises PartFailed. Warns of this and returns None."""
    try:
        return work(*given)
    except PartFailed as failure:
        warn(str(failure))
        return None


def _installed(door: str) -> dict[str, ModuleSpec]:
    """Returns the packages behind the door of the wings that a site has installed, with a warning of those that fail."""
    found = {name: attempt(_find_package, wing, name) for wing in _installed_wings() for name in [f"{wing}.{door}"]}
    return {name: spec for name, spec in found.items() if spec}


def _find_package(wing: str, name: str) -> ModuleSpec | None:
    spec = importlib.util.find_spec(wing.partition(".")[0])
    file = Path(spec.origin or wing) if spec else Path(wing)
    return call(Part("wing", file), importlib.util.find_spec, name)


@cache
def _installed_wings() -> tuple[str, ...]:
    from importlib.metadata import entry_points  # forty modules

    return tuple(sorted(point.value for point in entry_points(group=WINGS)))


def forget() -> None:
    """Clears the caches, so that wings are searched for again; tests need it because they install some."""
    for function in (inside, installed, modules, warn, _installed_wings, _list_modules):
        function.cache_clear()


def program_runner(path: Path) -> Any:
    """Returns the module that runs the program that the file `path` describes; None if there is none."""
    return next((module for module in modules(PROGRAMS) if attempt(module.is_described, path)), None)


def trace_reader(path: Path) -> Any:
    """Returns the module that reads the trace `path`; None if there is none."""
    return next((module for module in modules(TRACES) if attempt(module.is_trace, path)), None)
