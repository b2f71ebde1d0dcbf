"""The experiment of a value, as far as the file does not state it: its folders and its name can.

Two files repeat the same measurement only if nothing but a date, a counter or the number of a job differs in their names. Any
other part that differs is a parameter of their values, or the system that was measured.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from steelyard.importing.collecting import ReadFile
from steelyard.importing.counted_names import differ_throughout, find_campaigns
from steelyard.importing.different_words import align_facts
from steelyard.importing.file_places import (
    Kind,
    Place,
    align_results,
    are_certain_systems,
    are_conditions,
    count_shared,
    describe,
    drop_unlikely_counts,
    find_system_level,
    list_further_facts,
    mark_systems,
    name_systems,
)
from steelyard.importing.launches import list_settings, read_launch, shorten
from steelyard.importing.layout import Layout
from steelyard.importing.name_facts import (
    BESIDE,
    COUNTS,
    SETTING,
    UNTYPED,
    Fact,
    are_jobs,
    counts_repetitions,
    is_neutral,
)  # fmt: skip
from steelyard.importing.parts import FILE, FOLDER, NamedPart, Part, Stated, choose_parts
from steelyard.measure.machine.hostlist import short_name
from steelyard.model import Parameters, Scalar

REPETITION = "repetition"
ALL: Kind = ("", "")
IGNORED = (*BESIDE, REPETITION)
NODES, SYSTEM = "nodes", "system"


@dataclass(slots=True, kw_only=True)
class Identity:
    """The facts in the names of a file and its folders: system, host, date ("" if unknown), parameters by benchmark and tool.

    Those of the key `ALL` belong to all values.
    """

    system: str = ""
    host: str = ""
    date: str = ""
    parameters: dict[Kind, dict[str, Scalar]] = field(default_factory=lambda: defaultdict(dict))


def identify(
    files: Sequence[ReadFile], hosts: Collection[str] = (), layout: Layout | None = None
) -> tuple[list[Identity], list[Part]]:
    """Returns the identity of each file, and the parts of their names that differ with their meaning.

    `hosts` are names of hosts that a folder may have. `layout` says what the names mean that it matches; the others are guessed.
    """
    stated = [layout.read(file.name) if layout else None for file in files]
    guessed, parts = _guess([file for file, found in zip(files, stated, strict=True) if found is None], hosts)
    rest = iter(guessed)
    return [
        next(rest)
        if found is None
        else Identity(
            system=found.system or file.reading.system,
            host=found.host,
            date=found.date,
            parameters={ALL: found.parameters},
        )
        for found, file in zip(stated, files, strict=True)
    ], parts


def _guess(files: Sequence[ReadFile], hosts: Collection[str]) -> tuple[list[Identity], list[Part]]:
    places = align_results(drop_unlikely_counts(mark_systems([describe(file, hosts) for file in files])))
    level = find_system_level(places)
    named = name_systems(places, level)
    identities = [
        Identity(system=name or place.file.reading.system, host=place.host, date=place.date)
        for name, place in zip(named, places, strict=True)
    ]
    systems: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, (identity, file) in enumerate(zip(identities, files, strict=True)):
        host = short_name(file.reading.host) or identity.host
        systems[identity.system, "" if identity.system else re.sub(r"\d+", "#", host)].append(at)
    parts: dict[tuple[int | None, str], dict[Scalar, None]] = defaultdict(dict)
    if names := [*dict.fromkeys(filter(None, named))]:
        parts[level, FOLDER if are_conditions(names) else SYSTEM].update(dict.fromkeys(names))
    guessed = level is not None and not are_certain_systems(places, level)
    stating: list[NamedPart] = []
    for members in systems.values():
        for kind, together in _list_kinds(places, members).items():
            for alike in _divide_campaigns(places, together, kind, stating):
                own = [places[at] for at in alike]
                named_here = [identities[at].system for at in alike]
                facts = [list_further_facts(place, level, name) for place, name in zip(own, named_here, strict=True)]
                stating += _tell_apart(
                    own, _add_endings(own, _add_numbering(own, _add_depths(own, facts))), kind, alike
                )
    chosen = choose_parts(stating)
    lacking: set[tuple[int | None, str]] = set()
    for one in sorted(chosen, key=lambda one: len(files) if one.part.folder is None else one.part.folder):
        parts[one.part.folder, one.part.meaning].update(dict.fromkeys(one.part.values))
        if None in one.values:
            lacking.add((one.part.folder, one.part.meaning))
        for at, value in zip(one.files, one.values, strict=True):
            if value is not None and one.part.meaning not in IGNORED:
                _add(identities[at].parameters[one.kind], one.part, value)
    return identities, [
        Part(*place, tuple(values), guessed and place == (level, SYSTEM))
        for place, values in parts.items()
        if len(values) > 1 or (values and (place in lacking or place[1] not in COUNTS))
    ]


def _divide_campaigns(
    places: Sequence[Place], files: Sequence[int], kind: Kind, stating: list[NamedPart]
) -> Iterable[Sequence[int]]:
    """Returns the files of each campaign, such as run3, of which each has repetitions. Adds its name to the parts."""
    found = find_campaigns([places[at] for at in files], kind)
    if not found:
        return [files]
    folder, names = found
    part = Part.of(folder, FOLDER, names)
    stating.append(NamedPart(files=files, kind=kind, part=part, values=names, stated=[{} for _ in files], certain=True))
    divided: dict[str | None, list[int]] = defaultdict(list)
    for at, name in zip(files, names, strict=True):
        divided[name].append(at)
    return divided.values()


def _add_endings(
    places: Sequence[Place], facts: Sequence[Sequence[Sequence[Fact]]]
) -> Sequence[Sequence[Sequence[Fact]]]:
    """Returns the facts with the endings of names that have no other difference: x.out and x.log are of one run."""
    times = Counter(tuple(place.names) for place in places)
    if max(times.values(), default=1) == 1:
        return facts
    return [
        [*levels[:-1], [*levels[-1], Fact("ending", place.ending)]] for place, levels in zip(places, facts, strict=True)
    ]


def _add_depths(
    places: Sequence[Place], facts: Sequence[Sequence[Sequence[Fact]]]
) -> Sequence[Sequence[Sequence[Fact]]]:
    """Returns the facts with the number of folders where names differ in it only: x.out and results/x.out may be two runs."""
    depths = [sum(map(bool, place.names)) - 1 for place in places]
    alike: dict[object, set[int]] = defaultdict(set)
    kept = [
        tuple(f for f in chain(*levels) if f.meaning not in (*BESIDE, "number") and not is_neutral(str(f.value)))
        for levels in facts
    ]
    for key, depth in zip(kept, depths, strict=True):
        alike[key].add(depth)
    return [
        [*levels[:-1], [*levels[-1], Fact("folder_depth", depth)]] if len(alike[key]) > 1 else levels
        for levels, key, depth in zip(facts, kept, depths, strict=True)
    ]


def _add_numbering(
    places: Sequence[Place], facts: Sequence[Sequence[Sequence[Fact]]]
) -> Sequence[Sequence[Sequence[Fact]]]:
    """Returns the facts with what counts the files: x_1 to x_9 are one series, and x_20240531, which has a date only, another."""
    series: dict[object, dict[str, dict[str, list[int]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for at, (place, levels) in enumerate(zip(places, facts, strict=True)):
        counts = [fact for fact in levels[-1] if fact.meaning in ("date", "job", "number")]
        if len(counts) == 1 and counts[0].meaning != "job":
            rest = (fact for fact in levels[-1] if fact != counts[0])
            series[*place.names[:-1], *rest][counts[0].meaning][str(counts[0].value)].append(at)
    added = [*facts]
    for numbered, dated in ((found["number"], found["date"]) for found in series.values() if len(found) > 1):
        if counts_repetitions([*numbered]) and not are_jobs([*numbered]):
            for name, files in (("counter", numbered), ("date", dated)):
                for at in chain(*files.values()):
                    added[at] = [*facts[at][:-1], [*facts[at][-1], Fact("numbering", name)]]
    return added


def _add(parameters: dict[str, Scalar], part: Part, value: Scalar) -> None:
    """Adds a parameter. Two texts of one meaning become one; of two numbers the inner one counts, and the other is a text."""
    known = parameters.get(part.meaning)
    if known is None or known == value:
        parameters[part.meaning] = value
    elif part.meaning in (FILE, FOLDER) or (isinstance(known, str) and isinstance(value, str)):
        long, short = sorted((str(known), str(value)), key=len, reverse=True)
        named = part.meaning not in (FILE, FOLDER) and long.casefold().startswith(short.casefold())
        parameters[part.meaning] = long if named else f"{known}-{value}"
    else:
        _add(parameters, Part(part.folder, FOLDER, ()), f"{known}-{part.meaning}")
        parameters[part.meaning] = value


# --------------------------------------------------------------------------- parameters


def _list_kinds(places: Sequence[Place], members: Sequence[int]) -> dict[Kind, list[int]]:
    """Returns the files that have values of each benchmark and tool."""
    found: dict[Kind, list[int]] = defaultdict(list)
    for at in members:
        for kind in places[at].cases:
            found[kind].append(at)
    return found


def _has_repetitions(places: Sequence[Place], kind: Kind) -> bool:
    """Returns whether several files have the same case."""
    cases = [place.cases[kind] for place in places]
    return sum(map(len, cases)) > len(frozenset[int]().union(*cases))


def _tell_apart(
    places: Sequence[Place], facts: Sequence[Sequence[Sequence[Fact]]], kind: Kind, files: Sequence[int]
) -> Iterator[NamedPart]:
    """Yields what differs in the commands of the files, and what each part of their names says.

    The parts are certain that differ, if several files have the same case. Numbers of nodes, ranks and cores always are:
    full nodes are compared by them. `facts` are those of each file's folders and name; `files` are the numbers of the files.
    """
    stated = [_list_stated(place, kind) for place in places]

    def name(part: Part, values: Sequence[Scalar | None], *, certain: bool = True) -> NamedPart:
        return NamedPart(files=files, kind=kind, part=part, values=values, stated=stated, certain=certain)

    commanded = []
    for part, values in _compare_commands(places):
        if not any(part.meaning in parameters for parameters in stated):
            commanded.append(name(part, values))
            stated = [{part.meaning: value, **of} for of, value in zip(stated, values, strict=True)]
    yield from commanded
    repeated = _has_repetitions(places, kind)
    counting = (
        at for at in range(min(map(len, facts)) - 1) if counts_repetitions([*{place.names[at] for place in places}])
    )
    depths = (*counting, -1) if repeated else ()
    for at in (at for at in depths if differ_throughout(places, kind, at)):
        facts = [[*levels[:at], _name_setting(levels[at]), *(levels[at + 1 :] if at >= 0 else ())] for levels in facts]
    for folder, rows in _list_levels(places, facts):
        for part, values, differs in _read_level(folder, rows, stated, repeated=repeated):
            certain = part.meaning in COUNTS or (repeated and differs)
            if certain or part.meaning not in IGNORED:
                yield name(part, values, certain=certain)


def _read_level(
    folder: int | None, rows: Sequence[Sequence[Fact]], stated: Sequence[Stated], *, repeated: bool
) -> Iterator[tuple[Part, list[Scalar | None], bool]]:
    """Yields what the names of a folder say that the files do not state, and whether it differs; at last all their words."""
    word = ""
    for column in align_facts(rows):
        meanings = {fact.meaning for fact in column if fact}
        same = len({*column}) == 1
        if same and meanings <= {"word"}:
            word = str(column[0].value) if column[0] else word
            continue
        part, values = _read_column(column, folder, "" if meanings == {NODES} else word)
        if meanings == {NODES}:
            yield part, values, False
            continue
        word = word if same else ""
        if _contradicts(values, part.meaning, stated):
            texts = [None if value is None else f"{value}-{part.meaning}" for value in values]
            part, values = Part.of(folder, FILE if folder is None else FOLDER, texts), [*texts]
        if part.meaning in (FILE, FOLDER) and same:
            continue
        if part.meaning in IGNORED or not _repeats(values, part.meaning, stated):
            yield part, values, not same
    words = [[str(fact.value) for fact in row if fact.meaning in UNTYPED] for row in rows]
    # Words that differ between files with the same case, and are no part, count repetitions.
    common = set(words[0]).intersection(*words) if repeated else set[str]().union(*words)
    texts = ["-".join(word for word in row if word in common) for row in words]
    yield Part.of(folder, FILE if folder is None else FOLDER, texts), [*texts], False


def _name_setting(facts: Sequence[Fact]) -> list[Fact]:
    """Returns the facts of a name, of which the last number is a setting."""
    return [*facts[:-1], *(Fact(SETTING, int(x.value)) if x.meaning == "number" else x for x in facts[-1:])]


def _list_levels(
    places: Sequence[Place], facts: Sequence[Sequence[Sequence[Fact]]]
) -> Iterator[tuple[int | None, list[Sequence[Fact]]]]:
    """Yields each folder (None: the file) with the facts of all files. Folders of different depths are read as one."""
    depths = {len(levels) for levels in facts}
    if len(depths) == 1:
        for at in range(min(depths) - 1):
            yield at, [levels[at] for levels in facts]
    else:
        yield count_shared(places), [[fact for level in levels[:-1] for fact in level] for levels in facts]
    yield None, [levels[-1] for levels in facts]


def _compare_commands(places: Sequence[Place]) -> Iterator[tuple[Part, list[Scalar | None]]]:
    """Yields what differs between the commands of the files. Of several commands in a file it is what they have in common."""
    commands = [place.file.reading.commands for place in places]
    if not all(commands):
        return
    launched = [
        dict(frozenset.intersection(*(frozenset(read_launch(line).items()) for line in own))) for own in commands
    ]
    settings = [frozenset.intersection(*map(list_settings, own)) for own in commands]
    common = settings[0].intersection(*settings)
    for launch, words in zip(launched, settings, strict=True):
        if rest := sorted(words - common):
            launch["settings"] = shorten(" ".join(rest))
    for meaning in sorted({name for launch in launched for name in launch}):
        values = [launch.get(meaning) for launch in launched]
        if len({*values}) > 1:
            yield Part.of(None, meaning, values), values


def _read_column(column: Sequence[Fact | None], folder: int | None, word: str) -> tuple[Part, list[Scalar | None]]:
    """Returns the part and its values. `word` stands before the numbers."""
    values = [fact.value if fact else None for fact in column]
    meanings = {fact.meaning for fact in column if fact}
    different = tuple(dict.fromkeys(value for value in values if value is not None))
    if not meanings & {*UNTYPED}:
        return Part(folder, min(meanings), different), values
    jobs = {value for value in different if str(value).isdigit()}
    if 1 < len(jobs) < len(different) and are_jobs([*map(str, jobs)]):  # beside names with words
        values = [None if value in jobs else value for value in values]
        different = tuple(value for value in different if value not in jobs)
    texts = [str(value) for value in different]
    neutral = all(map(is_neutral, texts))
    if (
        neutral
        or are_jobs(texts)
        or (len(texts) > 1 and counts_repetitions([word + text if text.isdigit() else text for text in texts]))
    ):
        return Part(folder, REPETITION, different), values
    if all(text.isdigit() and len(text) < 19 for text in texts):
        name = word.casefold() if len(word) > 1 or (word in "nNpPkL" and word) else FILE if folder is None else FOLDER
        return Part(folder, name, tuple(map(int, texts))), [None if v is None else int(v) for v in values]
    return Part(folder, FILE if folder is None else FOLDER, different), values


def _list_stated(place: Place, kind: Kind) -> Stated:
    """Returns the parameters that all values of a benchmark in a file have in common."""
    rows: Iterable[Parameters] = (v.parameters for v in place.values[kind])
    first, *others = rows
    return {name: value for name, value in first.items() if all(row.get(name) == value for row in others)}


def _contradicts(values: Sequence[Scalar | None], meaning: str, stated: Sequence[Stated]) -> bool:
    """Returns whether names say different things of files that state the same, such as 512 ranks of a job with 128."""
    pairs = {
        (str(of[meaning]), str(of[meaning] if v is None else v))
        for v, of in zip(values, stated, strict=True)
        if meaning in of
    }
    return len({own for own, _ in pairs}) < len(pairs)


def _repeats(values: Sequence[Scalar | None], meaning: str, stated: Sequence[Stated]) -> bool:
    """Returns whether the files themselves state what the part of their names says."""
    if all(meaning in parameters for parameters in stated):
        return meaning not in (FILE, FOLDER)
    if meaning in COUNTS:
        return False  # two nodes are not the two threads that a file states
    pairs = [(value, parameters) for value, parameters in zip(values, stated, strict=True) if value is not None]
    return bool(pairs) and all(value in parameters.values() for value, parameters in pairs)
