"""Remembers what the user has measured with: folders of benchmarks, compilers, their flags, MPIs, words for a launcher."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from steelyard import user_cache
from steelyard.files import is_file, is_folder
from steelyard.model import Run

Word = Literal[
    "compiler", "flags", "mpi", "launcher"
]  # what a command may name besides folders, and what can start any program


def folders(run: Run, paths: Sequence[Path]) -> list[Path]:
    """`paths`, and where the run's own benchmarks were found: folders that are still there, and that the user has measured with.

    A declaration is a program: what a run that came from someone else names is not carried out.
    """
    trusted = _trusted()
    return [*paths, *(p for p in _further(run, paths) if str(p.resolve()) in trusted)]


def unread(run: Run, paths: Sequence[Path]) -> tuple[str, ...]:
    """A sentence for each folder that the run names and `folders` leaves out, although it is there."""
    trusted = _trusted()
    return tuple(
        f"The benchmarks in '{p}' were not read: they are programs, and you never measured with them. "
        "Name the folder with --path if you trust it."
        for p in _further(run, paths)
        if str(p.resolve()) not in trusted
    )


def trust(paths: Sequence[Path], words: Mapping[Word, Sequence[str]] | None = None) -> None:
    """Remembers what the user measures with; where nothing can be written it has to be named again."""
    lines = (_line(kind, text) for kind, texts in (words or {}).items() for text in texts)
    new = {*(str(p.resolve()) for p in paths), *lines} - _trusted()
    with contextlib.suppress(OSError):
        if new:
            user_cache.inside()
            with _file().open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in sorted(new))


def used(kind: Word, text: str) -> bool:
    """Whether the user has measured with this compiler, these flags, the MPI of this path, or these words of the launcher."""
    return _line(kind, text) in _trusted()


def _line(kind: Word, text: str) -> str:
    return f"{kind} {json.dumps(text)}"  # folders begin with "/"


def _further(run: Run, paths: Sequence[Path]) -> list[Path]:
    return [p for p in map(Path, run.paths) if (is_folder(p) or is_file(p)) and p not in paths]


def _trusted() -> set[str]:
    try:
        return set(_file().read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return set()


def _file() -> Path:
    return user_cache.cache() / "measured-with"
