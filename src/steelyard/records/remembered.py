"""What a run keeps besides its plan and its records, as a user would name it: toolchains, folders of benchmarks."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from steelyard import build
from steelyard.files import is_file, is_folder
from steelyard.model import Run


def commands(run: Run) -> list[str]:
    """The run's toolchains as a user names them: the compiler, and flags where they are not the usual ones."""
    return [t.compiler if t.flags == build.FLAGS else f"{t.compiler} {t.flags}" for t in run.toolchains.values()]


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


def trust(paths: Sequence[Path]) -> None:
    """Remembers folders that the user measures with; where nothing can be written he names them again."""
    new = {str(p.resolve()) for p in paths} - _trusted()
    with contextlib.suppress(OSError):
        if new:
            _file().parent.mkdir(parents=True, exist_ok=True)
            with _file().open("a", encoding="utf-8") as file:
                file.writelines(f"{path}\n" for path in sorted(new))


def _further(run: Run, paths: Sequence[Path]) -> list[Path]:
    return [p for p in map(Path, run.paths) if (is_folder(p) or is_file(p)) and p not in paths]


def _trusted() -> set[str]:
    try:
        return set(_file().read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError):
        return set()


def _file() -> Path:
    return build.cache() / "measured-with"
