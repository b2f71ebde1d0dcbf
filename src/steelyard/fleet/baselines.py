"""Baselines: what a gate compares with, saved under a name in the folder of all runs."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from steelyard.errors import MachineFailed, UsageError, nearest, one_line
from steelyard.measure import records
from steelyard.measure.records import sums
from steelyard.measure.records.writing import NAME
from steelyard.model.words import joined, plural
from steelyard.system import files

FOLDER = "baselines"  # below the folder of runs
FORMAT = 1
WORDS = ("save", "list", "remove")


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run of a baseline: its id, its folder, and the digest of its files when it was saved."""

    run: str
    folder: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Runs under a name, and values that somebody gave besides (as --expect). `saved`: date and time as in ISO 8601."""

    name: str
    saved: str
    runs: tuple[SavedRun, ...]
    expect: tuple[str, ...] = ()
    format: int = FORMAT

    @property
    def folders(self) -> list[Path]:
        """Returns the folders of the runs. UsageError if one is missing, or is not as it was."""
        changed = [one.run for one in self.runs if not _is_same(one)]
        if changed:
            raise UsageError(
                f"The baseline '{self.name}' cannot be used: {joined(changed)} {'is' if len(changed) == 1 else 'are'} missing or "
                f"changed. Save it again: steelyard gate save {self.name} RUN… (first: steelyard gate remove {self.name})"
            )
        return [Path(one.folder) for one in self.runs]


def save(runs: Path, name: str, folders: Sequence[Path], expect: Sequence[str]) -> Baseline:
    """Saves a baseline. UsageError for a name that is not valid or is taken; MachineFailed if it cannot be written."""
    if not NAME.fullmatch(name) or name in WORDS:
        raise UsageError(f"'{name}' is not a valid name for a baseline. Use letters, digits, '.', '_' and '-'.")
    path = _path(runs, name)
    if path.exists():
        raise UsageError(f"There is a baseline '{name}' already. Remove it first: steelyard gate remove {name}")
    saved = tuple(SavedRun(records.head(f).id, str(f.resolve()), sums.find_digest(f)) for f in folders)
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    baseline = Baseline(name=name, saved=now, runs=saved, expect=tuple(expect))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MachineFailed(f"The baseline cannot be written to {path}: {error.strerror}.") from error
    files.write(path, "The baseline", json.dumps(asdict(baseline), indent=1))
    return baseline


def list_all(runs: Path) -> list[Baseline]:
    """Returns all baselines by name. MachineFailed for a damaged one."""
    return [_read(path) for path in sorted((runs / FOLDER).glob("*.json"))]


def find(runs: Path, names: Sequence[str]) -> Baseline | None:
    """Returns the baseline that the only one of `names` means; None if that is a run or a folder."""
    if len(names) != 1 or Path(names[0]).exists() or (runs / names[0]).exists():
        return None
    path = _path(runs, names[0])
    return _read(path) if NAME.fullmatch(names[0]) and path.is_file() else None


def remove(runs: Path, name: str) -> None:
    """Removes a baseline; its runs stay. UsageError if there is none."""
    path = _path(runs, name)
    if not (NAME.fullmatch(name) and path.is_file()):
        known = [one.name for one in list_all(runs)]
        raise UsageError(f"There is no baseline '{name}'. {nearest(name, known) if known else ''}".strip())
    path.unlink()


def describe(one: Baseline) -> str:
    """Returns a line for the terminal."""
    given = f", {joined(one.expect)}" if one.expect else ""
    return one_line(f"{one.name}: {plural(len(one.runs), 'run')}{given}, saved {one.saved}")


def _path(runs: Path, name: str) -> Path:
    return runs / FOLDER / f"{name}.json"


def _is_same(one: SavedRun) -> bool:
    folder = Path(one.folder)
    return (folder / "run.json").is_file() and sums.find_digest(folder) == one.digest


def _read(path: Path) -> Baseline:
    try:
        return msgspec.json.decode(files.settings_in(path), type=Baseline)
    except (OSError, ValueError) as error:
        raise MachineFailed(f"The baseline {path} cannot be read: {error}.") from None
