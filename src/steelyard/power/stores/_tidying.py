"""What an embedded store does now and then: rollups of hours that are over, few files instead of many, and retention."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from steelyard.errors import MachineFailed
from steelyard.files import replacing, settings_in
from steelyard.model.plain import from_json, from_plain
from steelyard.power.rollup import LEVELS, NAMES, SECOND
from steelyard.power.stores import AHEAD, _readings
from steelyard.power.stores._index import Index
from steelyard.power.stores._rollups import HOUR, Rollups
from steelyard.power.stores._segments import Segment, database, files, metadata, together, written

TIER = 16  # segments of about one size become one
LARGEST = 128 << 20  # bytes: segments of that size stay as they are
LATE = 900 * SECOND  # ns after an hour until it has rollups: what comes later costs making them anew
DAY = 24 * HOUR

Keeping = Mapping[str, float]  # seconds for which "readings", "1s", "1min" and "1h" are kept; what is not named: always
# A second's rollups are made again from the readings while these are there, and take more room than they.
USUAL: Keeping = {"1s": 7 * 86400.0}


class Tidying:
    """The caller holds the store's lock."""

    def __init__(self, index: Index, rollups: Rollups) -> None:
        self._index, self._rollups = index, rollups
        self._hours: dict[str, set[int]] = {}  # of each segment

    def merge(self) -> None:
        """Many segments of a day and of about one size become one, so that few are looked at."""
        tiers: dict[tuple[int, int], list[Segment]] = {}
        for segment in self._index.read.values():
            size = segment.path.stat().st_size
            if size < LARGEST:
                tiers.setdefault((segment.first // DAY, size.bit_length() // 4), []).append(segment)
        for members in tiers.values():
            if len(members) >= TIER:
                self._one(members)

    def hour(self, now: int) -> bool:
        """Makes the rollups of an hour that is over and has none yet; whether there was one."""
        self._hours = {name: hours for name, hours in self._hours.items() if name in self._index.read}
        there = self._rollups.hours()
        for hour in sorted({hour for segment in self._index.read.values() for hour in self._of(segment)} - there):
            if (hour + 1) * HOUR + LATE <= now:
                known = {(node, s.name): s for node, sensors in self._index.sensors.items() for s in sensors}
                segments = list(self._index.read.values())
                self._rollups.keep(hour, _readings.rolled(segments, known, LEVELS, hour * HOUR, (hour + 1) * HOUR))
                return True
        return False

    def days(self, now: int) -> None:
        """The segments of each day that is over become one, and its rollups too. All hours have been made."""
        groups: dict[int, list[Segment]] = {}
        for segment in self._index.read.values():
            if segment.first // DAY * DAY + DAY + LATE < now and segment.path.stat().st_size < LARGEST:
                groups.setdefault(segment.first // DAY, []).append(segment)
        for members in groups.values():
            if len(members) > 1:
                self._one(members)
        self._rollups.merge(now)

    def retain(self, now: int) -> None:
        """Removes what is older than it is to be kept; readings only where their hours have rollups."""
        keeping = kept(self._index.folder)
        if "readings" in keeping:
            before, there = now - round(keeping["readings"] * SECOND), self._rollups.hours()
            old = [s for s in self._index.read.values() if s.last < before and self._of(s) <= there]
            if any(self._of(s) for s in old):
                self._one(old, empty=True)
            # The moments of these say nothing of their age. No batch is known by them (see `Embedded`), so they can go.
            ahead = [s for s in self._index.read.values() if s.first > now + AHEAD]
            for segment in (s for s in ahead if s.path.stat().st_mtime_ns < before):
                del self._index.read[segment.path.name]
                segment.path.unlink(missing_ok=True)
        for name, level in NAMES.items():
            if name in keeping:
                self._rollups.drop(level, now - round(keeping[name] * SECOND))

    def _of(self, segment: Segment) -> set[int]:
        name = segment.path.name
        if name not in self._hours:
            self._hours[name] = _readings.hours(segment) if segment.last else set()
        return self._hours[name]

    def _one(self, members: list[Segment], empty: bool = False) -> None:
        """One segment instead of these; an `empty` one only remembers which batches were stored, so that none comes again."""
        about = metadata([member.path for member in members])
        parts = [(m, a) for m in members if not isinstance(a := about[m.path.name], Exception)]
        if len(parts) < len(members):
            return  # one was damaged since: it stays for somebody to look at
        span, merged = together(parts)
        chosen = f"select * from {files(members)} order by node, sensor, moment"
        if empty:
            span, merged, chosen = (
                (0, 0),
                replace(merged, removed=span[1]),
                f"select * from {files(members)} where false",
            )
        with database() as opened:
            self._index.learn(written(self._index.segments, opened, chosen, span, merged), merged)
        self._index.remove_replaced()


def kept(folder: Path) -> Keeping:
    """For how long the store keeps what. MachineFailed where its keep.json is damaged."""
    try:
        return {**USUAL, **from_plain(dict[str, float], from_json(settings_in(folder / "keep.json").encode()))}
    except FileNotFoundError:
        return USUAL
    except ValueError as error:
        raise MachineFailed(f"The store's '{folder / 'keep.json'}' cannot be read: {error}.") from None


def keep(folder: Path, keeping: Keeping) -> None:
    """From now on the store keeps readings and rollups for so long."""
    with replacing(folder / "keep.json") as making:
        making.write_text(json.dumps(dict(keeping)))
