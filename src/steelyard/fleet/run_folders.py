"""The folders of runs that a user means: runs, and folders that contain runs."""

from collections.abc import Sequence
from pathlib import Path

from steelyard.errors import UsageError, one_line
from steelyard.measure import records


def find(names: Sequence[str], runs: Path) -> list[Path]:
    """Returns the folder of each run once, in their order. UsageError for a name that leads to none."""
    if not names:
        found = records.all_runs(runs)
        if not found:
            raise UsageError(f"There are no runs in '{one_line(str(runs))}'. Give a folder of runs, or --runs FOLDER.")
        return found
    folders: dict[Path, Path] = {}
    for name in names:
        inside = records.all_runs(Path(name)) if not (Path(name) / "run.json").is_file() else []
        for folder in inside or [records.find(runs, name)]:
            folders.setdefault(folder.resolve(), folder)
    return list(folders.values())
