"""Finds the files that a user names: files, folders, archives, and standard input."""

import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from steelyard.errors import UsageError, one_line
from steelyard.importing import archives
from steelyard.importing.streams import Item, Unread
from steelyard.system.files import ordinary

STANDARD_INPUT = "-"
OURS = ("run.json", "records.jsonl", "values.jsonl", "finished.json", "unread.txt")  # files of a run of Steelyard
BY_STEELYARD = "Steelyard wrote it"
HIDDEN = "it is in a hidden folder"
OUTSIDE = "it is a link that leads out of the folder"
NOT_ORDINARY = "it is not an ordinary file"
_LONGEST = 4096  # letters of a name
MOST_INPUT = 256 << 20  # bytes of standard input


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, its name for the user, and its bytes. `path` None: standard input."""

    path: Path | None
    name: str
    size: int


def find_sources(paths: Sequence[str]) -> tuple[list[Source], list[Unread]]:
    """Returns the files in all paths, each once, and what was skipped. UsageError for a path that is not there."""
    sources: list[Source] = []
    skipped: list[Unread] = []
    for text in dict.fromkeys(paths):
        if text == STANDARD_INPUT:
            sources.append(Source(None, "standard input", 0))
            continue
        path = Path(text)
        try:
            state = os.stat(text)  # Path("") would be this folder
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "the name is not possible"
            raise UsageError(
                f"'{text}' cannot be imported: {why}. Give files, folders or archives with outputs of other tools."
            ) from None
        if stat.S_ISDIR(state.st_mode):
            _walk(path, sources, skipped)
        elif stat.S_ISREG(state.st_mode):
            sources.append(Source(path, _printable(text), state.st_size))
        else:
            raise UsageError(
                f"'{text}' cannot be imported: {NOT_ORDINARY}. For a pipe use: COMMAND | steelyard import -"
            )
    return list({source.path or source.name: source for source in sources}.values()), skipped


def _walk(root: Path, sources: list[Source], skipped: list[Unread]) -> None:
    """Adds the files below a folder in the order of their names. No link is followed, so none leads out or in a circle."""
    whole, folders = os.path.join(os.path.realpath(root), ""), [str(root)]
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            skipped.append(Unread(_printable(folder), str(error.strerror)))
            continue
        names = {entry.name for entry in entries}
        if "run.json" in names and names & {"records.jsonl", "values.jsonl"}:
            skipped.append(Unread(_printable(folder), BY_STEELYARD))
            continue
        below = []
        for entry in entries:
            name = _printable(entry.path)
            if entry.is_symlink():
                inside = os.path.join(os.path.realpath(entry.path), "").startswith(whole)
                skipped += [] if inside else [Unread(name, OUTSIDE)]
            elif entry.is_dir(follow_symlinks=False):
                if entry.name.startswith("."):
                    skipped.append(Unread(name, HIDDEN))
                else:
                    below.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                sources.append(Source(Path(entry.path), name, entry.stat(follow_symlinks=False).st_size))
            else:
                skipped.append(Unread(name, NOT_ORDINARY))
        folders += reversed(below)


def read_source(source: Source, seen: dict[bytes, str] | None = None) -> Iterator[tuple[Item, int]]:
    """Yields the content of the file, or of the files in it if it is an archive, and what cannot be read with the reason.

    The second item is the number of bytes of the file that have been read. `seen`: see `archives.unpack`.
    """
    try:
        with _open_source(source) as file:
            for item in archives.unpack(source.name, file, seen):
                yield _select(source, item), min(source.size, file.tell())
    except OSError as error:
        yield Unread(source.name, str(error.strerror or error)), source.size


def _open_source(source: Source) -> BinaryIO:
    if source.path:
        return ordinary(source.path)
    data = sys.stdin.buffer.read(MOST_INPUT + 1)
    if len(data) > MOST_INPUT:
        raise OSError(f"it has more than {MOST_INPUT >> 20} MiB. Give the name of a file instead")
    return io.BytesIO(data)


def _select(source: Source, item: Item) -> Item:
    """Returns a member of an archive with a printable name; those that a folder would skip are Unread."""
    inside = item.name[len(source.name) :].split("/")[1:]
    name = _printable(item.name)
    if any(part.startswith(".") and part.strip(".") for part in inside[:-1]):
        return Unread(name, HIDDEN)
    if inside and inside[-1] in OURS:
        return Unread(name, BY_STEELYARD)
    return item if item.name == name else replace(item, name=name)


def _printable(name: str) -> str:
    """Returns the name in one line, shortened if it is absurd, without bytes that are no text or act on a terminal."""
    return one_line(name[:_LONGEST].encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
