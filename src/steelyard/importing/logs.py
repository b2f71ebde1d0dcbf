"""Logs of applications: a description (TOML, in a folder `formats/`) names a program's marks and the patterns of its figures.

Its keys are those of `Log`. Where Steelyard can run the program, the patterns of that description (`applications/foreign/`) are
used too. A figure takes the first group of each match; a match without that group is another figure and has no value. A
parameter is the last one that is printed before the figure, else the first one after it; one of `parameters_after` is the first
one after the figure, else the last one before it. The value that a program prints again and again in one run is a repetition;
with `last` only the last one of each output on a page counts.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

import steelyard
from steelyard.doors import Part
from steelyard.importing.doubts import find_doubts
from steelyard.importing.format import NOTHING, WARNINGS, Format
from steelyard.importing.patterns import Match, find_all
from steelyard.importing.text import Text
from steelyard.importing.values import UNITS, Values, make, seconds
from steelyard.model import Better, Scalar
from steelyard.model.foreign import ForeignValue
from steelyard.model.settings_file import SettingsFile, read_settings

CLOCK = "clock"  # the unit of times such as "1h23m" or "1m41.71s"
SHORTEST = 5  # characters of a mark
LONGEST = 80  # characters of a parameter
FEWEST = 2  # differences of which a mean is taken
PROMPT = r"(?:[\w.@:~/()\[\], -]{0,80})\$ (\S.*)$"  # of a shell, with a command
FILE = r"==> (\S.*) <==$"  # between the outputs of head and tail

# Parameters with where an output comes from, their patterns, and a text that each match has: most logs have none.
ORIGINS = (("command", PROMPT, "$ "), ("file", FILE, "==> "))


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A figure: the number in the first group of `pattern`, in `unit`. `commas`: commas separate its thousands.

    `differences`: it is the mean of the differences from one number to the next, in lines that follow each other.
    """

    name: str
    pattern: str
    unit: str
    statistic: str = "one run"
    better: Better | None = None
    last: bool = False
    commas: bool = False
    differences: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The log of a program. `run` begins a run in it; a run in which `wrong` is found has no values. `doubts`: see
    `reading`. A run without figures in which `begun` is found, but not `finished`, did not finish. `settings`: see `reading`.

    `host` and `started` are patterns of the name of the host, and of the date; `conditions`: see `reading`. `last`: all
    figures are as if they had it.
    `once`: a number that a run prints again counts once.
    """

    name: str
    tool: str
    title: str  # the versions, and which of its outputs
    source: str
    marks: list[str]
    run: str = NOTHING
    wrong: str = NOTHING
    begun: str = NOTHING
    finished: str = NOTHING
    settings: str = NOTHING
    doubts: str = WARNINGS
    host: str = NOTHING
    started: str = NOTHING
    last: bool = False
    once: bool = False
    note: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    parameters_after: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, str] = field(default_factory=dict)
    figures: list[Printed] = field(default_factory=list)


def find_logs(part: Part) -> list[Format]:
    """Returns the format that a TOML file describes. Other TOML files have no `marks` and describe none.

    UsageError, with file, line and key, for a mistake.
    """
    checked = read_settings(part.file, "The description of a log")
    if "marks" not in checked.content:
        return []
    log = _convert(checked)
    return [
        Format(
            name=log.name, tool=log.tool, marks=log.marks, read=partial(_read, log), host=log.host, started=log.started,
            settings=log.settings, conditions=log.conditions,
            doubts=NOTHING,  # `_read` has those of the log
            about=f"{log.title}\n\n{log.source}\n", file=part.file,
        )
    ]  # fmt: skip


def _convert(checked: SettingsFile) -> Log:
    checked.expect_keys((), checked.content, Log.__dataclass_fields__)
    try:
        figures = [*checked.content.get("figures", []), *_list_wing_figures(str(checked.content.get("name", "")))]
        log = msgspec.convert({**checked.content, "figures": figures}, Log)
        if not re.fullmatch(r"[a-z][a-z0-9_]*", log.name):
            raise ValueError(f"'{log.name}' is not a valid name: use small letters, digits and _")
        if min(map(len, log.marks), default=0) < SHORTEST:
            raise ValueError(f"the marks need at least {SHORTEST} characters each, so that few other files have them")
        for figure in log.figures:
            if figure.unit != CLOCK and figure.unit not in UNITS:
                raise ValueError(f"the unit '{figure.unit}' of '{figure.name}' is unknown")
            if re.compile(figure.pattern, re.MULTILINE).groups < 1:
                raise ValueError(f"the pattern of '{figure.name}' has no group: put the number into ( )")
        parameters = {**log.parameters, **log.parameters_after, **log.conditions}
        lines = (log.run, log.wrong, log.begun, log.finished, log.settings, log.doubts, log.host, log.started)
        for pattern in (*lines, *parameters.values()):
            re.compile(pattern, re.MULTILINE)
    except (ValueError, TypeError, re.error) as error:
        sentence = re.sub(r"Object missing required field `(\w+)`", r"the key '\1' is missing: add it", str(error))
        raise checked.mistake((), f"{sentence.removesuffix('.')}.") from None
    return log


def _list_wing_figures(name: str) -> Iterator[dict[str, Any]]:
    """Yields the figures of the program's description in a wing, whose patterns match its output wherever it ran."""
    for path in sorted(Path(steelyard.__file__).parent.glob(f"*/foreign/{name}.toml")) if name else ():
        content = read_settings(path, "The application").content
        timed = [{"name": "time", **content["time"]}] if "time" in content else []
        for figure in [*timed, *content.get("figures", [])]:
            if pattern := figure.get("pattern"):
                unit = "" if figure["unit"] == "1" else figure["unit"]
                yield {"name": figure["name"], "pattern": pattern, "unit": unit, "better": figure.get("better")}


def _read(log: Log, text: Text) -> Values:
    starts, origins = _origins(text)
    found = list[tuple[tuple[str, str], ForeignValue]]()
    others = bool(text.others and text.others.search(text.whole))  # then another tool wrote what looks wrong
    borders = sorted((*starts, *(place for _, place in text.match(r"\s*```"))))
    for run in text.ended().runs(log.run):
        if sentence := run.find(log.wrong):
            if not others:
                text.problems.append(f"line {run.first}: the run is wrong: '{sentence}'")
            continue
        printed = [(figure, *one) for figure in log.figures for one in _list_matches(log, figure, run, borders)]
        if not printed:
            if run.find(log.begun) and not run.find(log.finished):
                text.problems.append(f"line {run.first}: the run did not finish")
            continue
        note = " ".join(filter(None, (log.note, find_doubts(log.tool, run, log.doubts))))
        places = {
            name: (_places(pattern, run), patterns is log.parameters_after)
            for patterns in (log.parameters, log.parameters_after)
            for name, pattern in patterns.items()
        }
        for figure, match, place, word in printed:
            about = {name: _find_nearest(given, match.end(), after) for name, (given, after) in places.items()}
            number = f"{about.get('ranks')}"  # the names of cases that are divided for so many ranks end with them
            about = {n: v.removesuffix(f"-{number}") if isinstance(v, str) else v for n, v in about.items()}
            before = bisect_right(starts, place)
            try:
                value = _value(log, figure, word, about, note)
                found.append((origins[before], replace(value, line=0 if figure.differences else place)))
            except ValueError as error:
                text.problems.append(f"line {place}: {error}")
    # Outputs of different commands, and of different files, are no repetitions of each other.
    several = len({origin for origin, _ in found}) > 1
    for (name, word), value in found:
        more = {name: word[:LONGEST]} if several and name else {}
        yield replace(value, parameters={**value.parameters, **more})


def _origins(text: Text) -> tuple[list[int], list[tuple[str, str]]]:
    """Returns the lines from which on the text comes from another command or file, and what these are; the first is unknown."""
    named = [(name, pattern) for name, pattern, word in ORIGINS if word in text.whole]
    origins = {place: (name, match[1]) for name, pattern in named for match, place in text.match(pattern)}
    files = text.files.items()
    origins |= {place: ("file", file) for place, file in files if text.files.get(place - 1) != file}
    return sorted(origins), [("", ""), *(origins[place] for place in sorted(origins))]


def _list_matches(log: Log, figure: Printed, run: Text, borders: Sequence[int]) -> Iterator[tuple[Match, int, str]]:
    """Yields the matches that count, with their lines and numbers. `borders` are the lines between the outputs of a page."""
    placed, place, counted = list[tuple[Match, int]](), run.first, 0
    for match in find_all(figure.pattern, run.whole):
        if match[1] is not None:
            place, counted = place + run.whole.count("\n", counted, match.start(1)), match.start(1)
            placed.append((match, place))
    if log.once:
        placed = list({match[1]: (match, place) for match, place in placed}.values())
    if figure.last or log.last:
        placed = list({bisect_right(borders, place): (match, place) for match, place in placed}.values())
    if figure.differences:
        yield from _average_differences(placed)
    else:
        yield from ((match, place, match[1]) for match, place in placed)


def _average_differences(placed: Sequence[tuple[Match, int]]) -> Iterator[tuple[Match, int, str]]:
    """Yields the last match with the mean of the differences between numbers in lines that follow each other."""
    pairs = [(one[1], two[1]) for (one, at), (two, next_one) in pairwise(placed) if next_one == at + 1]
    with suppress(ValueError):  # a time of the same step may be no number
        differences = [float(after) - float(before) for before, after in pairs]
        if len(differences) >= FEWEST and min(differences) >= 0:
            yield (*placed[-1], f"{sum(differences) / len(differences):.9g}")


def _value(log: Log, figure: Printed, word: str, about: dict[str, Scalar | None], note: str) -> ForeignValue:
    if figure.commas and re.fullmatch(r"\d{1,3}(,\d{3})*(\.\d+)?", word):
        word = word.replace(",", "")
    number = seconds(word) if figure.unit == CLOCK else word
    unit = "s" if figure.unit == CLOCK else figure.unit
    case = (f"{log.name}.run", log.name, figure.name)
    return make(*case, number, unit, figure.statistic, about, better=figure.better, note=note)


def _places(pattern: str, run: Text) -> list[tuple[int, Scalar]]:
    """Returns where a parameter is printed, with its values. Several numbers of one match are multiplied."""
    places = list[tuple[int, Scalar]]()
    for match in find_all(pattern, run.whole):
        given = [word for word in match.groups() if word is not None] or [match[0]]
        words = [re.sub(r"(?<=\d),(?=\d{3})", "", word.strip()[:LONGEST]) for word in given]
        numeric = all(word.isascii() and word.isdigit() and len(word) < 10 for word in words)
        single = words[-1].isascii() and words[-1].isdigit() and len(words[-1]) < 19
        places.append(
            (match.start(), math.prod(map(int, words)) if numeric else int(words[-1]) if single else words[-1])
        )
    return places


def _find_nearest(given: list[tuple[int, Scalar]], end: int, after: bool) -> Scalar | None:
    before = bisect_left(given, end, key=lambda place: place[0])
    at = min(before, len(given) - 1) if after else max(0, before - 1)
    return given[at][1] if given else None
