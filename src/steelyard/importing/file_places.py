"""The places of files in an archive: facts of their folders and names, and which folder names the system that was measured."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from steelyard.importing.collecting import ReadFile
from steelyard.importing.dates import read_date_of_name
from steelyard.importing.name_facts import (
    CONDITIONS,
    FEWEST,
    MONTH,
    NEUTRAL,
    SETTING,
    SIZED,
    UNITS,
    UNTYPED,
    Fact,
    are_likely_counts,
    counts_repetitions,
    list_known_systems,
    read_facts,
)
from steelyard.measure.machine.hostlist import short_name
from steelyard.model import ForeignValue

SHARE, MANY = 10, 100  # one file of so many has a count with a letter at least, in a folder of many files
DEEPEST = 64  # folders of a file that are looked at
_ENDING = re.compile(
    r"\.(?:out|log|txt|dat|csv|json|md|xml|yaml|yml|html|gz|bz2|xz|zip|tgz|tar|o|e)(?=(?:\.\d{1,3})?$)", re.IGNORECASE
)
_YEAR = r"(?:19|20)\d\d"
_DATED = re.compile(
    rf"{_YEAR}/(?:0?[1-9]|1[0-2]|{MONTH})(?:/(?:0?[1-9]|[12]\d|3[01]))?(?=/|$)|{_YEAR}[-_.]?(?:0[1-9]|1[0-2])(?=/|$)",
    re.IGNORECASE,
)
_HINTS = ("system", "machine", "cluster", "platform", "host", "site", "arch")
_RESULTS = re.compile(r"(?:results?|outputs?)(?![a-z])", re.IGNORECASE)  # a folder with one folder for each system
_GENERAL = {  # words that name no system
    *NEUTRAL, *UNITS, "benchmark", "bench", "test", "experiment", "data", "raw", "cache", "latency", "bandwidth", "throughput",
    "performance", "perf", "speed", "time", "power", "energy",
}  # fmt: skip
Kind = tuple[str, str]  # a benchmark, and the tool that measured it


@dataclass(frozen=True, slots=True)
class Place:
    """A file with the facts of its folders and of its name, and the values and cases of each benchmark and tool."""

    file: ReadFile
    levels: Sequence[Sequence[Fact]]  # the last one is the name
    names: Sequence[str]
    values: Mapping[Kind, Sequence[ForeignValue]]
    cases: Mapping[Kind, frozenset[int]]

    @property
    def ending(self) -> str:
        """What stands behind the name without its ending, such as "out"; "none" if nothing does."""
        return self.file.name.rpartition("/")[2].partition(self.names[-1])[2].strip(".") or "none"

    @property
    def host(self) -> str:
        """The host that folders and name state; "" if none or several do."""
        hosts = self._list_stated("host")
        return hosts.pop() if len(hosts) == 1 else ""

    @property
    def date(self) -> str:
        """The date that folders and name state; "" if none is certain or several do."""
        certain = {date for date in self._list_stated("date") if re.match(r"\d{4}-\d\d-\d\d", date)}
        return max(certain, key=len) if len({date[:10] for date in certain}) == 1 else ""

    def _list_stated(self, meaning: str) -> set[str]:
        return {str(fact.value) for level in self.levels for fact in level if fact.meaning == meaning}


def _split_name(name: str) -> list[str]:
    """Returns the innermost folders, and the name without its ending."""
    *folders, last = [part for part in name.split("/") if part not in ("", ".")] or [""]
    while (shorter := _ENDING.sub("", last)) != last:
        last = shorter
    return [*folders[-DEEPEST:], last]


def count_shared(places: Sequence[Place]) -> int:
    """Returns the number of outer folders that all files have in common."""
    folders = [place.names[:-1] for place in places]
    return next(
        (at for at, names in enumerate(zip(*folders, strict=False)) if len({*names}) > 1),
        min(map(len, folders), default=0),
    )


def describe(file: ReadFile, hosts: Collection[str] = ()) -> Place:
    """Returns the place of a file. `hosts` are names of hosts that a folder may have."""
    names = _split_name(file.name)
    values: dict[Kind, list[ForeignValue]] = defaultdict(list)
    for value in file.reading.values:
        values[value.benchmark, value.tool].append(value)
    cases = {kind: frozenset(hash(value.case) for value in found) for kind, found in values.items()}
    levels = [[Fact("host", name)] if name in hosts else read_facts(name) for name in names]
    for at, (first, *rest) in ((at, names[at:-1]) for at in range(len(names) - 1)):
        if dated := _DATED.match("/".join([first, *rest])):  # 2024/05/31 or 2024-05
            depth = dated[0].count("/")
            levels[at : at + depth] = [[] for _ in range(depth)]
            levels[at + depth] = [Fact("date", read_date_of_name(day := dated[0].replace("/", "-")) or day)]
    for at in range(len(names) - 2):
        if names[at + 1] == "work" and re.fullmatch(r"\d{6}_\w+", names[at]):  # JUBE counts its sets of parameters
            levels[at] = [Fact(SETTING, int(names[at][:6])), Fact("word", names[at][7:])]
    return Place(file, levels, names, values, cases)


def drop_unlikely_counts(places: Sequence[Place]) -> list[Place]:
    """Returns the places in which numbers with one letter are words if all of a meaning are unlikely counts, as in "443N".

    So are numbers of cores, as in "system-4c", if a file states that more ranks ran on them, numbers from 0 on, and numbers
    with a letter that few of many files in a folder have, as names by chance do.
    """
    numbers: dict[str, list[int]] = defaultdict(list)
    for fact in (fact for place in places for level in place.levels for fact in level if fact.lettered):
        numbers[fact.meaning].append(int(fact.value))
    facts = {fact for place in places for level in place.levels for fact in level}
    indexes = {fact.meaning for fact in facts if fact.text and fact.value == 0}
    unlikely = {meaning for meaning, found in numbers.items() if not are_likely_counts(found)}
    unlikely |= {"cores"} if any(map(_has_more_ranks, places)) else set()

    def read(fact: Fact, rare: Collection[str]) -> Fact:
        is_word = fact.text and (fact.meaning in indexes or (fact.lettered and fact.meaning in {*unlikely, *rare}))
        return Fact("word", fact.text) if is_word else fact

    rare = _find_rare_letters(places)
    return [
        replace(place, levels=[[read(fact, rare[(*place.names[:-1],)]) for fact in level] for level in place.levels])
        for place in places
    ]


def _find_rare_letters(places: Sequence[Place]) -> Mapping[tuple[str, ...], Collection[str]]:
    """Returns for each folder the meanings that numbers with a letter have in less than a tenth of its many files."""
    files: Counter[tuple[str, ...]] = Counter((*place.names[:-1],) for place in places)
    found: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for place in places:
        found[(*place.names[:-1],)].update(fact.meaning for fact in place.levels[-1] if fact.lettered)
    return {
        folder: [meaning for meaning, n in found[folder].items() if n * SHARE < times >= MANY]
        for folder, times in files.items()
    }


def _has_more_ranks(place: Place) -> bool:
    """Returns whether a value has more ranks than all nodes together have cores by a number with a letter in the names."""
    facts = [fact for level in place.levels for fact in level]
    cores = [int(fact.value) for fact in facts if fact.lettered and fact.meaning == "cores"]
    nodes = [int(fact.value) for fact in facts if fact.meaning == "nodes"]
    stated = (value.parameters.get("ranks") for found in place.values.values() for value in found) if cores else ()
    return any(isinstance(ranks, int) and ranks > min(cores) * max(nodes, default=1) for ranks in stated)


def align_results(places: Sequence[Place]) -> list[Place]:
    """Returns the places with the folders below "results" on one level, also where they lie at different depths."""
    found = [next((at for at, name in enumerate(p.names[:-1]) if _RESULTS.match(name)), None) for p in places]
    depths = {at for at in found if at is not None}
    if len(depths) < 2 or 2 * found.count(None) > len(found):
        return [*places]
    deepest, shared = max(depths), count_shared(places)
    return [
        place
        if at is None or at < shared
        else replace(
            place,
            levels=[*place.levels[:at], *[()] * (deepest - at), *place.levels[at:]],
            names=[*place.names[:at], *[""] * (deepest - at), *place.names[at:]],
        )
        for place, at in zip(places, found, strict=True)
    ]


# --------------------------------------------------------------------------- systems


def mark_systems(places: Sequence[Place]) -> list[Place]:
    """Returns the places in which a word is a system if names are built alike with well-known systems in its place.

    So "skl" is one in "x-skl_gcc-9.3" beside "x-rome_gcc-9.3", "x-a100_gcc-9.3" and "x-tx2_gcc-9.3".
    """
    named = [bool(_join_known(fact for level in place.levels for fact in level)) for place in places]
    tokens = [[word.lower() for word in re.findall(r"[^\W_]+", place.names[-1])] for place in places]
    known, others = defaultdict[tuple[str, ...], set[str]](set), defaultdict[tuple[str, ...], set[str]](set)
    for words in tokens:
        for at, word in enumerate(words):
            (known if word in list_known_systems() else others)[(*words[:at],)].add(word)

    def find(words: Sequence[str]) -> str:
        for at in reversed(range(len(words))):
            before, word = (*words[:at],), words[at]
            if len(known[before]) >= max(FEWEST, len(others[before])) and not known[(*words[: at + 1],)]:
                return word if _may_be_system(word) else ""
        return ""

    return [
        place
        if has_system or not (system := find(words))
        else replace(place, levels=[*place.levels[:-1], read_facts(place.names[-1], frozenset({system}))])
        for place, has_system, words in zip(places, named, tokens, strict=True)
    ]


def _may_be_system(word: str) -> bool:
    """Returns whether a word begins with a letter and has no other meaning."""
    plain = not {word, word.rstrip("0123456789")} & {*CONDITIONS, *SIZED} and word.removesuffix("s") not in _GENERAL
    return plain and word[0].isalpha() and len(word) > 1 and {fact.meaning for fact in read_facts(word)} <= {*UNTYPED}


def find_system_level(places: Sequence[Place]) -> int | None:
    """Returns the index of the folder that names the system; None if no folder does.

    It is the one with most names of known systems. Otherwise it is one that differs between files of the same case and holds
    words only, and of these the one whose names lie beside most benchmarks: systems recur below each application.
    """
    depth, shared = max((len(place.levels) for place in places), default=1) - 1, count_shared(places)
    known = Counter(
        at
        for place in places
        for at, facts in enumerate(place.levels[:-1])
        if at >= shared - 1 and any(fact.meaning == "system" for fact in facts)
    )
    if known and max(known.values()) * 2 > len(places):
        most = {at: times for at, times in known.items() if at >= shared and 2 * times > len(places)} or known
        return max(most, key=lambda at: (most[at], -at))  # the name of a whole archive says less
    candidates = [at for at in range(shared, depth) if _names_systems(places, at)]
    level = max(candidates, key=lambda at: (*_rate_level(places, at), -at), default=None)
    shapes = {re.sub(r"\d+", "#", _label(place, level)) for place in places} if level is not None else set()
    above = [at for at in range(depth) if all(_is_known(place, at) for place in places)]
    return above[-1] if above and len(shapes) == 1 else level  # submission-1 and submission-2 are of a known system


def are_certain_systems(places: Sequence[Place], level: int) -> bool:
    """Returns whether the folders of this level are well-known systems, say what they are, or hold files of different hosts."""
    hosts: dict[str, set[str]] = defaultdict(set)
    for place in places:
        if label := _label(place, level):
            hosts[label].add(re.sub(r"\d+", "#", short_name(place.file.reading.host)))
    if any(_is_known(place, level) for place in places) or all(map(_is_hinted, hosts)):
        return True
    return all("" not in own for own in hosts.values()) and len(set[str]().union(*hosts.values())) >= len(hosts) > 1


def _is_hinted(name: str) -> bool:
    return any(hint in name.casefold() for hint in _HINTS)


def _rate_level(places: Sequence[Place], at: int) -> tuple[bool, bool, bool, float]:
    """Returns how likely the folders of this level are systems: by words, by known ones, by conditions, by benchmarks below."""
    names = {label for place in places if (label := _label(place, at))}
    hinted = sum(map(_is_hinted, names))
    known = any(_is_known(place, at) for place in places)
    return 2 * hinted > len(names), known, not are_conditions(names), _count_crossings(places, at)


def _names_systems(places: Sequence[Place], at: int) -> bool:
    """Returns whether the folders of this level differ in words, hold the same cases, and can be systems."""
    names: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        names[_label(place, at)].append(place)
    names.pop("", None)
    if len(names) < 2 or counts_repetitions([*names]) or not all(re.search(r"[^\W\d_x]", name) for name in names):
        return False
    if all(re.match(r"\d+(?:\.\d+)?[^\W\d_]{1,3}$", name) for name in names):  # 4KB and 64KB, 250W and 300W
        return False
    skeletons = {re.sub(r"[\d_-]+", "", name.casefold()) for name in names}
    if skeletons <= SIZED or (len(skeletons) == 1 and not any(hint in name for hint in _HINTS for name in skeletons)):
        return False
    named = sum(bool(name_system(place, at)) for place in places)
    if 2 * named < len(places) or _are_applications(names) or _are_named_otherwise(names):
        return False
    seen: set[int] = set()
    for members in names.values():
        cases = {case for place in members for found in place.cases.values() for case in found}
        if seen & cases:
            return True
        seen |= cases
    return False


def _are_applications(names: Mapping[str, Sequence[Place]]) -> bool:
    """Returns whether a name is that of a tool below it, or most names have one tool only and these tools differ."""
    tools = {name: {tool for place in members for _, tool in place.cases} for name, members in names.items()}
    if any(_is_tool(name, found) for name, found in tools.items()):
        return True
    single = [found for found in tools.values() if len(found) == 1]
    return 2 * len(single) > len(names) and len(set[str]().union(*single)) > 1


def _is_tool(name: str, tools: Iterable[str]) -> bool:
    words = {word.casefold() for word in re.findall(r"[^\W_]+", name)}
    words = {word for word in words if word.removesuffix("s") not in _GENERAL}
    return bool(words) and any(words <= {*re.findall(r"[^\W_]+", tool.casefold())} for tool in tools)


def _are_named_otherwise(names: Mapping[str, Sequence[Place]]) -> bool:
    """Returns whether the files' own names state other systems: several ones in a folder, or one that few folders name."""
    known = {label: {_join_known(place.levels[-1]) for place in members} - {""} for label, members in names.items()}
    several = sum(len(systems) > 1 for systems in known.values())
    others = sum(any(system.casefold() not in label.casefold() for system in own) for label, own in known.items())
    return 2 * several > len(names) or (several > 0 and 2 * others > len(names))


def _label(place: Place, at: int) -> str:
    """Returns what a folder's name says of a system: known ones, else its words; "" if there are only settings or dates."""
    if len(place.levels) <= at + 1:
        return ""
    facts = place.levels[at]
    if known := _join_known(facts):
        return known
    words = [str(fact.value) for fact in facts if fact.meaning in UNTYPED]
    if all(word.isdigit() or word.casefold().removesuffix("s") in _GENERAL for word in words):
        return ""
    named = [word for word in words if word.casefold().removesuffix("s") not in NEUTRAL]
    return place.names[at] if len(named) == len(facts) else "_".join(named)


def _is_known(place: Place, at: int) -> bool:
    """Returns whether the folder of this level names a known system."""
    return len(place.levels) > at + 1 and bool(_join_known(place.levels[at]))


def _join_known(facts: Iterable[Fact]) -> str:
    return "-".join(str(fact.value) for fact in facts if fact.meaning == "system")


def are_conditions(names: Collection[str]) -> bool:
    """Returns whether half of the names have a word such as "tcp" or "nosmt", which few systems have."""
    return 2 * sum(map(_has_condition, names)) >= len(names)


def _has_condition(name: str) -> bool:
    words = {word.casefold() for word in re.findall(r"[^\W\d_]+", name)}
    return any(word in CONDITIONS or re.sub("^(?:no|with|without)", "", word) in CONDITIONS for word in words)


def _count_crossings(places: Sequence[Place], at: int) -> float:
    """Returns the mean number of benchmarks below each name of this level."""
    below: dict[str, set[Kind]] = defaultdict(set)
    for place in places:
        if label := _label(place, at):
            below[label].update(place.cases)
    return sum(map(len, below.values())) / len(below)


def name_systems(places: Sequence[Place], level: int | None) -> list[str]:
    """Returns the system of each place; "" without any.

    Where folders have different depths, one folder level may name a service and, elsewhere, its machines: the machines count.
    """
    named = [name_system(place, level) for place in places]
    if level is None or len({len(place.names) for place in places}) == 1:
        return named
    names, inner = {*named}, [[_join_known(row) for row in place.levels[level + 1 : -1]] for place in places]
    return [next((name for name in reversed(own) if name and name in names), named[at]) for at, own in enumerate(inner)]


def name_system(place: Place, level: int | None) -> str:
    """Returns the system: the folder of this level, else a well-known one in the name of the file or of a folder, else ""."""
    label = "" if level is None else _label(place, level)
    return label or next(filter(None, map(_join_known, reversed(place.levels))), "")


def list_further_facts(place: Place, level: int | None, system: str) -> list[Sequence[Fact]]:
    """Returns the facts of each folder and of the name without those that name the system.

    The name of another well-known system is a word. So "summit" in a folder of the system "ornl" becomes a parameter.
    """
    parts = re.findall(r"[^\W_]+", system)
    other = [[f for f in row if f.meaning != "system" or str(f.value) not in parts] for row in place.levels]
    facts = [[Fact("word", f.value) if f.meaning == "system" else f for f in row] for row in other]
    if level is not None and system and system == _label(place, level) and not _join_known(place.levels[level]):
        words = re.findall(r"[^\W\d_]+|\d+", system)
        named = [*facts[level]]
        facts[level] = [fact for fact in named if fact.meaning not in UNTYPED or str(fact.value) not in words]
        facts = [row if at == level else _remove_sequence(row, named) for at, row in enumerate(facts)]
    return [*facts]


def _remove_sequence(facts: list[Fact], named: Sequence[Fact]) -> list[Fact]:
    """Returns the facts without the words that repeat a whole other name, as names of tests repeat that of the system."""
    begins = (at for at in range(len(facts) - len(named) + 1) if facts[at : at + len(named)] == named)
    begin = next(begins, len(facts))
    end = begin + len(named)
    return [fact for at, fact in enumerate(facts) if not begin <= at < end or fact.meaning not in UNTYPED]
