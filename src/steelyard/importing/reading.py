"""Recognises the content of a file, and reads every value in it.

A file in a folder `formats/` of a wing, of an installed wing, or of `--path` has all parts of a tool. It declares:

- `TOOL`: the name of the tool, as its authors write it,
- `MARKS`: texts of which at least one is in each file of this format, and in few others,
- `read(text)`: a generator of the values, made by `values.make`; it raises ValueError with the reason if something cannot be
  read, and the values before it are kept,
- instead of `MARKS` and `read`, for a tool that has several forms of output: `READERS`, the marks by the generators,
- optionally `HOST` and `STARTED`: patterns whose first group is the name of the host, and the date of the run. If month and day
  could be confused, `STARTED` has the groups year, month, day and time instead. If a file holds runs of several hosts or dates,
  each value has `host` and `started` of its own,
- optionally `DOUBTS`: a pattern of lines in which the tool doubts its own results, and `OUTPUT`: what begins another output.
  The values of an output with such lines have them as a note.

The docstring of the file names the versions and the tool's address. For the log of an application, patterns alone are enough:
a TOML file in the same folder, see `importing.logs`.
"""

import importlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from steelyard import doors
from steelyard.errors import UsageError
from steelyard.importing import patterns
from steelyard.importing.doubts import add_doubts
from steelyard.importing.format import Format, find_declared
from steelyard.importing.logs import find_logs
from steelyard.importing.margins import decode_mail, read_strings
from steelyard.importing.text import Text
from steelyard.importing.values import Values, expect_plausible
from steelyard.model.foreign import ForeignValue

DOOR = "formats"
NO_FORMAT = "no known tool wrote it"
_NO_TEXT = "[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u2028\u2029\ufffd]"  # an escape character begins a colour
_DAMAGED_NUMBER = re.compile(rf"\d{_NO_TEXT}|{_NO_TEXT}\d")
MOST_DAMAGED = 20  # sentences on them
# Values: mails and pages hold shorter outputs, so no other form of the text is read where as many were found.
LONG = 1000
MOST = 500_000  # values of a file: some 200 MiB of memory
TOO_MANY = f"it has more than {MOST:,} values, so only the first ones were read. Split the file and import its parts"
DAMAGED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The values of one file, the tools that printed them, and sentences on what was not read.

    `host` and `started` are "" if the file does not name them; `started` is text as printed.
    """

    values: tuple[ForeignValue, ...] = ()
    tools: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    host: str = ""
    started: str = ""


@cache
def find_formats(folders: tuple[Path, ...] = ()) -> tuple[Format, ...]:
    """Imports the formats of all wings and of the folders, sorted by tool. UsageError for a file that is none."""
    packages = doors.packages(DOOR)
    modules = {file: _load(file) for folder in folders for file in sorted(folder.glob("*.py"))}
    for package, folder in packages.items():
        files = sorted(folder.glob("[!_]*.py"))
        modules |= {file: importlib.import_module(f"{package}.{file.stem}") for file in files}
    declared = [form for file, module in modules.items() for form in find_declared(module, file)]
    logs = [log for folder in (*packages.values(), *folders) for log in find_logs(folder)]
    return tuple(sorted([*declared, *logs], key=lambda form: form.tool.casefold()))


def _load(file: Path) -> ModuleType:
    loader = SourceFileLoader(f"steelyard_format_{file.stem}", str(file))
    module = ModuleType(loader.name)
    try:
        loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"The format '{file}' cannot be loaded: {type(error).__name__}: {error}.") from error
    names = ("TOOL",) if hasattr(module, "READERS") else ("TOOL", "MARKS", "read")
    missing = [name for name in names if not hasattr(module, name)]
    if missing:
        raise UsageError(
            f"The format '{file}' declares no {missing[0]}. See docs/import.md for what a format declares."
        )
    return module


def read(data: bytes, formats: Sequence[Format], file: str = "") -> Reading:
    """Returns the values of a file, which `file` names, with the reasons for what was not read."""
    if b"\0" in data[:65536] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return Reading(problems=("it is a binary file",))
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    decoded = decode_mail(data).decode(encoding, errors="replace").replace("\xa0", " ").replace("&nbsp;", " ")
    content, damaged = _without_damage(decoded)
    coloured = "\x1b" in content  # the colours of a terminal may divide a mark
    matching = _match(Text.of(content).whole if coloured else content.replace("\r\n", "\n"), formats)
    if not matching:
        return Reading(problems=(NO_FORMAT if content.strip() else "it is empty",))
    forms = _forms(Text.of(content))
    readings = list[Reading]()
    for known in matching:
        if sum(len(reading.values) for reading in readings) < MOST:
            readings.append(_read(known, _before_others(known, matching, forms), file))
    values = tuple(value for reading in readings for value in reading.values)
    problems = [f"line {line} has a damaged number" for line in damaged[:MOST_DAMAGED]]
    problems += [problem for reading in readings for problem in reading.problems]
    return Reading(
        values=values,
        tools=tuple(dict.fromkeys(tool for reading in readings for tool in reading.tools)),
        problems=tuple(problems or ([] if values else [f"{matching[0].tool}: it has no value"])),
        host=next((reading.host for reading in readings if reading.host), ""),
        started=next((reading.started for reading in readings if reading.started), ""),
    )


def _forms(text: Text) -> list[tuple[Text, bool]]:
    """Returns the text without what may stand around an output, and the text as it is: forms that differ.

    The second item says that the same value of a case counts once, as a mail may quote it several times.
    """
    bare = text.unquoted()
    quoted = bare.lines != text.lines
    forms: dict[tuple[str, ...], tuple[Text, bool]] = {}
    for form in (bare, bare.leveled(), bare.unwrapped().unquoted()):
        forms.setdefault(form.lines, (form, quoted))
    for form in (text, text.leveled()):
        forms.setdefault(form.lines, (form, False))
    return list(forms.values())


def _before_others(
    known: Format, matching: Sequence[Format], forms: Sequence[tuple[Text, bool]]
) -> list[tuple[Text, bool]]:
    """Returns the forms with the marks of the other tools in the file, at which a table ends."""
    marks = [re.escape(mark) for other in matching if other.tool != known.tool for mark in other.marks]
    others = re.compile("|".join(marks)) if marks else None
    return [(replace(form, others=others), once) for form, once in forms]


def _read(known: Format, forms: Sequence[tuple[Text, bool]], file: str) -> Reading:
    """Returns what the format finds in the form of the text in which it finds most: values, then parameters of values."""
    best = Reading()
    for form, once in forms:
        best = max(best, reading := _read_form(known, form, once=once), key=_content)
        if len(reading.values) >= (MOST if reading.problems else LONG):
            break
    bare, once = forms[0]
    if not best.values:
        further = _further_forms(known, bare, refused=bool(best.problems))
        different = {form.lines: form for form in further if form.lines != bare.lines}
        for form in different.values():
            best = max(best, _read_form(known, form, once=once), key=_content)
    if "\\n" in bare.whole:
        best = max(best, _read_strings(known, bare), key=_content)
    return replace(best, values=tuple(_count_repetitions(best.values, known.tool, file)))


def _content(reading: Reading) -> tuple[int, int]:
    """Returns the number of values, and that of their parameters, or whether there is a reason why there is none."""
    values = reading.values
    return len(values), sum(len(value.parameters) for value in values) if values else bool(reading.problems)


def _further_forms(known: Format, bare: Text, *, refused: bool) -> list[Text]:
    """Returns forms that are read only if the usual ones have no values: many tools write "#" before their headings."""
    further = [*(bare.uncommented(tight=tight).unquoted() for tight in (False, True)), bare.stripped()]
    found = bare.unfound()
    # Formats other than logs would take the lines of several files for repetitions of one case.
    mixed = len(set(found.files.values())) > 1 and known.file.suffix != ".toml"
    return further if refused or mixed else [*further, found]


def _read_strings(known: Format, text: Text) -> Reading:
    """Returns what the format finds in the strings of JSON that have its mark, where programs keep what a tool printed."""
    marked = [string for string in read_strings(text.whole) if any(mark in string for mark in known.marks)]
    if not marked:
        return Reading()
    form = replace(Text.of("\n".join(marked) + "\n").unquoted(), others=text.others)
    reading = _read_form(known, form, once=True)
    return replace(reading, problems=tuple(f"in its strings: {problem}" for problem in reading.problems))


def _count_repetitions(values: Iterable[ForeignValue], tool: str, file: str) -> Values:
    """Yields the values with tool, file and repetition: a case that a file prints several times has several samples."""
    seen: Counter[tuple[object, ...]] = Counter()
    for value in values:
        key = _key(value)
        yield value.read_from(tool, file, seen[key])
        seen[key] += 1


def _key(value: ForeignValue) -> tuple[object, ...]:
    return (value.host, value.started, *value.case)


def _read_form(known: Format, form: Text, *, once: bool) -> Reading:
    text = replace(form, problems=[])
    values = tuple(_values(known, text, once=once))
    problems = tuple(f"{known.tool}: {problem}" for problem in text.problems)
    if not values:
        return Reading(problems=problems)
    host, started = text.find(_indented(known.host)), _date(text, _indented(known.started))
    return Reading(values=values, tools=(known.tool,), problems=problems, host=host, started=started)


def _indented(pattern: str) -> str:
    """Returns the pattern for lines that a program such as Ansible has indented."""
    return re.sub(r"(?<![\\[])\^", r"^[ \\t]*", pattern)


def _date(text: Text, pattern: str) -> str:
    """Returns the first group, or "year-month-day time" of the groups of these names."""
    named = all(f"(?P<{name}>" in pattern for name in ("year", "month", "day", "time"))
    match = patterns.search(pattern, text.whole) if named else None
    return "{year}-{month}-{day} {time}".format(**match.groupdict()) if match else text.find(pattern)


def _without_damage(content: str) -> tuple[str, list[int]]:
    """Returns the text without lines in which a number touches bytes that are no text, and the numbers of these lines."""
    if not _DAMAGED_NUMBER.search(content):
        return content, []
    lines = re.split(r"\r\n|\n|\r", content)
    damaged = [at for at, line in enumerate(lines) if _DAMAGED_NUMBER.search(line)]
    for at in damaged:
        lines[at] = ""
    return "\n".join(lines), [at + 1 for at in damaged]


def _match(content: str, formats: Sequence[Format]) -> list[Format]:
    """Returns the formats whose marks are in the content, also where JSON encodes letters as "\\u00b1"."""
    content = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), content)
    return [known for known in formats if any(mark in content for mark in known.marks)]


def _values(known: Format, text: Text, *, once: bool) -> Values:
    """Yields the plausible values; with `once`, equal values of a case count once."""
    quoted: set[tuple[tuple[object, ...], float]] = set()
    count = 0
    try:
        for value in add_doubts(known, text):
            expect_plausible(value)
            if once:
                found = (_key(value), value.value)
                if found in quoted:
                    continue
                quoted.add(found)
            if count == MOST:
                text.problems.append(TOO_MANY)
                return
            count += 1
            yield value
    except ValueError as error:
        text.problems.append(str(error))
    except KeyError as error:
        text.problems.append(f"it is damaged or incomplete: {error} is missing or unknown")
    except DAMAGED as error:
        text.problems.append(f"it is damaged ({type(error).__name__}: {error})")
    except Exception as error:  # a mistake in the format of a site must not end the import of all other files
        text.problems.append(f"the format has a mistake ({type(error).__name__}: {error})")
