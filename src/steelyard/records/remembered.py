"""What a run keeps besides its plan and its records, as a user would name it: toolchains, folders of benchmarks."""

from collections.abc import Sequence
from pathlib import Path

from steelyard import build
from steelyard.files import is_folder
from steelyard.model import Run


def commands(run: Run) -> list[str]:
    """The run's toolchains as a user names them: the compiler, and flags where they are not the usual ones."""
    return [t.compiler if t.flags == build.FLAGS else f"{t.compiler} {t.flags}" for t in run.toolchains.values()]


def folders(run: Run, paths: Sequence[Path]) -> list[Path]:
    """`paths`, and where the run's own benchmarks were found, as far as these folders are still there."""
    remembered = [Path(p) for p in run.paths]
    return [*paths, *(p for p in remembered if is_folder(p) and p not in paths)]
