"""The best pace of a machine: updated by every record, and kept from run to run.

A load that lasts for a whole case or run is visible only in comparison with the pace at another time.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import cast

from steelyard.model import UNCHANGED, Machine, Parameters, Record, Run, Shown
from steelyard.model.observed import Kind
from steelyard.records.writing import write_whole
from steelyard.statistics.validity.pace import MEASURES, THIRD, UNBOUNDED, Bounds, Measure, typicals

KEPT_RUNS, KEPT_DAYS = 20, 90  # only the latest, since firmware, cooling and hosts change

_Case = tuple[str, ...]  # see `_case`

# Parameters that decide between which ranks messages go, and by which way.
BETWEEN = ("mpi", "ranks", "transport", "placement", "ranks_per_node", "mapping", "partner")
OF_VARIANT = "variant:"


class Best:
    """The best pace of each kind for each kind of case, from earlier runs and from the records of this one."""

    def __init__(self, earlier: Mapping[str, float]) -> None:
        self._earlier = dict(earlier)
        self._now: dict[str, list[float]] = {}  # the leading medians of each key
        self._read: dict[tuple[int, int, int], tuple[_Case, dict[Kind, float]]] = {}  # the medians of each record
        self._bounds: dict[_Case, Bounds] = {}  # they follow from the paces

    def learn(self, record: Record) -> dict[Kind, float]:
        """Adds the readings beside the samples of a record and returns them; {} if threads shared processors by turns."""
        if record.surroundings.oversubscribed:
            return {}
        case, read = _case(record.benchmark, record.kernel, record.parameters), typicals(record)
        self._read[record.launch, record.case, record.attempt] = case, read
        keys = _keys(case)
        for kind, pace in read.items():
            paces, measure = self._now.get(keys[kind], []), MEASURES[kind]
            if len(paces) == THIRD and measure.best((pace, paces[-1])) == paces[-1]:
                continue  # as for most records
            leading = measure.leading((*paces, pace))
            if leading != paces:
                self._now[keys[kind]] = leading
                self._bounds.clear()
        return read

    def bounds(self, benchmark: str, kernel: str, parameters: Parameters) -> Bounds:
        """Returns the bounds for a case whose `parameters` include its toolchain."""
        return self._bounds_of(_case(benchmark, kernel, parameters))

    def _bounds_of(self, case: _Case) -> Bounds:
        if case not in self._bounds:
            best = ((kind, self._best(kind, key)) for kind, key in _keys(case).items())
            self._bounds[case] = Bounds({kind: pace for kind, pace in best if pace is not None})
        return self._bounds[case]

    def bounds_of(self, record: Record) -> Bounds:
        """Returns the bounds for a record; no bounds if more threads than processors shared them by turns."""
        if record.surroundings.oversubscribed:
            return UNBOUNDED
        return self.bounds(record.benchmark, record.kernel, record.parameters)

    def shares(self, record: Record) -> dict[Kind, float]:
        """Returns the typical pace beside a learned record over the best, by kind; 1 is equally good."""
        case, read = self._read.get((record.launch, record.case, record.attempt), (None, {}))
        return {} if case is None else self._shares(case, read)

    def slowest(self) -> dict[Kind, float]:
        """Returns by kind the share of the best that all but a twentieth of the records reached."""
        shares: dict[Kind, list[float]] = {}
        for case, read in self._read.values():
            for kind, share in self._shares(case, read).items():
                shares.setdefault(kind, []).append(min(1.0, share))
        return {kind: sorted(column)[len(column) // 20] for kind, column in shares.items()}

    def _shares(self, case: _Case, read: Mapping[Kind, float]) -> dict[Kind, float]:
        best = self._bounds_of(case).best
        return {kind: MEASURES[kind].share(pace, best[kind]) for kind, pace in read.items() if kind in best}

    def all(self) -> dict[str, float]:
        """Returns the best pace of each key in this run, without those of its variants: another run may call others so."""
        return {key: leading[-1] for key, leading in self._now.items() if OF_VARIANT not in key}

    def _best(self, kind: Kind, key: str) -> float | None:
        candidates = self._now.get(key, [])[-1:]
        if key in self._earlier:
            candidates.append(self._earlier[key])
        return MEASURES[kind].best(candidates) if candidates else None


def learned(run: Run) -> Best:
    """Returns the best pace of the machine before and during a run."""
    best = Best(run.shown.best)
    for record in run.records:
        best.learn(record)
    return best


def load(machine: Machine) -> Shown:
    """Returns the best pace of this machine in earlier runs; empty if there were none."""
    runs = _read_runs(_file(machine))
    best: dict[str, float] = {}
    slowest: dict[str, float] = {}
    for _, shown, slow in runs:
        for key, value in shown.items():
            best[key] = _measure(key).best((best.get(key, value), value))
        for kind, share in slow.items():
            slowest[kind] = min(slowest.get(kind, 1.0), share)
    return Shown(best, len(runs), runs[0][0] if runs else "", slowest)


def save(machine: Machine, best: Best) -> None:
    """Adds the paces of a run to the user's cache and removes old ones. Does nothing if the cache cannot be written."""
    file, paces = _file(machine), best.all()
    if not paces:
        return
    from steelyard.user_cache import inside

    now = datetime.now(UTC).isoformat(timespec="seconds"), paces, {str(k): share for k, share in best.slowest().items()}
    runs = [*_read_runs(file), now][-KEPT_RUNS:]
    written = {"format": 1, "runs": [{"at": at, "best": shown, "slowest": slow} for at, shown, slow in runs]}
    try:
        inside("pace")
        write_whole(file, json.dumps(written, indent=1))
    except OSError:
        return


def _read_runs(file: Path) -> list[tuple[str, dict[str, float], dict[str, float]]]:
    """Returns the time, the best and the slowest paces of each run in the file; [] if it cannot be read."""
    oldest = datetime.now(UTC) - timedelta(days=KEPT_DAYS)
    try:
        runs = json.loads(file.read_text(encoding="utf-8"))["runs"]
        return [
            (
                str(r["at"]),
                _sound(r["best"]),
                {kind: share for kind, share in _sound(r.get("slowest", {})).items() if share <= 1},
            )
            for r in runs
            if datetime.fromisoformat(r["at"]) >= oldest
        ]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []


def _sound(best: Mapping[str, object]) -> dict[str, float]:
    return {
        key: float(value)
        for key, value in best.items()
        if key.partition(" ")[0] in MEASURES and isinstance(value, int | float) and math.isfinite(value) and value > 0
    }


def _file(machine: Machine) -> Path:
    from steelyard.user_cache import cache

    hosts = tuple((host.name, host.slots) for host in machine.hosts)
    identity = (machine.host, machine.processor, len(machine.cores), machine.memory >> 30, os.cpu_count(), hosts)
    return cache() / "pace" / (hashlib.sha256(repr(identity).encode()).hexdigest()[:16] + ".json")


def _case(benchmark: str, kernel: str, parameters: Parameters) -> _Case:
    """Returns the key of a best pace: the toolchain, the computation, its number of workers, and the way of messages."""
    count = parameters.get("ranks", parameters.get("threads", 1))
    between = [str(parameters.get(name, "")) for name in BETWEEN]
    if (variant := parameters.get("variant", UNCHANGED)) != UNCHANGED:
        between.append(f"{OF_VARIANT}{variant}")
    return (str(parameters.get("toolchain", "")), benchmark, kernel, str(count), *between)


@lru_cache(maxsize=10_000)
def _keys(case: _Case) -> Mapping[Kind, str]:
    """Returns the key of each kind. The core clock depends on computation and number of workers, messages on their way."""
    toolchain, benchmark, kernel, count, *between = case
    words: Mapping[Kind, Sequence[str]] = {"core_clock": (benchmark, kernel, count), "exchange": between}
    return {kind: " ".join((kind, toolchain, *words.get(kind, ()))) for kind in MEASURES}


def _measure(key: str) -> Measure:
    return MEASURES[cast(Kind, key.partition(" ")[0])]
