"""Remembers what the user has measured with: folders of benchmarks, compilers, their flags, MPIs, launcher options, variants."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from steelyard.system import user_cache
from steelyard.system.files import is_file, is_folder

# Words of a command, besides folders, that can start any program.
Word = Literal["compiler", "flags", "mpi", "launcher", "variant"]


class HasPaths(Protocol):
    """A run, or what a table of results says of it."""

    @property
    def paths(self) -> tuple[str, ...]: ...


def folders(run: HasPaths, paths: Sequence[Path]) -> list[Path]:
    """Returns `paths` and the run's own folders of benchmarks that still exist and that this user has measured with.

    A declaration is a program: folders that only another user's run names are not trusted.
    """
    trusted = _read_trusted()
    return [*paths, *(p for p in _list_further_paths(run, paths) if str(p.resolve()) in trusted)]


def unread(run: HasPaths, paths: Sequence[Path]) -> tuple[str, ...]:
    """Returns a sentence for each existing folder that the run names and `folders` leaves out."""
    trusted = _read_trusted()
    return tuple(
        f"Steelyard did not read the benchmarks in '{p}': they are programs, and you have never measured with them. If you "
        "trust this folder, name it with --path."
        for p in _list_further_paths(run, paths)
        if str(p.resolve()) not in trusted
    )


def trust(paths: Sequence[Path], words: Mapping[Word, Sequence[str]] | None = None) -> None:
    """Remembers what the user measures with. If the cache cannot be written, the user has to name it again."""
    lines = (_line(kind, text) for kind, texts in (words or {}).items() for text in texts)
    new = {*(str(p.resolve()) for p in paths), *lines} - _read_trusted()
    with contextlib.suppress(OSError):
        if new:
            user_cache.inside()
            with _file().open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in sorted(new))


def used(kind: Word, text: str) -> bool:
    """Returns whether the user has measured with this compiler, flags, MPI, launcher options, or variant."""
    return _line(kind, text) in _read_trusted()


def _line(kind: Word, text: str) -> str:
    return f"{kind} {json.dumps(text)}"  # folders begin with "/"


def _list_further_paths(run: HasPaths, paths: Sequence[Path]) -> list[Path]:
    return [p for p in map(Path, run.paths) if (is_folder(p) or is_file(p)) and p not in paths]


def _read_trusted() -> set[str]:
    try:
        return set(_file().read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return set()


def _file() -> Path:
    return user_cache.cache() / "measured-with"
