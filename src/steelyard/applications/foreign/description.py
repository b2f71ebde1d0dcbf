"""What a file says about somebody else's program: its nouns, and how a file is read and checked, each mistake with its line."""

import dataclasses
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from steelyard.applications.foreign import formula
from steelyard.applications.foreign.measures import si
from steelyard.errors import UsageError, nearest
from steelyard.model import Better
from steelyard.settings_file import Place, SettingsFile, read_settings

Value = int | float | str
Axis = list[Value] | dict[Literal["quick", "standard", "full"], list[Value]]

# What a formula may use besides the axes and the values of the file.
GIVEN = ("memory", "cores", "nodes", "ranks", "threads")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_AT = re.compile(r" - at `(?:key in )?\$(.*)`$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of merit: the number of `pattern`'s first group, in `unit`.

    `rate`: it is in inverse proportion to the sample's time.
    """

    name: str
    title: str
    unit: str
    pattern: str = ""
    amount: str = ""  # in place of a pattern: a formula of how much is done in the time of a sample
    better: Better = "higher"
    rate: bool = False


@dataclass(frozen=True, slots=True)
class Timed:
    """A time that the program states itself."""

    pattern: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What must hold of the output: that `pattern` is found (`absent`: is not), or that its number is near, below or above."""

    title: str
    pattern: str
    reference: float | None = None
    tolerance: float | None = None  # absolute, in the unit of the output
    most: float | None = None
    least: float | None = None
    absent: bool = False


@dataclass(frozen=True, slots=True)
class Divisible:
    """A size that must be a multiple of something."""

    size: str  # a formula
    by: str  # a formula


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A foreign program: how it is started, with what input, and what of its output says how fast and how right it was."""

    name: str
    title: str
    summary: str
    reading: str
    caution: str
    source: str
    tried: str  # on what, or "untried"
    command: list[str]
    checks: list[Check]
    figures: list[Figure] = field(default_factory=list)
    time: Timed | None = None  # None: from the start to the end of the program
    phases: dict[str, Timed] = field(default_factory=dict)
    package: str = ""  # that brings it
    parallel: bool = True  # started as ranks
    output: str = ""  # the file that patterns are looked for in; "": what it prints
    seconds: float = 10.0  # that one run takes, roughly
    memory: str = ""  # bytes that a node needs, a formula
    axes: dict[str, Axis] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)  # further names, in order
    divisible: list[Divisible] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # input by its name, with {{formula}} in it
    copies: dict[str, str] = field(
        default_factory=dict
    )  # further input by its name: which file; one that ends with .gz unpacked


def read(path: Path) -> Description:
    """The description in a file. UsageError with file, line and key for what is not as it must be."""
    checked = read_settings(path, "The application")
    content = checked.content
    _keys(checked, Description, content, ())
    try:
        found = msgspec.convert(content, Description)
    except (msgspec.ValidationError, OverflowError) as error:
        raise _shape(checked, str(error)) from None
    for where, what in _mistakes(found):
        raise checked.mistake(where, what)
    return found


def _keys(checked: SettingsFile, kind: type, data: Any, where: Place) -> None:
    """Refuses the first key that its table does not have."""
    if not isinstance(data, dict):
        return
    hints = get_type_hints(kind)
    for key, value in data.items():
        if key not in hints:
            raise checked.mistake((*where, key), f"there is no such key. {nearest(key, hints)}")
        inner = next((t for t in _inner(hints[key]) if dataclasses.is_dataclass(t)), None)
        if not isinstance(inner, type):
            continue
        if isinstance(value, list):
            for i, each in enumerate(value):
                _keys(checked, inner, each, (*where, key, i))
        elif get_origin(hints[key]) is dict and isinstance(value, dict):
            for name, each in value.items():
                _keys(checked, inner, each, (*where, key, name))
        else:
            _keys(checked, inner, value, (*where, key))


def _inner(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) or (hint,)


def _shape(checked: SettingsFile, said: str) -> UsageError:
    """What msgspec says, with the place as a user finds it; a unit that is missing is what is forgotten most."""
    match = _AT.search(said)
    words = match[1] if match else ""
    where = tuple(int(i) if i else name for i, name in re.findall(r"\[(\d+)\]|\.?([\w-]+)", words))
    where = tuple("" if p == "..." else p for p in where)
    what = (said[: match.start()] if match else said).replace("`", "'")
    if missing := re.fullmatch(r"Object missing required field '(\w+)'", what):
        if missing[1] == "unit":
            return checked.mistake(where, 'a pattern without a unit: say unit = "s", "Gflop/s" or another.')
        return checked.mistake(where, f"the key '{missing[1]}' is missing.")
    return checked.mistake(where, f"{what[:1].lower()}{what[1:]}.")


def _mistakes(found: Description) -> Iterator[tuple[Place, str]]:
    """What each by itself is of the right type, and yet cannot be."""
    if not _NAME.fullmatch(found.name):
        yield ("name",), f"'{found.name}' is no name: expected small letters, digits and _, as in hpcc"
    if not found.command:
        yield ("command",), 'the command is empty: expected the program and its words, as in ["hpcc"]'
    if not found.checks:
        yield ("checks",), "nothing would be checked: a figure whose result nobody checked is no figure"
    if not 0 < found.seconds < 1e6:
        yield ("seconds",), f"'{found.seconds:g}' is no length of a run: expected seconds above 0"
    yield from _patterns(found)
    yield from _axes(found)
    yield from _formulas(found)
    for table, name in [*(("files", n) for n in found.files), *(("copies", n) for n in found.copies)]:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            yield (table, name), f"'{name}' lies outside of the folder in which the program runs"


def _patterns(found: Description) -> Iterator[tuple[Place, str]]:
    every: list[tuple[Place, Timed | Figure]] = [] if found.time is None else [(("time",), found.time)]
    every += [(("phases", name), phase) for name, phase in found.phases.items()]
    every += [(("figures", i), figure) for i, figure in enumerate(found.figures)]
    for i, figure in enumerate(found.figures):
        if bool(figure.pattern) == bool(figure.amount):
            yield ("figures", i), f"the figure '{figure.name}' needs a pattern or an amount, and not both"
    for where, each in every:
        if not (isinstance(each, Figure) and each.amount):
            yield from _pattern((*where, "pattern"), each.pattern, 1)
        unit = si(each.unit)
        if unit is None or (isinstance(each, Timed) and unit[0] != "s"):
            wanted = (
                "one of time: s, ms, us, ns, min or h" if isinstance(each, Timed) else "as in s, Gflop/s, GB/s or 1"
            )
            yield (*where, "unit"), f"'{each.unit}' is no unit that is known: expected {wanted}"
    for i, figure in enumerate(found.figures):
        if figure.name == "time" or not _NAME.fullmatch(figure.name):
            yield (
                ("figures", i, "name"),
                f"'{figure.name}' cannot name a figure: expected small letters, and not 'time'",
            )
    for i, check in enumerate(found.checks):
        bounded = [check.reference, check.most, check.least]
        yield from _pattern(("checks", i, "pattern"), check.pattern, int(any(b is not None for b in bounded)))
        if (check.reference is None) != (check.tolerance is None):
            yield ("checks", i), "reference and tolerance belong together: how near must the value be to what?"


def _pattern(where: Place, pattern: str, groups: int) -> Iterator[tuple[Place, str]]:
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        yield where, f"'{pattern}' is no regular expression: {error}"
        return
    if compiled.groups < groups:
        yield where, f"'{pattern}' has no group: put what is the number into ( )"


def _axes(found: Description) -> Iterator[tuple[Place, str]]:
    for name, axis in found.axes.items():
        if (
            not _NAME.fullmatch(name)
            or keyword.iskeyword(name)
            or name in ("memory", "cores", "nodes", "kernel", "model")
        ):
            yield (
                ("axes", name),
                f"'{name}' cannot name an axis: expected small letters, and none of {', '.join(GIVEN[:3])}",
            )
        for values in axis.values() if isinstance(axis, dict) else [axis]:
            if not values or any(isinstance(v, str) and re.search(r"[\s,;=]", v) for v in values):
                yield ("axes", name), "expected numbers, or words without spaces, at least one"
    if not found.parallel and "ranks" in found.axes:
        yield ("axes", "ranks"), "a program that is not parallel has no ranks: say parallel = true, or leave them out"


def _formulas(found: Description) -> Iterator[tuple[Place, str]]:
    known = {*GIVEN, *found.axes}
    if not found.parallel:
        known.discard("ranks")
    every: list[tuple[Place, str, set[str]]] = []
    for name, text in found.values.items():
        every.append((("values", name), text, set(known)))
        known.add(name)
    every += [(("memory",), found.memory, known)] if found.memory else []
    every += [(("figures", i, "amount"), f.amount, known) for i, f in enumerate(found.figures) if f.amount]
    for i, each in enumerate(found.divisible):
        every += [(("divisible", i, "size"), each.size, known), (("divisible", i, "by"), each.by, known)]
    texts = [(("files", n), t) for n, t in found.files.items()] + [(("command",), w) for w in found.command]
    texts += [(("environment", n), t) for n, t in found.environment.items()]
    every += [(where, hole, known) for where, text in texts for hole in formula.holes(text)]
    for where, text, names in every:
        try:
            unknown = sorted(formula.names(text) - names)
        except ValueError as error:
            yield where, str(error)
            continue
        if unknown:
            yield where, f"'{unknown[0]}' in '{text}' is not known. {nearest(unknown[0], names)}"
