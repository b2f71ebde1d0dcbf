"""What an embedded store holds: its segments, the batches in them, gaps, and what the sensors are; who writes holds its lock."""

import contextlib
import fcntl
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from steelyard.errors import MachineFailed, UsageError
from steelyard.files import append, appended, lines, ordinary, replacing, settings_in
from steelyard.model.plain import from_json, from_plain
from steelyard.model.sensor import Sensor
from steelyard.power.message import Batch, Gap
from steelyard.power.stores._segments import Metadata, Segment, Sequences, metadata, named

FORMAT = 1
MOST_STRANGE = 1000  # lines of sensors.jsonl that are no description
LISTINGS = 20  # at most, until the folder stays the same

OURS = {"segments", "rollups", "lock", "sensors.jsonl", "keep.json"}  # a store that is being made has these at most


@dataclass(frozen=True, slots=True)
class _Described:
    node: str
    sensors: tuple[Sensor, ...]


class Index:
    """UsageError for a folder that is no store, MachineFailed for one of another format."""

    def __init__(self, folder: Path, make: bool = False) -> None:
        self.folder, self.segments = folder, folder / "segments"
        self.read: dict[str, Segment] = {}
        self.gaps: list[tuple[str, Gap]] = []
        self.sensors: dict[str, tuple[Sensor, ...]] = {}
        self.notes: list[str] = []
        self.removed = 0  # up to which moment (ns since 1970) readings have been removed
        self._known: dict[str, Sequences] = {}
        self._sensors_read = 0  # bytes of their file
        self._strange = 0  # lines in it that could not be read
        self._replaced: set[str] = set()
        self._damaged: set[str] = set()  # left as they are: somebody may mend them
        if make:
            self._make()
        self._expect()
        self.refresh()

    def has(self, batch: Batch) -> bool:
        return batch.sequence in self._known.get(batch.source, ())

    def refresh(self) -> None:
        """Learns of the segments and sensors that others have written."""
        before: set[str] | None = None
        # A folder that changes while it is listed may show neither a segment nor what it was merged into.
        for _ in range(LISTINGS):
            there = {path.name: path for path in self.segments.glob("*.parquet") if self._ordinary(path)}
            if there.keys() == before:
                break
            before = {*there}
            self._replaced &= before  # no name comes again
            for name in [name for name in self.read if name not in there]:
                del self.read[name]  # what replaced it is among the new ones
            new = sorted(there.keys() - self.read.keys() - self._replaced - self._damaged)
            if new:
                for name, about in metadata([there[name] for name in new]).items():
                    if name not in self._replaced:
                        self._take(there[name], about)
        self._read_sensors()

    def learn(self, segment: Segment, about: Metadata) -> None:
        for writer, stretches in about.batches.items():
            for first, last in stretches:
                self._known.setdefault(writer, Sequences()).add(first, last)
        self.gaps += about.gaps
        self.removed = max(self.removed, about.removed)
        self.read[segment.path.name] = segment
        self._replaced |= {*about.replaces}
        for name in about.replaces:
            self.read.pop(name, None)

    def remove_replaced(self) -> None:
        for name in self._replaced:
            (self.segments / name).unlink(missing_ok=True)

    def describe(self, node: str, sensors: Sequence[Sensor]) -> None:
        if self.sensors.get(node) != tuple(sensors):
            append(self.folder / "sensors.jsonl", msgspec.json.encode(_Described(node, tuple(sensors))) + b"\n")
            self.sensors[node] = tuple(sensors)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Writers take turns."""
        with appended(self.folder / "lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for path in self.segments.glob("*.making"):  # of a writer that was killed
                path.unlink(missing_ok=True)
            self.refresh()
            yield

    def _take(self, path: Path, about: Metadata | Exception) -> None:
        try:
            if isinstance(about, Exception):
                raise about
            if not all(map(_is_segment, about.replaces)):  # they will be removed
                raise ValueError("it says that it replaces what is no segment")
            self.learn(named(path), about)
        except FileNotFoundError:
            return  # replaced meanwhile
        except (ValueError, OSError) as error:
            self._damaged.add(path.name)
            self.notes.append(f"The segment {path.name} is left out: {error}")

    def _ordinary(self, path: Path) -> bool:
        """Whether it is a file; what a pipe or a device holds is not waited for."""
        if path.name not in self._damaged and path.exists() and not path.is_file():
            self._damaged.add(path.name)
            self.notes.append(f"The segment {path.name} is left out: it is no ordinary file.")
        return path.name not in self._damaged

    def _make(self) -> None:
        there = {path.name for path in self.folder.iterdir()} if self.folder.exists() else set()
        strange = {name for name in there - OURS if not name.startswith(".steelyard-")}  # another process makes it, too
        if strange and "format.json" not in there:
            raise UsageError(
                f"'{self.folder}' is not a store of readings and contains other files. Give the path of a new or empty folder."
            )
        self.segments.mkdir(parents=True, exist_ok=True)
        file = self.folder / "format.json"
        if not file.exists():
            with replacing(file) as making:
                making.write_text(json.dumps({"format": FORMAT}))

    def _expect(self) -> None:
        try:
            found = json.loads(settings_in(self.folder / "format.json"))["format"]
        except FileNotFoundError:
            raise UsageError(f"'{self.folder}' is no store of readings: it has no format.json.") from None
        except (ValueError, TypeError, KeyError, RecursionError):
            raise MachineFailed(f"The store '{self.folder}' cannot be read: its format.json is damaged.") from None
        if found != FORMAT:
            raise MachineFailed(
                f"The store '{self.folder}' is of format {found}; this Steelyard knows {FORMAT}. Take a newer one."
            )

    def _read_sensors(self) -> None:
        try:
            file = ordinary(self.folder / "sensors.jsonl")
        except FileNotFoundError:
            return
        with file:
            file.seek(self._sensors_read)
            for line in lines(file):
                if line.endswith(b"\n"):  # half a line is read when it is whole
                    self._sensors_read += len(line)
                    try:
                        found = from_plain(_Described, from_json(line))
                    except ValueError:
                        self._strange += 1
                        if self._strange == MOST_STRANGE:
                            raise MachineFailed(
                                f"The store '{self.folder}' cannot be read: sensors.jsonl is damaged."
                            ) from None
                        continue
                    self.sensors[found.node] = found.sensors


def _is_segment(name: str) -> bool:
    return name.endswith(".parquet") and "/" not in name
