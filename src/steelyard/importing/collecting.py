"""Reads all files that a user names, each content once, with limits of time and of values."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.errors import SteelyardError, UsageError, nearest
from steelyard.importing import reading
from steelyard.importing.format import Format
from steelyard.importing.layout import Layout
from steelyard.importing.reading import Reading
from steelyard.importing.sources import Source, read_source
from steelyard.importing.streams import Content, Equal, Unread
from steelyard.measure import records
from steelyard.model.words import plural
from steelyard.system import signals
from steelyard.system.files import is_folder
from steelyard.system.signals import TimeOver, time_limit

SOON = 1.0  # seconds after which the time left is known well enough
# Seconds of a processor for a file: at least, for each MB, and that each file adds to what all others may use together. Ordinary
# files need 0.2 to 2 s for each MB.
LEAST, EACH_MB, EACH_FILE = 10.0, 10.0, 0.1
MOST_VALUES = 1_000_000  # of an import: some 400 MiB of memory
TOO_MANY = (
    f"the files before it, which were read, have {MOST_VALUES:,} values, the most of one import. Import it on its own"
)

Show = Callable[[str, float | None], object]  # shows the progress in words, and the expected seconds until the end


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """A file of which at least one value was read. `digest` identifies its content."""

    name: str
    digest: str
    reading: Reading


@dataclass(slots=True, kw_only=True)
class Collection:
    """The outcome for each file: read, not read with the reason, or known from a run or from an equal file.

    `partly` has the problems of files of which only a part was read. `known` and `equal` have by name the run or the file.
    """

    files: list[ReadFile] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    partly: list[Unread] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    equal: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False
    reasons: dict[str, str] = field(default_factory=dict)  # of contents without a value, by digest
    values: int = 0
    spare: float = field(default_factory=lambda: LEAST)  # seconds that all files may use besides their own

    @property
    def count(self) -> int:
        """The number of all files, folders and archives."""
        return len(self.files) + len(self.unread) + len(self.known) + len(self.equal)


def choose_formats(tools: Sequence[str], folders: Sequence[Path]) -> tuple[Format, ...]:
    """Returns all formats of these tools, or of every tool.

    Each of its formats names a tool, too. UsageError for an unknown tool, and for a folder without formats.
    """
    for folder in folders:
        if not is_folder(folder) or not any((*folder.glob("*.py"), *folder.glob("*.toml"))):
            raise UsageError(
                f"The folder '{folder}' (given by --path) has no format. Add a file NAME.py or NAME.toml, "
                "as docs/import.md describes."
            )
    formats = reading.find_formats(tuple(folder.resolve() for folder in folders))
    names = {name: known.tool for known in formats for name in (known.tool, known.name)}
    if unknown := next((tool for tool in tools if tool.casefold() not in map(str.casefold, names)), None):
        raise UsageError(f"No format is known for '{unknown}' (given by --tool). {nearest(unknown, names)}")
    wanted = {tool.casefold() for tool in tools}
    chosen = {tool for name, tool in names.items() if name.casefold() in wanted}
    return tuple(known for known in formats if not wanted or known.tool in chosen)


@dataclass(slots=True)
class Known:
    """What earlier imports say: the run of each content, and the layouts that users gave."""

    runs: dict[str, str] = field(default_factory=dict)
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
                with suppress(UsageError):  # no layout, or the damaged one of another user
                    known.layouts.append(Layout.of(imported.layout))
    return known


def collect(sources: Sequence[Source], formats: Sequence[Format], known: Mapping[str, str], show: Show) -> Collection:
    """Reads the sources. Ctrl-C ends it early, and what was read is returned."""
    collection = Collection()
    digests = dict[str, str]()  # content → the first file that has it
    archives = dict[bytes, str]()  # the same of archives
    whole, done, began = sum(source.size for source in sources), 0, time.monotonic()
    try:
        for source in sources:
            for item, position in read_source(source, archives):
                if isinstance(item, Unread):
                    collection.unread.append(item)
                elif isinstance(item, Equal):
                    collection.equal[item.name] = item.other
                else:
                    _read(item, formats, known, digests, collection)
                share = (done + position) / whole if whole else 0.0
                gone = time.monotonic() - began
                left = gone * (1 - share) / share if gone > SOON and share > 0 else None
                show(f"{plural(collection.count, 'file')} read, {len(collection.files)} with values", left)
            done += source.size
    except KeyboardInterrupt:
        signals.accept()
        collection.interrupted = True
    return collection


def _read(
    content: Content, formats: Sequence[Format], known: Mapping[str, str], digests: dict[str, str], into: Collection
) -> None:
    digest = hashlib.sha256(content.data).hexdigest()
    if digest in known:
        into.known[content.name] = known[digest]
    elif digest in digests:
        into.equal[content.name] = digests[digest]
    elif digest in into.reasons:
        into.unread.append(Unread(content.name, into.reasons[digest]))
    elif into.values >= MOST_VALUES:
        into.unread.append(Unread(content.name, TOO_MANY))
    else:
        result = _read_in_time(content, formats, into)
        if result.values:
            digests[digest] = content.name
            into.values += len(result.values)
            into.files.append(ReadFile(name=content.name, digest=digest, reading=result))
            into.partly += [Unread(content.name, problem) for problem in result.problems]
        else:
            into.reasons[digest] = "; ".join(result.problems)
            into.unread.append(Unread(content.name, into.reasons[digest]))


def _read_in_time(content: Content, formats: Sequence[Format], into: Collection) -> Reading:
    """Returns what the file has. A file that takes too long has nothing, and takes from the time that all files share."""
    own = EACH_FILE + EACH_MB * len(content.data) / 1e6
    most, began = own + max(0.0, min(LEAST, into.spare)), time.process_time()
    try:
        with time_limit(most):
            return reading.read(content.data, formats, content.name)
    except TimeOver:
        return Reading(
            problems=(f"reading it took longer than {most:.1f} s of processor time, so nothing of it was read",)
        )
    finally:
        into.spare += own - (time.process_time() - began)
