"""Reads all files that a user names, each content once, with limits of time and of values."""

import hashlib
import re
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.errors import SteelyardError, UsageError, nearest
from steelyard.importing.format import Format
from steelyard.importing.layout import Layout
from steelyard.importing.readers import Answer, Ask, open_readers
from steelyard.importing.reading import Reading, find_formats
from steelyard.importing.sources import Source, read_source
from steelyard.importing.streams import Content, Equal, Unread
from steelyard.measure import records
from steelyard.model import ForeignValue
from steelyard.model.words import plural
from steelyard.system import signals
from steelyard.system.files import is_folder

SOON = 1.0  # seconds after which the time left is known well enough
# Seconds of a processor for a file: at least, for each MB, and that each file adds to what all others may use together. Ordinary
# files need 0.2 to 2 s for each MB.
LEAST, EACH_MB, EACH_FILE = 10.0, 10.0, 0.1
# A copy repeats at least so many numbers with so many digits each, and in total.
FEWEST, FULL, DIGITS = 3, 4, 20
MOST_VALUES = 1_000_000  # of an import: some 400 MiB of memory
TOO_MANY = (
    f"the files before it, which were read, have {MOST_VALUES:,} values, the most of one import. Import it on its own"
)

Show = Callable[[str, float | None], object]  # shows the progress in words, and the expected seconds until the end


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """A file of which at least one value was read. `digest` identifies its content; `copies` are names by digest."""

    name: str
    digest: str
    reading: Reading
    copies: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Collection:
    """The outcome for each file: read, not read with the reason, or known from a run or from an equal file.

    `partly` has the problems of files of which only a part was read. `known` and `equal` have by name the run or the file, and
    `shared` the new runs of files that share runs.
    """

    files: list[ReadFile] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    partly: list[Unread] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    equal: dict[str, str] = field(default_factory=dict)
    shared: dict[str, list[str]] = field(default_factory=dict)
    interrupted: bool = False
    reasons: dict[str, str] = field(default_factory=dict)  # of contents without a value, by digest
    values: int = 0
    spare: float = field(default_factory=lambda: LEAST)  # seconds that all files may use besides their own

    @property
    def count(self) -> int:
        """The number of all files, folders and archives."""
        return len(self.files) + len(self.unread) + len(self.known) + len(self.equal) + len(self.shared)


def choose_formats(tools: Sequence[str], folders: Sequence[Path]) -> tuple[Format, ...]:
    """Returns all formats of these tools, or of every tool.

    Each of its formats names a tool, too. UsageError for an unknown tool, and for a folder without formats.
    """
    for folder in folders:
        if not is_folder(folder) or not any((*folder.glob("*.py"), *folder.glob("*.toml"))):
            raise UsageError(
                f"The folder '{folder}' (given by --path) has no format. Add a file NAME.py or NAME.toml, "
                "as the manual describes: steelyard help import"
            )
    formats = find_formats(tuple(folder.resolve() for folder in folders))
    names = {name: known.tool for known in formats for name in (known.tool, known.name)}
    if unknown := next((tool for tool in tools if tool.casefold() not in map(str.casefold, names)), None):
        raise UsageError(f"No format is known for '{unknown}' (given by --tool). {nearest(unknown, names)}")
    wanted = {tool.casefold() for tool in tools}
    chosen = {tool for name, tool in names.items() if name.casefold() in wanted}
    return tuple(known for known in formats if not wanted or known.tool in chosen)


@dataclass(slots=True)
class Known:
    """What earlier imports say: the run of each content, the runs with files of each folder, and the layouts that users gave."""

    runs: dict[str, str] = field(default_factory=dict)
    folders: dict[str, dict[Path, None]] = field(default_factory=lambda: defaultdict(dict))
    layouts: list[Layout] = field(default_factory=list)

    def find_layout(self, names: Sequence[str]) -> Layout | None:
        """Returns the newest layout that fits all these names of files; None without one."""
        fitting = (layout for layout in reversed(self.layouts) if names and all(map(layout.read, names)))
        return next(fitting, None)


def find_known(runs: Path) -> Known:
    """Returns what the imported runs under `runs` contain."""
    known = Known()
    for folder in records.all_runs(runs):
        if (folder / records.VALUES).exists():
            try:
                imported = records.head(folder).imported
            except SteelyardError:
                continue  # a damaged run: its files are read again
            if imported:
                known.runs |= dict.fromkeys(imported.files, folder.name)
                for name in imported.files.values():
                    known.folders[_name_folder(name)][folder] = None
                with suppress(UsageError):  # no layout, or the damaged one of another user
                    known.layouts.append(Layout.of(imported.layout))
    return known


@dataclass(frozen=True, slots=True)
class _Asked:
    """A file that is read (None as `answer`: not read); `own` are the seconds that it may use without those of all files."""

    name: str
    digest: str
    own: float
    answer: Callable[[], Answer] | None


def collect(sources: Sequence[Source], formats: Sequence[Format], known: Known, show: Show) -> Collection:
    """Reads the sources. Ctrl-C ends it early, and what was read is returned."""
    collection = Collection()
    whole, done, began = sum(source.size for source in sources), 0, time.monotonic()
    try:
        with open_readers(formats, whole) as (ask, ahead):
            reader = _Reader(known.runs, ask, ahead, collection)
            archives = dict[bytes, str]()  # content → the first archive that has it
            for source in sources:
                for item, position in read_source(source, archives):
                    reader.add(item)
                    share = (done + position) / whole if whole else 0.0
                    gone = time.monotonic() - began
                    left = gone * (1 - share) / share if gone > SOON and share > 0 else None
                    show(f"{plural(collection.count, 'file')} read, {len(collection.files)} with values", left)
                done += source.size
            reader.settle()
    except KeyboardInterrupt:
        signals.accept()
        collection.interrupted = True
    _set_copies_aside(collection)
    _set_known_aside(collection, known)
    return collection


def _set_copies_aside(collection: Collection) -> None:
    """Moves files of which another file of their folder has all numbers to the equal files. The one that states most stays.

    A copy may lack what stands around an output, and a log may repeat results. Few or short numbers may be equal by chance.
    """
    folders: dict[str, list[int]] = defaultdict(list)
    for at, file in enumerate(collection.files):
        folders[_name_folder(file.name)].append(at)
    copies: dict[int, dict[str, str]] = defaultdict(dict)  # of the file that stays, by digest
    aside = set[int]()
    for members in (members for members in folders.values() if len(members) > 1):
        kept: dict[int, set[int]] = defaultdict(set)  # by number
        for at in sorted(members, key=lambda at: [-n for n in _count_facts(collection.files[at])]):
            file = collection.files[at]
            numbers = {hash(_list_numbers(value)) for value in file.reading.values}
            whole = _find_whole(collection, file, numbers, kept) if _has_long_numbers(file) else None
            if whole is None:
                for one in numbers:
                    kept[one].add(at)
            else:
                aside.add(at)
                copies[whole][file.digest] = file.name
                collection.equal[file.name] = collection.files[whole].name
    collection.files = [
        replace(file, copies=copies.get(at, {})) for at, file in enumerate(collection.files) if at not in aside
    ]


def _count_facts(file: ReadFile) -> tuple[int, int]:
    """Returns the numbers of values and of what the file states besides them."""
    stated = sum(len(value.parameters) for value in file.reading.values)
    return len(file.reading.values), stated + len(_list_facts(file))


def _find_whole(collection: Collection, file: ReadFile, numbers: Set[int], kept: Mapping[int, Set[int]]) -> int | None:
    """Returns the first of the kept files that has all these numbers and states nothing else; None without any."""
    found: Set[int] | None = None
    for one in numbers:
        found = kept.get(one, frozenset()) if found is None else found & kept.get(one, frozenset())
        if not found:
            return None
    return next((at for at in sorted(found or ()) if _is_part(file, collection.files[at])), None)


def _is_part(file: ReadFile, whole: ReadFile) -> bool:
    """Returns whether neither the files nor equal numbers in them state different things."""
    known, values = _list_facts(whole), defaultdict[object, list[ForeignValue]](list)
    for value in whole.reading.values:
        values[_list_numbers(value)].append(value)
    return all(known.get(name, fact) == fact for name, fact in _list_facts(file).items()) and all(
        any(_agree(value, other) for other in values[_list_numbers(value)]) for value in file.reading.values
    )


def _agree(value: ForeignValue, other: ForeignValue) -> bool:
    names = value.parameters.keys() & other.parameters.keys()
    return all(value.parameters[name] == other.parameters[name] for name in names)


def _set_known_aside(collection: Collection, known: Known) -> None:
    """Moves files that repeat all numbers of a file of an earlier import in the same folder to the known files."""
    earlier: dict[object, tuple[str, Sequence[ForeignValue]]] = {}
    folders = {_name_folder(file.name) for file in collection.files} & {*known.folders}
    for path in dict.fromkeys(path for folder in folders for path in known.folders[folder]):
        by_file: dict[str, list[ForeignValue]] = defaultdict(list)
        with suppress(SteelyardError):  # a damaged run
            for value in getattr(records.read(path).imported, "values", ()):
                by_file[value.file].append(value)
        earlier |= {(_name_folder(name), _hash_numbers(own)): (path.name, own) for name, own in by_file.items()}
    left = list[ReadFile]()
    for file in collection.files:
        run, others = earlier.get((_name_folder(file.name), _hash_numbers(file.reading.values)), ("", ()))
        if (
            run
            and _has_long_numbers(file)
            and all(map(_agree, _sort_numbers(file.reading.values), _sort_numbers(others)))
        ):
            collection.known[file.name] = run
        else:
            left.append(file)
    collection.files = left


def _name_folder(name: str) -> str:
    return name.rpartition("/")[0]


def _list_numbers(value: ForeignValue) -> tuple[object, ...]:
    return value.tool, value.benchmark, value.kernel, value.metric, value.statistic, value.value


def _sort_numbers(values: Sequence[ForeignValue]) -> list[ForeignValue]:
    return sorted(values, key=_list_numbers)


def _hash_numbers(values: Sequence[ForeignValue]) -> int:
    """Returns the same number for the same values in any order, which differs between runs that wrote the same file."""
    return hash((*map(_list_numbers, _sort_numbers(values)),))


def _has_long_numbers(file: ReadFile) -> bool:
    long = _list_long(file.reading.values)
    return len(long) >= FEWEST and sum(map(len, long)) >= DIGITS


def _list_long(values: Sequence[ForeignValue]) -> list[str]:
    """Returns the different mantissas of the values that have many digits."""
    mantissas = {f"{value.value:.12e}".partition("e")[0].replace(".", "").strip("-0") for value in values}
    return [digits for digits in mantissas if len(digits) >= FULL]


def _list_facts(file: ReadFile) -> dict[object, str]:
    """Returns what the file states besides its values."""
    found = file.reading
    facts: dict[object, str] = {(tool, k): text for tool, own in found.conditions.items() for k, text in own.items()}
    return facts | {name: text for name in ("host", "started", "system") if (text := getattr(found, name))}


class _Reader:
    """Reads files into a collection, each content once. Up to `ahead` are read at the same time; their order stays."""

    def __init__(self, known: Mapping[str, str], ask: Ask, ahead: int, into: Collection) -> None:
        self._known, self._ask, self._ahead, self._into = known, ask, ahead, into
        self._first: dict[str, str] = {}  # content → the first file that has it and has values
        self._asked: set[str] = set()  # contents
        self._waiting: deque[_Asked | Unread | Equal] = deque()

    def add(self, item: Content | Unread | Equal) -> None:
        self._waiting.append(self._begin(item) if isinstance(item, Content) else item)
        self.settle(self._ahead)

    def _begin(self, content: Content) -> _Asked:
        digest, spare = hashlib.sha256(content.data).hexdigest(), self._into.spare
        own = EACH_FILE + EACH_MB * len(content.data) / 1e6
        is_new = digest not in self._known and digest not in self._asked and self._into.values < MOST_VALUES
        self._asked.add(digest)
        answer = self._ask(content, own + max(0.0, min(LEAST, spare))) if is_new else None
        return _Asked(content.name, digest, own, answer)

    def settle(self, left: int = 0) -> None:
        """Puts the files into the collection until so many are `left`."""
        into = self._into
        while len(self._waiting) > left:
            one = self._waiting.popleft()
            if isinstance(one, Unread):
                into.unread.append(one)
            elif isinstance(one, Equal):
                into.equal[one.name] = one.other
            elif one.digest in self._known:
                into.known[one.name] = self._known[one.digest]
            elif one.digest in self._first:
                into.equal[one.name] = self._first[one.digest]
            elif one.digest in into.reasons:
                into.unread.append(Unread(one.name, into.reasons[one.digest]))
            elif one.answer is None or into.values >= MOST_VALUES:
                into.unread.append(Unread(one.name, TOO_MANY))
            else:
                self._take(one, *one.answer())

    def _take(self, one: _Asked, found: Reading, seconds: float) -> None:
        into = self._into
        into.spare += one.own - seconds
        if found.values:
            self._first[one.digest] = one.name
            into.values += len(found.values)
            into.files.append(ReadFile(name=one.name, digest=one.digest, reading=found))
            into.partly += [Unread(one.name, problem) for problem in found.problems]
        else:
            alike = {re.sub(r"\d+", "#", problem): problem for problem in reversed(found.problems)}  # the first of each
            into.reasons[one.digest] = "; ".join(reversed(alike.values()))
            into.unread.append(Unread(one.name, into.reasons[one.digest]))
