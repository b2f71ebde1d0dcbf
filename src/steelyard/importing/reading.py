"""Recognises the content of a file, and reads every value in it.

A file in a folder `formats/` of a wing, of an installed wing, or of `--path` has all parts of a tool. It declares:

- `TOOL`: the name of the tool, as its authors write it,
- `MARKS`: texts of which at least one is in each file of this format, and in few others,
- `read(text)`: a generator of the values, made by `values.make`; it raises ValueError with the reason if something cannot be
  read, and the values before it are kept,
- instead of `MARKS` and `read`, for a tool that has several forms of output: `READERS`, the marks by the generators,
- optionally `SYSTEM`, `HOST` and `STARTED`: patterns whose first group is the name of the system, that of the host, and the
  date of the run. If month and day could be confused, `STARTED` has the groups year, month, day and time instead. If a file
  holds runs of several hosts or dates, each value has `host` and `started` of its own,
- optionally `DOUBTS`: a pattern of lines in which the tool doubts its own results, and `OUTPUT`: what begins another output.
  The values of an output with such lines have them as a note,
- optionally `SETTINGS`: a pattern of lines with settings, whose "inf" is no damaged number,
- optionally `CONDITIONS`: patterns of what is a parameter only if it differs within a run, such as the build of the program.

The docstring of the file names the versions and the tool's address. For the log of an application, patterns alone are enough:
a TOML file in the same folder, see `importing.logs`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate
from pathlib import Path

from steelyard import doors
from steelyard.doors import Part
from steelyard.importing import launches, patterns
from steelyard.importing.doubts import ToolMarks, add_doubts, mark_outputs
from steelyard.importing.format import Format, find_declared
from steelyard.importing.logs import find_logs
from steelyard.importing.margins import decode_mail, read_strings
from steelyard.importing.text import Text
from steelyard.importing.values import Values, expect_plausible, explain
from steelyard.model.foreign import ForeignValue

DOOR = "formats"
NO_FORMAT = "no known tool wrote it"
_NO_TEXT = "[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u2028\u2029\ufffd]"  # an escape character begins a colour
_DAMAGED_NUMBER = re.compile(rf"\d{_NO_TEXT}|{_NO_TEXT}\d")
_NO_NUMBER = r"(?i)(?:(?:^|[ \t:=|,(])([-+]?(?:nan|inf|infinity))|[=:\d][ \t]+(\*{4,20}))(?:$|[ \t\r,;)])"
MOST_DAMAGED = 20  # sentences on them
VERSION = "version"  # a condition of each tool
# Values: mails and pages hold shorter outputs, so no other form of the text is read where as many were found.
LONG = 1000
MOST = 500_000  # values of a file: some 200 MiB of memory
TOO_MANY = f"it has more than {MOST:,} values, so only the first ones were read. Split the file and import its parts"
DAMAGED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The values of one file, the tools that printed them, and sentences on what was not read.

    `system`, `host` and `started` are "" if the file does not name them; `started` is text as printed. `commands` are the
    different commands in it that start a parallel program. `conditions` of each tool are the version that a heading names and
    what else is a parameter only if it differs within a run.
    """

    values: tuple[ForeignValue, ...] = ()
    tools: tuple[str, ...] = ()
    conditions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    system: str = ""
    host: str = ""
    started: str = ""
    commands: tuple[str, ...] = ()


@cache
def find_formats(folders: tuple[Path, ...] = ()) -> tuple[Format, ...]:
    """Imports the formats of all wings and of the folders, sorted by tool. A format that fails is left out with a warning."""
    packages = doors.packages(DOOR)
    modules = [Part("format", file) for folder in folders for file in sorted(folder.glob("*.py"))]
    modules += doors.parts("format", packages)
    places = (*packages.values(), *folders)
    logs = [Part("format", file) for folder in places for file in sorted(folder.glob("*.toml"))]
    found = [doors.attempt(find_declared, part) for part in modules]
    found += [doors.attempt(doors.call, part, find_logs, part) for part in logs]
    return tuple(sorted((form for forms in found for form in forms or ()), key=lambda form: form.tool.casefold()))


def read(data: bytes, formats: Sequence[Format], file: str = "") -> Reading:
    """Returns the values of a file, which `file` names, with the reasons for what was not read."""
    if b"\0" in data[:65536] and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return Reading(problems=("it is a binary file",))
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    mail = decode_mail(data)
    decoded = mail.decode(encoding, errors="replace").replace("\xa0", " ").replace("&nbsp;", " ")
    content, damaged = _drop_damaged_lines(decoded)
    coloured = "\x1b" in content  # the colours of a terminal may divide a mark
    matching = _match(Text.of(content).whole if coloured else content.replace("\r\n", "\n"), formats)
    if not matching:
        return Reading(problems=(NO_FORMAT if content.strip() else "it is empty",))
    forms = _forms(Text.of(content))
    readings = list[Reading]()
    for known in matching:
        if sum(len(reading.values) for reading in readings) < MOST:
            readings.append(_attempt(known, _cut_at_other_tools(known, matching, forms), file))
    values = _place(
        [value for reading in readings for value in reading.values],
        content if mail.count(b"\n") == data.count(b"\n") else "",
    )
    problems = [f"line {line} has a damaged number" for line in damaged[:MOST_DAMAGED]]
    problems += [problem for reading in readings for problem in reading.problems]
    problems += _find_no_numbers(content, "\n".join(problems), "|".join(known.settings for known in matching))
    headings = ToolMarks(content, matching)
    tools = tuple(dict.fromkeys(tool for reading in readings for tool in reading.tools))
    counts, host, conditions = launches.read_job_record(content)
    if counts:
        values = tuple(replace(value, parameters={**counts, **value.parameters}) for value in values)
    return Reading(
        values=tuple(mark_outputs(values, headings, content, problems)),
        tools=tools,
        conditions={tool: {**_find_conditions(tool, readings, headings), **conditions} for tool in tools},
        problems=tuple(problems or ([] if values else [f"{matching[0].tool}: it has no value"])),
        system=next((reading.system for reading in readings if reading.system), ""),
        host=next((reading.host for reading in readings if reading.host), host),
        started=next((reading.started for reading in readings if reading.started), ""),
        commands=tuple(dict.fromkeys(command for _, command in launches.find_commands(forms[0][0]))) if values else (),
    )


def _find_conditions(tool: str, readings: Sequence[Reading], headings: ToolMarks) -> dict[str, str]:
    """Returns the conditions that the tool states, and those of other tools in the file: HPCC says how its HPL was compiled."""
    found = {name: word for reading in readings for own in reading.conditions.values() for name, word in own.items()}
    found |= {VERSION: headings.find_version(tool)}
    found |= {name: word for reading in readings for name, word in reading.conditions.get(tool, {}).items()}
    return {name: word for name, word in found.items() if word}


def _place(values: Sequence[ForeignValue], content: str) -> tuple[ForeignValue, ...]:
    """Returns the values with the lines as an editor counts them. Without the content, the lines are unknown.

    A `Text` also begins a line behind other characters, such as those with which programs write over a line.
    """
    lines = content.splitlines(keepends=True)
    if len(lines) == content.count("\n") + (content[-1:] not in ("", "\n")) and lines:
        return tuple(values)
    numbers = [0, *accumulate((line.endswith("\n") for line in lines), initial=1)] if lines else []
    return tuple(replace(value, line=numbers[value.line] if numbers else 0) for value in values)


def _forms(text: Text) -> list[tuple[Text, bool]]:
    """Returns the text without what may stand around an output, and the text as it is: forms that differ.

    The second item says that the same value of a case counts once, as a mail may quote it several times.
    """
    bare = text.unquoted()
    quoted = bare.lines != text.lines
    forms: dict[tuple[str, ...], tuple[Text, bool]] = {}
    unwrapped = bare.unwrapped()
    for form in (bare, bare.leveled(), bare if unwrapped is text else unwrapped.unquoted()):
        forms.setdefault(form.lines, (form, quoted))
    for form in (text, text.leveled()) if quoted else ():
        forms.setdefault(form.lines, (form, False))
    return list(forms.values())


def _cut_at_other_tools(
    known: Format, matching: Sequence[Format], forms: Sequence[tuple[Text, bool]]
) -> list[tuple[Text, bool]]:
    """Returns the forms with the marks of the other tools in the file, at which a table ends."""
    marks = [re.escape(mark) for other in matching if other.tool != known.tool for mark in other.marks]
    others = re.compile("|".join(marks)) if marks else None
    return [(replace(form, others=others), once) for form, once in forms]


def _attempt(known: Format, forms: Sequence[tuple[Text, bool]], file: str) -> Reading:
    """Returns what the format reads. A mistake in it costs its values only, and the problem names its file."""
    try:
        return doors.call(known.part, _read, known, forms, file)
    except doors.PartFailed as failure:
        return Reading(problems=(str(failure),))


def _read(known: Format, forms: Sequence[tuple[Text, bool]], file: str) -> Reading:
    """Returns what the format finds in the form of the text in which it finds most: values, then parameters of values."""
    best, read_form = Reading(), forms[0][0]
    for form, once in forms:
        reading = _read_form(known, form, once=once)
        if _content(reading) > _content(best):
            best, read_form = reading, form
        if len(reading.values) >= (MOST if reading.problems else LONG):
            break
    bare, once = forms[0]
    if not best.values:
        further = _list_further_forms(known, bare, refused=bool(best.problems))
        different = {form.lines: form for form in further if form.lines != bare.lines}
        for form in different.values():
            best = max(best, _read_form(known, form, once=once), key=_content)
    if "\\n" in bare.whole:
        best = max(best, _read_strings(known, bare), key=_content)
    for value in best.values:
        _expect_text(value)
    values = _tell_outputs_apart(known, read_form, best.values)
    return replace(best, values=tuple(_count_repetitions(values, known.tool, file)))


def _expect_text(value: ForeignValue) -> None:
    """Raises TypeError if a format gives a name that is no text: a run with it could be written, and not be read."""
    names = (value.benchmark, value.kernel, value.metric, value.unit, value.statistic, value.note)
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise TypeError(f"a value has {wrong[0]!r} where a text was expected")


def _tell_outputs_apart(known: Format, form: Text, values: Sequence[ForeignValue]) -> Sequence[ForeignValue]:
    """Returns the values with what differs in the commands, else in the titles above them, if one case stands below several."""
    if len({value.case for value in values}) == len(values):
        return values
    above, name = launches.find_commands(form), "command"
    if len({command for _, command in above}) < 2:
        above, name = launches.find_titles(form, known.marks), "title"
    different = [*dict.fromkeys(words for _, words in above)]
    if len(different) < 2:
        return values
    named = dict(zip(different, launches.name_differences(different, name), strict=True))
    told, used = list[ForeignValue](), set[object]()
    for place, part in form.split_at([at for at, _ in above]):
        more = named[above[place][1]] if place is not None else {}
        for value in _read_form(known, part, once=False).values:
            added = {key: given for key, given in more.items() if key not in value.parameters}
            if other := [f"{key} {given}" for key, given in more.items() if value.parameters.get(key, given) != given]:
                added["title"] = ", ".join(other)  # the output states another number
            used.add(place if place is None else above[place][1])
            told.append(replace(value, parameters={**value.parameters, **added}) if added else value)
    if len(used) < 2 or len({value.case for value in told}) <= len({value.case for value in values}):
        return values  # a tool may print titles of its own, or name its outputs itself
    same = Counter((v.kernel, v.metric, v.value) for v in told) == Counter(
        (v.kernel, v.metric, v.value) for v in values
    )
    return told if same else values  # an output whose heading stands above all commands cannot be divided


def _content(reading: Reading) -> tuple[int, int]:
    """Returns the number of values, and that of their parameters, or whether there is a reason why there is none."""
    values = reading.values
    return len(values), sum(len(value.parameters) for value in values) if values else bool(reading.problems)


def _list_further_forms(known: Format, bare: Text, *, refused: bool) -> list[Text]:
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
    return replace(
        reading,
        values=tuple(replace(value, line=0) for value in reading.values),
        problems=tuple(f"in its strings: {problem}" for problem in reading.problems),
    )


def _count_repetitions(values: Iterable[ForeignValue], tool: str, file: str) -> Values:
    """Yields the values with tool, file and repetition: a case that a file prints several times has several samples.

    The same number of a case with the same start is the same measurement, printed twice.
    """
    seen: Counter[tuple[object, ...]] = Counter()
    timed: set[tuple[object, ...]] = set()
    for value in values:
        key = _key(value)
        if value.started:
            if (*key, value.value) in timed:
                continue
            timed.add((*key, value.value))
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
    system, host = (text.find(_indent_pattern(pattern)) for pattern in (known.system, known.host))
    started = _date(text, _indent_pattern(known.started))
    conditions = {known.tool: form.words(**known.conditions)}
    return Reading(
        values=values,
        tools=(known.tool,),
        problems=problems,
        system=system,
        host=host,
        started=started,
        conditions=conditions,
    )


def _indent_pattern(pattern: str) -> str:
    """Returns the pattern for lines that a program such as Ansible has indented."""
    return re.sub(r"(?<![\\[])\^", r"^[ \\t]*", pattern)


def _date(text: Text, pattern: str) -> str:
    """Returns the first group, or "year-month-day time" of the groups of these names."""
    named = all(f"(?P<{name}>" in pattern for name in ("year", "month", "day", "time"))
    match = patterns.search(pattern, text.whole) if named else None
    if not match:
        return text.find(pattern)
    time = re.sub(r"(^|:) *(?=\d(?:\D|$))", r"\g<1>0", match["time"])
    return f"{match['year']}-{match['month']:0>2}-{match['day']:0>2} {time}"


def _drop_damaged_lines(content: str) -> tuple[str, list[int]]:
    """Returns the text without lines in which a number touches bytes that are no text, and the numbers of these lines."""
    if not patterns.search(_NO_TEXT, content) or not _DAMAGED_NUMBER.search(content):
        return content, []
    lines = re.split(r"(\r\n|\n|\r)", content)  # each is followed by its end
    # A word with a slash is a path, whose letters say nothing about a number.
    words = (
        (at, word)
        for at, line in enumerate(lines[::2])
        if _DAMAGED_NUMBER.search(line)
        for word in re.split(r"[ \t]+", line)
    )
    damaged = [*dict.fromkeys(at for at, word in words if "/" not in word and _DAMAGED_NUMBER.search(word))]
    for at in damaged:
        lines[2 * at] = ""
    return "".join(lines), [at + 1 for at in damaged]


def _find_no_numbers(content: str, problems: str, settings: str) -> list[str]:
    """Returns sentences on lines with "nan", "inf", or Fortran's stars for a number, without settings and what problems name."""
    found: dict[int, str] = {}
    line, counted = 1, 0
    for match in patterns.find_all(_NO_NUMBER, content):
        group = match.lastindex or 0
        line, counted = line + content.count("\n", counted, match.start(group)), match.start(group)
        words = content[content.rfind("\n", 0, match.start(group)) + 1 : match.end(group)]
        is_frame = words.lstrip().startswith("****")  # of a title
        if not is_frame and not re.search(rf"line {line}\b", problems) and not patterns.match(settings, words):
            found.setdefault(line, f"line {line} has '{match[group]}' instead of a number")
        if len(found) == MOST_DAMAGED:
            break
    return [*found.values()]


def _match(content: str, formats: Sequence[Format]) -> list[Format]:
    """Returns the formats whose marks are in the content, also where JSON encodes letters as "\\u00b1"."""
    if "\\u" in content:
        content = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), content)
    found = patterns.find_words(sorted({mark for known in formats for mark in known.marks}), content)
    return [known for known in formats if not found.isdisjoint(known.marks)]


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
    except KeyError as error:
        text.problems.append(f"it is damaged or incomplete: {explain(error)}")
    except ValueError as error:
        text.problems.append(explain(error))
    except DAMAGED as error:
        text.problems.append(f"it is damaged, or {known.file.name} has a mistake ({type(error).__name__}: {error})")
    except Exception as error:
        text.problems.append(str(doors.blame(known.part, error)))
