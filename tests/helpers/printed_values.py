"""An oracle for values that were read from a damaged output: it knows where the undamaged outputs print them.

It sees for each value whether its number is printed in the file, in a column of the same name or behind the same words as in the
undamaged outputs, with the same factor to the unit (or one that the words there name), and on a line that also prints the
parameters that stand there in the undamaged outputs, such as the size of the message. It does not see a number that was replaced
by another plausible one, nor two rows of one table that changed their places, nor columns that both have no name. For tools whose
formats check the unit by a relation of the row (PROVEN), a damaged heading counts as none.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache

from steelyard.importing.reading import Reading, find_formats, read
from steelyard.importing.text import Text
from steelyard.importing.values import UNITS, spell
from steelyard.model import ForeignValue

NUMBER = re.compile(r"(?<![\w.,])[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
SEPARATED = re.compile(NUMBER.pattern.replace(".,", "."))  # in a line of values that commas separate
# As it may stand in a row: a number, also a damaged one, or what is printed for none.
QUOTED = re.compile(r"^(?:<[^>]*>|&gt;|>|\s)+")  # the tags and marks of a mail
CLOCK = re.compile(r"(\d+)m *(\d+(?:\.\d+)?)s")  # minutes and seconds
DIGITS = re.compile(r"\d[\d.,]*(?:[eE][+-]?\d*|x\d+)?|\b(?:nan|inf)\b|--+|\*{4,}")
WORD = re.compile(r"[^\W\d_]{3,}")
NUMBERED = re.compile(r"(?:^|[\s=])[+-]?\.?\d")  # a word that begins with a digit
REACH = 400  # lines above a row among which its heading is looked for
NO_LABEL = re.compile(r"\s*(?:[+-]?\.?\d[\d.,]*(?:\s|$)|inf\b|nan\b|[-*]+(?:\s|$))")  # of a row
ROW = 3  # numbers of a row that begins with words, from which on it belongs to a table
NEAR = 8  # lines above a number with words before it, of which one may name its unit
SIZE = re.compile(r"bytes$|^elements$|^N$")  # parameters that a row has of its own
LOGGED = re.compile(r"\d{3}")  # a warning with a number of a process or a node is no heading
COMMAS = 3  # of a line, from which on they separate values
SELDOM = 2  # times fewer lines than the most frequent place of a metric: the number is printed there by chance
CERTAIN = 5  # lines from which on a parameter that stands on all of them must stand there
BINARY = {1e3: 2.0**10, 1e6: 2.0**20, 1e9: 2.0**30, 1e12: 2.0**40}
PROVEN = ("HPL", "Intel Linpack", "mpptest", "nccl-tests")  # speed × time = work, rate × time = bytes
NETPERF = {"3": "K", "6": "M", "9": "G"}  # its "10^6bits/s"
KNOWN_UNITS = {unit for _, unit in UNITS.values()}

Key = tuple[str, str, str, str, str]  # tool, benchmark, metric, statistic, unit
Place = tuple[str, str, str]  # heading of the column, words before the number, word after it
Found = tuple[Place, float, int, int]  # the factor to the unit, the line, and the column from the right


@dataclass
class Known:
    """Where the undamaged outputs print the values of a key.

    `places` has for each place and factor the parameters that stand on all its lines, and the number of lines. `computed`: a
    value is printed nowhere, so nothing can be said.
    """

    places: dict[tuple[Place, float], tuple[set[str], int]] = field(default_factory=dict)
    computed: bool = False


@dataclass(frozen=True)
class Learned:
    """What the undamaged outputs print: the places of each key, and by tool the headings of columns."""

    known: Mapping[Key, Known]
    headings: Mapping[str, Set[str]]

    @property
    def names(self) -> Set[str]:
        """The headings of all tools."""
        return set[str]().union(*self.headings.values())


class Printed:
    """The numbers that a text prints, and where. Only `headings`, and names of units, are headings; None: all words are."""

    def __init__(self, data: bytes, headings: Set[str] | None = None) -> None:
        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        self.headings = headings
        self.lines = Text.of(data.decode(encoding, errors="replace")).lines
        self.numbers: dict[str, list[tuple[int, int, int]]] = {}
        for at, line in enumerate(self.lines):
            for found in (SEPARATED if line.count(",") >= COMMAS else NUMBER).finditer(line):
                if abs(number := float(found[0])) < float("inf"):
                    self.numbers.setdefault(f"{number:.12g}", []).append((at, *found.span()))
            for found in CLOCK.finditer(line):
                number = 60 * float(found[1]) + float(found[2])
                self.numbers.setdefault(f"{number:.12g}", []).append((at, *found.span()))

    def places(self, value: ForeignValue) -> Iterator[Found]:
        """Yields each place of the value's number, the factor to its unit, and the line."""
        for factor in _factors(value.unit):
            for at, begin, end in self.numbers.get(f"{value.value / factor:.12g}", ()):
                from_right = len(self.lines[at][begin:].split())
                yield self._place(at, begin, end, from_right), factor, at, from_right

    def _place(self, at: int, begin: int, end: int, from_right: int) -> Place:
        line = self.lines[at]
        before = " ".join(DIGITS.sub("#", QUOTED.sub("", line[:begin])).split())
        after = (DIGITS.sub("#", line[end:]).split() or [""])[0]
        labelled = before.strip("# \t-") and not NO_LABEL.match(line)
        heading = "" if labelled and len(NUMBER.findall(line)) < ROW else self.heading(at, from_right)
        return (heading, before[-30:], after[:12]) if labelled else (heading, "", "")

    def heading(self, at: int, from_right: int, wanted: Set[str] = frozenset()) -> str:
        """Returns the name of the column, counted from the right, in the nearest line of words above; "" if there is none.

        Other lines, such as a warning, may stand between, but no empty line. Of the `wanted` names also behind empty lines.
        """
        for line in reversed(self.lines[max(0, at - REACH) : at]):
            if not line.strip() and not wanted:
                break
            if WORD.search(line) and not NUMBERED.search(line) and not line.startswith("["):  # no message of a process
                names = re.split(r"\s{2,}|\t+", line.strip().lstrip("#").strip())
                name = names[-from_right] if from_right <= len(names) > 1 else ""
                known = name in wanted if wanted else self.headings is None or name in self.headings or _units(name, 2)
                if name and known:
                    return name
        return ""

    def prints(self, at: int, parameter: object) -> bool:
        """Whether the line has this number."""
        if isinstance(parameter, bool) or not isinstance(parameter, int | float):
            return False
        return abs(parameter) < 1e300 and any(x[0] == at for x in self.numbers.get(f"{float(parameter):.12g}", ()))

    def names_unit(self, at: int, place: Place, factor: float, unit: str) -> bool:
        """Whether the heading, the line or a near one names a unit of this factor; in XML and JSON it may stand anywhere.

        "MB" may mean MiB, and a unit that only the user of the tool knows has no factor.
        """
        if unit not in KNOWN_UNITS or (unit == "" and factor == 1):
            return True
        above = self.lines[max(0, at - NEAR) : at] if place[1] else ()
        texts = self.lines if re.search(r"[<>\"{]|^\s*\[[\s\d]", self.lines[at]) else (self.lines[at], place[0], *above)
        named = {found for text in texts for found in _units(text)}
        return any(
            unit in (si, si.replace("op/s", "1/s")) and factor in (given, BINARY.get(given)) for given, si in named
        )


def learn(files: Sequence[bytes]) -> Learned:
    """Returns where the undamaged outputs print their values."""
    readings = [(data, read(data, find_formats()).values) for data in files]
    known: dict[Key, Known] = {}
    headings: dict[str, set[str]] = {}
    for data, values in readings:
        for value, places in _usual(Printed(data), values):
            headings.setdefault(value.tool, set()).update(found[0][0] for found in places)
    titles = {tool: {name for name in names if name and not LOGGED.search(name)} for tool, names in headings.items()}
    learned = Learned(known, titles)
    for data, values in readings:
        printed = Printed(data, learned.names)
        for value, places in _usual(printed, values):
            for of in [known.setdefault(key, Known()) for key in _keys(value)]:
                of.computed |= not places
                for place in {(place, factor) for place, factor, *_ in places}:
                    lines = [at for heading, factor, at, _ in places if (heading, factor) == place]
                    sizes = {n: p for n, p in value.parameters.items() if SIZE.search(n)}
                    beside = {n for n, p in sizes.items() if any(printed.prints(at, p) for at in lines)}
                    before, count = of.places.get(place, (beside, 0))
                    of.places[place] = before & beside, count + 1
    return learned


def _usual(printed: Printed, values: Sequence[ForeignValue]) -> Iterator[tuple[ForeignValue, Sequence[Found]]]:
    """Yields the values with their places, without those where few values of the metric are printed: by chance, too."""
    places = [(value, list(printed.places(value))) for value in values]
    lines = Counter((value.metric, place, factor) for value, of in places for place, factor, *_ in of)
    for value, of in places:
        usual = max((lines[value.metric, place, factor] for place, factor, *_ in of), default=0)
        yield value, [found for found in of if found[0][1] or SELDOM * lines[value.metric, found[0], found[1]] >= usual]


def find_wrong(data: bytes, result: Reading, learned: Learned) -> list[str]:
    """Returns a sentence for each value that the file does not print under the same column and unit."""
    if not result.values:
        return []
    printed, wrong = Printed(data, learned.names), []
    for value in result.values:
        own = learned.headings.get(value.tool, frozenset())
        candidates = [learned.known[key] for key in _keys(value) if key in learned.known] or [Known()]
        if not any(
            of.computed or any(_is_known(printed, value, of, own, *place) for place in printed.places(value))
            for of in candidates
        ):
            found = sorted({(place, factor) for place, factor, *_ in printed.places(value)})
            wrong.append(f"{_keys(value)[0]} {value.value!r} {dict(value.parameters)} is printed as {found[:4]}")
    return wrong


def _keys(value: ForeignValue) -> tuple[Key, Key]:
    """The key of a value, and the one that counts if damage made a benchmark or a statistic that no undamaged output has."""
    exact = (value.tool, value.benchmark, value.metric, DIGITS.sub("#", value.statistic), value.unit)
    return exact, (value.tool, "", value.metric, "", value.unit)


def _is_known(
    printed: Printed,
    value: ForeignValue,
    of: Known,
    own: Set[str],
    place: Place,
    factor: float,
    at: int,
    from_right: int,
) -> bool:
    """Whether the value may stand there, with the parameters that stand beside it in the undamaged outputs."""
    others = (printed.headings or set()) - own
    if place[1] and place[0] not in own and (place[0] in others or all(si != value.unit for _, si in _units(place[0]))):
        place = ("", *place[1:])  # the heading of another tool, of another kind of values
    alike = [
        beside if lines >= CERTAIN else set()
        for (known, other), (beside, lines) in of.places.items()
        if other == factor and (known == place or _is_alike(place, known))
    ]
    if not alike and value.tool in PROVEN:
        return any(other == factor for _, other in of.places)
    if not alike:
        columns = frozenset(known[0] for known, other in of.places if other == factor and not known[1])
        # A column without a name, or an empty line below its heading.
        unnamed = not place[1] and ("" in columns or bool(columns and printed.heading(at, from_right, columns)))
        return unnamed or printed.names_unit(at, place, factor, value.unit)
    wanted = [[value.parameters[name] for name in beside if name in value.parameters] for beside in alike]
    return any(all(printed.prints(at, parameter) for parameter in parameters) for parameters in wanted)


def _is_alike(place: Place, known: Place) -> bool:
    """Whether damage may have made a place from a known one: a heading is missing, or words before the number are damaged."""
    if not place[1] or not known[1]:
        return place[0] == known[0] != ""
    words = _trigrams(place[1]) & _trigrams(known[1])
    same = bool(words) and WORD.findall(place[2]) == WORD.findall(known[2])
    fits = place[1] == known[1] or same or place[0] == known[0] != ""
    contradicts = bool(_units(place[2], 2)) and _units(place[2], 2) != _units(known[2], 2)
    return fits and not contradicts and (known[0] == "" or place[0] in ("", known[0]))


def _trigrams(text: str) -> set[str]:
    words = re.findall(r"[^\W\d_]{2,}", text)
    return {word[at : at + 3] for word in words for at in range(max(1, len(word) - 2))}


@cache
def _factors(unit: str) -> tuple[float, ...]:
    return tuple({factor for factor, si in UNITS.values() if si == unit}) or (1.0,)


@cache
def _units(text: str, shortest: int = 1) -> list[tuple[float, str]]:
    """Returns factor and SI unit of all units that the text names by at least so many letters."""
    text = re.sub(r"10\^(\d)bits", lambda m: NETPERF.get(m[1], "") + "bit", text)
    words = re.findall(r"[A-Za-z%µ]+(?:/[A-Za-z]+)?", text)
    named = [UNITS[known] for word in words if len(word) >= shortest and (known := spell(word)) is not None]
    return named + [(1.0, "1/s")] * bool(re.search(r"/s\b|/sec\b|per sec", text))
