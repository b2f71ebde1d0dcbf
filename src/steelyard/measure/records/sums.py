"""The checksums of a run's files in SHA256SUMS, as `sha256sum --check` reads them, and the digest that names their content."""

import hashlib
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.system.files import LONG, ordinary

SUMS = "SHA256SUMS"
# All that was measured or read. Everything else in the folder is made of these files.
FILES = ("finished.json", "power.jsonl", "records.jsonl", "run.json", "unread.txt", "values.jsonl")
SHORT = 12  # digits of the digest that a text quotes
_LINE = re.compile(r"([0-9a-f]{64})  ([\w.]+)")


@dataclass(frozen=True, kw_only=True)
class Verified:
    """A run's files now against their checksums: the digest of the files as they are, and those that differ by name.

    `kept` is False if the run has no checksums, as one that did not end.
    """

    digest: str
    kept: bool
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Returns whether the files are as they were when the run ended."""
        return self.kept and not (self.changed or self.missing or self.added)


def text(path: Path) -> str:
    """Returns the content of SHA256SUMS for the run in the folder `path` as it is now. OSError."""
    return _write_lines(_compute(path))


def copy(path: Path, target: Path) -> None:
    """Copies the files of the run in the folder `path`, with their checksums, into the new folder `target`. OSError."""
    target.mkdir()
    for name in FILES:
        if (path / name).is_file():
            shutil.copyfile(path / name, target / name)
    (target / SUMS).write_text(text(target))


def find_digest(path: Path) -> str:
    """Returns the first twelve digits of a SHA-256 of the checksums of the run's files as they are now. MachineFailed."""
    try:
        return _digest(_compute(path))
    except OSError as error:
        raise _explain(path, error) from error


def verify(path: Path) -> Verified:
    """Compares the files of the run in the folder `path` with its checksums. MachineFailed if they cannot be read."""
    try:
        now = _compute(path)
        with ordinary(path / SUMS) as file:
            then = parse(file.read(LONG))
    except FileNotFoundError:
        return Verified(digest=_digest(now), kept=False)
    except (OSError, ValueError) as error:
        raise _explain(path, error) from error
    return compare(now, then)


def compare(now: Mapping[str, str], then: Mapping[str, str]) -> Verified:
    """Compares checksums by the names of the files."""
    return Verified(
        digest=_digest(now),
        kept=True,
        changed=tuple(name for name in then if name in now and now[name] != then[name]),
        missing=tuple(name for name in then if name not in now),
        added=tuple(name for name in now if name not in then),
    )


def parse(content: bytes) -> dict[str, str]:
    """Returns the checksum of each file by its name. ValueError for a line of another form."""
    lines = [_LINE.fullmatch(line) for line in content.decode().splitlines()]
    if not all(lines):
        raise ValueError(f"{SUMS} has a line that is no checksum")
    return {line[2]: line[1] for line in lines if line}


def _compute(path: Path) -> dict[str, str]:
    sums = {}
    for name in FILES:
        if (path / name).is_file():
            with ordinary(path / name) as file:
                sums[name] = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    return sums


def _write_lines(sums: Mapping[str, str]) -> str:
    return "".join(f"{value}  {name}\n" for name, value in sorted(sums.items()))


def _digest(sums: Mapping[str, str]) -> str:
    return hashlib.sha256(_write_lines(sums).encode()).hexdigest()[:SHORT]


def _explain(path: Path, error: Exception) -> MachineFailed:
    return MachineFailed(f"The checksums of the run {path} cannot be compared: {error}.")
