"""Types for the parts of a wing: one Protocol for each door, and the check that a loaded module fits it.

A module is its own declaration, so mypy checks it with one line: `page: api.Page = our_wing.pages.weather`.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast, get_origin, get_type_hints

if TYPE_CHECKING:
    from steelyard.model import Axes, Benchmark, Effort, Evaluation, Factors, Finding, Launch, Machine, Site


class Declaration(Protocol):
    """A benchmark: `benchmarks/<group>/<name>.py`."""

    @property
    def metrics(self) -> Sequence[Any]: ...
    def axes(self, machine: "Machine", effort: "Effort") -> "Sequence[Axes]": ...
    def figures(self, results: Any, machine: "Machine") -> Sequence[Any]: ...


class Command(Protocol):
    """A command: `commands/<name>.py`. Its docstring is its help."""

    def command(self) -> None: ...


class CommandGroup(Protocol):
    """A group of commands: a folder `commands/<name>/` whose `app` is a Typer application."""

    app: Any


class Rule(Protocol):
    """A finding: `findings/<name>.py`."""

    def find(self, evaluation: "Evaluation") -> "Iterable[Finding]": ...


class Page(Protocol):
    """A page of the report: `pages/<name>.py`, shown by `<name>.html` beside it. Without data there is no page."""

    PLACE: int
    TITLE: str

    def data(self, evaluation: "Evaluation") -> Any: ...


class SidesPage(Protocol):
    """A page that compares at least `SIDES` sides. `evaluation` is None if the report has published systems only."""

    PLACE: int
    TITLE: str
    SIDES: int

    def data(self, evaluation: "Evaluation | None", sides: Any) -> Any: ...


class Format(Protocol):
    """The output of another tool: `formats/<name>.py`. Each output has one of the `MARKS`; `read` yields its values."""

    TOOL: str

    @property
    def MARKS(self) -> Sequence[str]: ...  # noqa: N802
    def read(self, text: Any) -> Iterable[Any]: ...


class SeveralFormats(Protocol):
    """A tool with several forms of output: `READERS` has the marks by the function that reads the form."""

    TOOL: str

    @property
    def READERS(self) -> Mapping[Any, Sequence[str]]: ...  # noqa: N802


class ProgramRunner(Protocol):
    """Runs programs that Steelyard does not build: `programs.py`. A file with the ending `SUFFIX` describes each."""

    SUFFIX: str

    def is_described(self, path: Path) -> bool: ...
    def benchmark_of(self, path: Path) -> "Benchmark": ...
    def shipped(self) -> Mapping[str, Path]: ...
    def start(
        self, path: Path, site: "Site", machine: "Machine", launch: "Launch", pace_reader: Path | None
    ) -> Any: ...


class TraceReader(Protocol):
    """Reads and exports traces: `traces.py`. `FORMATS` are the names of the formats that it exports."""

    @property
    def FORMATS(self) -> Mapping[str, Any]: ...  # noqa: N802
    def is_trace(self, path: Path) -> bool: ...
    def factors(self, trace: Path, machine: "Machine") -> "Factors": ...
    def export(self, trace: Path, form: str, output: Path, machine: "Machine") -> Any: ...


# For each kind of part: its one or two forms, and what it may have besides: the type of a constant, or the arguments of a
# function. A module has the first form if it has a member that only this form has.
KINDS: Mapping[str, tuple[Sequence[type], dict[str, Any]]] = {
    "benchmark": (
        (Declaration,),
        {"roles": Sequence, "demands": Mapping, "unread": Sequence, "parallel": Any, "openmp": bool}
        | {"limit": ("metric", "result", "machine")},
    ),
    "command": ((CommandGroup, Command), {"PLACE": int}),
    "rule": ((Rule,), {"EVERY_VARIANT": bool, "IMPORTED": bool}),
    "page": (
        (SidesPage, Page),
        {"IMPORTED": bool, "UNCHANGED": bool, "SIDES": int, "has_figures": ("data",), "count": ("data",)},
    ),
    "format": (
        (SeveralFormats, Format),
        dict.fromkeys(("SYSTEM", "HOST", "STARTED", "DOUBTS", "OUTPUT", "SETTINGS"), str),
    ),
    "program runner": ((ProgramRunner,), {}),
    "trace reader": ((TraceReader,), {}),
}
ALIKE = 0.85  # of difflib: one wrong, missing or added letter in a word of five


def find_mistake(kind: str, module: ModuleType) -> str:
    """Returns what is wrong with the members of a part, such as "it lacks TITLE"; "" if nothing is."""
    forms, further = KINDS[kind]
    members = _members(forms[-1])
    if vars(module).keys() & (_members(forms[0]).keys() - members.keys()):
        members = _members(forms[0])
    unknown = [name for name, value in vars(module).items() if name[0] != "_" and _is_defined_in(module, value)]
    unknown = [name for name in unknown if name not in members | further]
    for name, wanted in (members | further).items():
        if hasattr(module, name):
            if mistake := _compare(name, getattr(module, name), wanted):
                return mistake
        elif name in members:
            alike = [other for other in unknown if other.isupper() == name.isupper()]
            near = get_close_matches(name, alike, n=1, cutoff=0.5)
            hint = f"Perhaps {near[0]} is a misspelling of {name}." if near else "CONTRIBUTING.md lists the names."
            return f"it does not declare {name}. {hint}"
        elif near := get_close_matches(name, unknown, n=1, cutoff=ALIKE):
            return f"it declares {near[0]}, which Steelyard does not know. Did you mean {name}?"
    return ""


def _is_defined_in(module: ModuleType, value: object) -> bool:
    """Returns whether the value is a constant, or a function of this module and not imported."""
    return getattr(value, "__module__", module.__name__) == module.__name__


def _compare(name: str, value: object, wanted: Any) -> str:
    """Returns what is wrong with a member: its type, or its arguments if `wanted` has their names; "" if nothing is."""
    if isinstance(wanted, tuple) or wanted is Callable:
        return _compare_arguments(name, value, wanted)
    kind = get_origin(wanted) or wanted
    if kind is not Any and not (isinstance(value, kind) and (kind is str or not isinstance(value, str))):
        return f"its {name} must be of type {kind.__name__}, but it is {value!r}."
    if wanted == Sequence[str] and not all(isinstance(member, str) for member in cast("Sequence[Any]", value)):
        return f"its {name} must have texts only, but it is {value!r}."
    return ""


def _compare_arguments(name: str, value: object, wanted: Any) -> str:
    """Returns what is wrong with a function: its arguments, if `wanted` has their names."""
    if not callable(value):
        return f"its {name} must be a function."
    try:
        if wanted is not Callable:
            inspect.signature(value).bind(*wanted)
    except TypeError:
        return f"its function {name} must take these arguments: {', '.join(wanted)}."
    return ""


@cache
def _members(form: type) -> dict[str, Any]:
    """Returns the type of each constant of a Protocol, and the names of the arguments of each function; a command takes any."""
    constants = {name: p.fget for name, p in vars(form).items() if isinstance(p, property)}
    types = get_type_hints(form) | {name: get_type_hints(read)["return"] for name, read in constants.items()}
    functions = {name: f for name, f in vars(form).items() if inspect.isfunction(f) and name[0] != "_"}
    arguments = {name: tuple(inspect.signature(function).parameters)[1:] for name, function in functions.items()}
    return types | (arguments if form is not Command else dict.fromkeys(arguments, Callable))
