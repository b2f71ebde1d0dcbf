"""The description of an external program: reads a file and checks it. An error names the line and the key."""

import dataclasses
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from steelyard.applications.foreign import formula
from steelyard.applications.foreign.measures import convert_to_si
from steelyard.errors import UsageError, nearest
from steelyard.model import Better
from steelyard.model.settings_file import Place, SettingsFile, read_settings

Value = int | float | str
Axis = list[Value] | dict[Literal["quick", "standard", "full"], list[Value]]

# Names that a formula may use besides the axes and the values of the file.
GIVEN = ("memory", "cores", "nodes", "ranks", "threads")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_AT = re.compile(r" - at `(?:key in )?\$(.*)`$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of merit: the number in the first group of `pattern`, in `unit`.

    `rate`: the number is inversely proportional to the sample's time.
    """

    name: str
    title: str
    unit: str
    pattern: str = ""
    amount: str = ""  # a formula for the work of one sample, if there is no pattern
    better: Better = "higher"
    rate: bool = False


@dataclass(frozen=True, slots=True)
class Timed:
    """A time that the program prints."""

    pattern: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A condition on the output: it contains `pattern` (`absent`: does not), or the number of `pattern` lies within bounds."""

    title: str
    pattern: str
    reference: float | None = None
    tolerance: float | None = None  # absolute, in the unit of the output
    most: float | None = None
    least: float | None = None
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Divisible:
    """A size that must be a multiple of another number."""

    size: str  # a formula for the size
    by: str  # a formula for the divisor


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """An external program: its command, its input, and the patterns that read speed and correctness from its output."""

    name: str
    title: str
    summary: str
    reading: str
    caution: str
    source: str
    tried: str  # the system on which the description was tested, or "untried"
    command: list[str]
    checks: list[Check]
    figures: list[Figure] = field(default_factory=list)
    time: Timed | None = None  # None: from the start to the end of the program
    phases: dict[str, Timed] = field(default_factory=dict)
    package: str = ""  # the distribution's package that contains the program
    parallel: bool = True  # the program is started as ranks
    output: str = ""  # file that the patterns read; "": standard output
    seconds: float = 10.0  # rough duration of one run
    memory: str = ""  # formula for the bytes that a node needs
    axes: dict[str, Axis] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)  # further names with their formulas, in order
    divisible: list[Divisible] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # text of each input file by name, with {{formula}} in it
    copies: dict[str, str] = field(default_factory=dict)  # source of each further input file; .gz is unpacked


def read(path: Path) -> Description:
    """Reads a description. UsageError, with file, line and key, for a mistake in it."""
    checked = read_settings(path, "The application")
    content = checked.content
    _check_keys(checked, Description, content, ())
    try:
        description = msgspec.convert(content, Description)
    except (msgspec.ValidationError, OverflowError) as error:
        raise _explain_shape(checked, str(error)) from None
    for where, what in _list_mistakes(description):
        raise checked.mistake(where, what)
    return description


def _check_keys(checked: SettingsFile, kind: type, data: Any, where: Place) -> None:
    """Raises an error for the first unknown key of a table."""
    if not isinstance(data, dict):
        return
    hints = get_type_hints(kind)
    for key, value in data.items():
        if key not in hints:
            raise checked.mistake((*where, key), f"there is no such key. {nearest(key, hints)}")
        inner = next((t for t in _list_inner_types(hints[key]) if dataclasses.is_dataclass(t)), None)
        if not isinstance(inner, type):
            continue
        if isinstance(value, list):
            for i, item in enumerate(value):
                _check_keys(checked, inner, item, (*where, key, i))
        elif get_origin(hints[key]) is dict and isinstance(value, dict):
            for name, item in value.items():
                _check_keys(checked, inner, item, (*where, key, name))
        else:
            _check_keys(checked, inner, value, (*where, key))


def _list_inner_types(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) or (hint,)


def _explain_shape(checked: SettingsFile, message: str) -> UsageError:
    """Translates the error of msgspec: the place as in the file, with an example for a missing unit, the usual mistake."""
    match = _AT.search(message)
    words = match[1] if match else ""
    where = tuple(int(i) if i else name for i, name in re.findall(r"\[(\d+)\]|\.?([\w-]+)", words))
    where = tuple("" if p == "..." else p for p in where)
    what = (message[: match.start()] if match else message).replace("`", "'")
    if missing := re.fullmatch(r"Object missing required field '(\w+)'", what):
        if missing[1] == "unit":
            return checked.mistake(
                where, 'the pattern has no unit. Add the key unit, for example unit = "s" or unit = "Gflop/s".'
            )
        return checked.mistake(where, f"the key '{missing[1]}' is missing. Add it.")
    return checked.mistake(where, f"{what[:1].lower()}{what[1:]}.")


def _list_mistakes(description: Description) -> Iterator[tuple[Place, str]]:
    """Yields values that have the right type but are not allowed."""
    if not _NAME.fullmatch(description.name):
        yield ("name",), f"'{description.name}' is not a valid name: use small letters, digits and _, as in hpcc"
    if not description.command:
        yield ("command",), 'the command is empty: expected the program and its arguments, as in ["hpcc"]'
    if not description.checks:
        yield ("checks",), "there is no check: add at least one check that shows whether the result is right"
    if not 0 < description.seconds < 1e6:
        yield ("seconds",), f"'{description.seconds:g}' is not a valid duration of a run: expected seconds above 0"
    yield from _check_patterns(description)
    yield from _list_axes(description)
    yield from _check_formulas(description)
    for table, name in [*(("files", n) for n in description.files), *(("copies", n) for n in description.copies)]:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            yield (
                (table, name),
                f"'{name}' lies outside the folder in which the program runs: use a relative path without ..",
            )


def _check_patterns(description: Description) -> Iterator[tuple[Place, str]]:
    entries: list[tuple[Place, Timed | Figure]] = [] if description.time is None else [(("time",), description.time)]
    entries += [(("phases", name), phase) for name, phase in description.phases.items()]
    entries += [(("figures", i), figure) for i, figure in enumerate(description.figures)]
    for i, figure in enumerate(description.figures):
        if bool(figure.pattern) == bool(figure.amount):
            yield ("figures", i), f"the figure '{figure.name}' needs either a pattern or an amount, not both"
    for where, entry in entries:
        if not (isinstance(entry, Figure) and entry.amount):
            yield from _check_pattern((*where, "pattern"), entry.pattern, 1)
        unit = convert_to_si(entry.unit)
        if unit is None or (isinstance(entry, Timed) and unit[0] != "s"):
            wanted = (
                "a unit of time: s, ms, us, ns, min or h"
                if isinstance(entry, Timed)
                else "for example s, Gflop/s, GB/s or 1"
            )
            yield (*where, "unit"), f"'{entry.unit}' is not a known unit: expected {wanted}"
    for i, figure in enumerate(description.figures):
        if figure.name == "time" or not _NAME.fullmatch(figure.name):
            yield (
                ("figures", i, "name"),
                f"'{figure.name}' cannot name a figure: use small letters, digits and _, and not 'time'",
            )
    for i, check in enumerate(description.checks):
        bounded = [check.reference, check.most, check.least]
        yield from _check_pattern(("checks", i, "pattern"), check.pattern, int(any(b is not None for b in bounded)))
        if (check.reference is None) != (check.tolerance is None):
            yield ("checks", i), "reference and tolerance belong together: give both, or neither"


def _check_pattern(where: Place, pattern: str, groups: int) -> Iterator[tuple[Place, str]]:
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        yield where, f"'{pattern}' is not a valid regular expression: {error}"
        return
    if compiled.groups < groups:
        yield where, f"'{pattern}' has no group: put the part that matches the number into ( )"


def _list_axes(description: Description) -> Iterator[tuple[Place, str]]:
    for name, axis in description.axes.items():
        if (
            not _NAME.fullmatch(name)
            or keyword.iskeyword(name)
            or name in ("memory", "cores", "nodes", "kernel", "model")
        ):
            yield (
                ("axes", name),
                f"'{name}' cannot name an axis: use small letters, digits and _, and none of {', '.join(GIVEN[:3])}",
            )
        for values in axis.values() if isinstance(axis, dict) else [axis]:
            if not values or any(isinstance(v, str) and re.search(r"[\s,;=]", v) for v in values):
                yield ("axes", name), "expected at least one value: a number, or a word without spaces"
    if not description.parallel and "ranks" in description.axes:
        yield ("axes", "ranks"), "a program that is not parallel has no ranks: set parallel = true, or remove this axis"


def _check_formulas(description: Description) -> Iterator[tuple[Place, str]]:
    available = {*GIVEN, *description.axes}
    if not description.parallel:
        available.discard("ranks")
    formulas: list[tuple[Place, str, set[str]]] = []
    for name, text in description.values.items():
        formulas.append((("values", name), text, set(available)))
        available.add(name)
    formulas += [(("memory",), description.memory, available)] if description.memory else []
    formulas += [(("figures", i, "amount"), f.amount, available) for i, f in enumerate(description.figures) if f.amount]
    for i, rule in enumerate(description.divisible):
        formulas += [(("divisible", i, "size"), rule.size, available), (("divisible", i, "by"), rule.by, available)]
    texts = [(("files", n), t) for n, t in description.files.items()] + [(("command",), w) for w in description.command]
    texts += [(("environment", n), t) for n, t in description.environment.items()]
    formulas += [(where, hole, available) for where, text in texts for hole in formula.list_formulas(text)]
    for where, text, names in formulas:
        try:
            unknown = sorted(formula.list_names(text) - names)
        except ValueError as error:
            yield where, str(error)
            continue
        if unknown:
            yield where, f"the name '{unknown[0]}' in '{text}' is unknown. {nearest(unknown[0], names)}"
