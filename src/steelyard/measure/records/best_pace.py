"""The undisturbed pace of a machine: learned from every reading, and kept from run to run.

A load that lasts for a whole case or run is visible only in comparison with the pace at another time.
"""

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import cast

from steelyard.measure.records.case_places import MARK, MIXED, HostKinds, Places
from steelyard.measure.records.writing import write_whole
from steelyard.model import UNCHANGED, Machine, Parameters, Record, Run, Shown
from steelyard.model.devices import on_device
from steelyard.model.observed import Kind
from steelyard.statistics.samples.plateau import Levels
from steelyard.statistics.validity.measures import MEASURES, Measure
from steelyard.statistics.validity.pace import UNBOUNDED, Bounds, find_typicals, is_cached, readings_of

KEPT_RUNS, KEPT_DAYS = 20, 90  # only the latest of each key, since firmware, cooling and hosts change
FORMAT = 2  # of the file, and the rule behind it; the first kept the third best median, which grows with the number of readings
# An earlier plateau does not count if this run contradicts it: of at least MANY readings fewer than REACHED reach it, and yet
# their plateau is so NEAR that no other load explains it: another thread on the core takes a fifth or more.
MANY, REACHED, NEAR = 100, 0.005, 0.85
OF_MEMORY: frozenset[Kind] = frozenset({"stream", "chase"})

_Case = tuple[str, ...]  # see `_case`
_Measured = tuple[_Case, int]  # and the number of hosts: a reading beside a sample is that of the slowest
_Seen = tuple[str, dict[str, float], dict[str, float]]  # time, best and slow paces of a run

# Parameters that decide between which ranks messages go, and by which way.
BETWEEN = ("mpi", "ranks", "transport", "placement", "ranks_per_node", "mapping", "partner")
OF_VARIANT = "variant:"


class Best:
    """The undisturbed pace of each kind for each kind of case: the plateau of all readings of this run, or of an earlier run.

    On a `machine` with several kinds of cores, memory nodes or kinds of hosts, each of them has its own.
    """

    def __init__(self, earlier: Mapping[str, float], machine: Machine | None = None) -> None:
        self._earlier = dict(earlier)
        self._places = Places(machine)
        self._hosts = HostKinds(machine)
        self._levels: dict[str, Levels] = {}
        self._plateaus: dict[str, float | None] = {}  # of the levels, until they change
        self._read: dict[tuple[int, int, int], tuple[_Measured, dict[Kind, float]]] = {}  # the medians of each record
        self._bounds: dict[_Measured, Bounds] = {}  # they follow from the plateaus

    def learn(self, record: Record) -> dict[Kind, float]:
        """Adds the readings beside a record and returns their medians; {} if threads shared processors by turns."""
        if record.surroundings.oversubscribed:
            return {}
        (case, hosts), read = self._identify_case(record), find_typicals(record)
        self._read[record.launch, record.case, record.attempt] = (case, hosts), read
        for kind, key in _list_keys(case).items():
            usual = MEASURES[kind].of_slowest(1.0, hosts)
            if self._levels.setdefault(key, Levels()).add(reading / usual for reading in readings_of(record, kind)):
                self._plateaus.pop(key, None)
                self._bounds.clear()
        return read

    def bounds(self, benchmark: str, kernel: str, parameters: Parameters) -> Bounds:
        """Returns the bounds for a case whose `parameters` include its toolchain; a device has a pace of its own.

        A case has none before its first record shows which of several kinds of hosts it uses.
        """
        used = self._hosts.expect(parameters)
        if on_device(parameters) or used is None:
            return UNBOUNDED
        kinds, hosts = used
        return self._read_bounds((_case(benchmark, kernel, parameters, self._places.of(parameters), kinds), hosts))

    def _identify_case(self, record: Record) -> _Measured:
        kinds, hosts = self._hosts.learn(record)
        places = self._places.of(record.parameters)
        return _case(record.benchmark, record.kernel, record.parameters, places, kinds), hosts

    def _read_bounds(self, measured: _Measured) -> Bounds:
        if measured not in self._bounds:
            case, hosts = measured
            best = ((kind, self._find_best(kind, key)) for kind, key in _list_keys(case).items())
            paces = {kind: MEASURES[kind].of_slowest(pace, hosts) for kind, pace in best if pace is not None}
            self._bounds[measured] = Bounds(paces)
        return self._bounds[measured]

    def bounds_of(self, record: Record) -> Bounds:
        """Returns the bounds for a record: those of the kinds of pace that its case depends on.

        A case in private caches does not depend on the memory, one on a device not on the processor. Threads that shared
        processors by turns have no bounds.
        """
        if record.surroundings.oversubscribed or on_device(record.parameters):
            return UNBOUNDED
        bounds, host_kinds = self._read_bounds(self._identify_case(record)), self._hosts.of_hosts(record)
        if is_cached(record) and not OF_MEMORY.isdisjoint(bounds.best):
            return Bounds({kind: best for kind, best in bounds.best.items() if kind not in OF_MEMORY}, host_kinds)
        return replace(bounds, host_kinds=host_kinds) if host_kinds else bounds

    def shares(self, record: Record) -> dict[Kind, float]:
        """Returns the typical pace beside a learned record over the plateau, by kind; 1 is equally good."""
        measured, read = self._read.get((record.launch, record.case, record.attempt), (None, {}))
        return {} if measured is None else self._find_shares(measured, read)

    def slow(self) -> dict[Kind, float]:
        """Returns by kind the share of the plateau that all but a twentieth of the records reached."""
        shares: dict[Kind, list[float]] = {}
        for measured, read in self._read.values():
            for kind, share in self._find_shares(measured, read).items():
                shares.setdefault(kind, []).append(min(1.0, share))
        return {kind: sorted(column)[len(column) // 20] for kind, column in shares.items()}

    def _find_shares(self, measured: _Measured, read: Mapping[Kind, float]) -> dict[Kind, float]:
        best = self._read_bounds(measured).best
        return {kind: MEASURES[kind].share(pace, best[kind]) for kind, pace in read.items() if kind in best}

    def all(self) -> dict[str, float]:
        """Returns the plateau of each key in this run, without those of its variants: another run may call others so."""
        plateaus = ((key, self._read_plateau(key)) for key in self._levels if OF_VARIANT not in key)
        return {key: plateau for key, plateau in plateaus if plateau is not None}

    def _read_plateau(self, key: str) -> float | None:
        if key not in self._levels:
            return None
        if key not in self._plateaus:
            measure = _measure(key)
            self._plateaus[key] = self._levels[key].plateau(measure.scatter, measure.higher)
        return self._plateaus[key]

    def _find_best(self, kind: Kind, key: str) -> float | None:
        """Returns the plateau of this run, or an earlier one that is better and that this run does not contradict."""
        measure, now, earlier = MEASURES[kind], self._read_plateau(key), self._earlier.get(key)
        if f"{MIXED}kind" in key:  # its readings come from cores of several kinds by turns: none is their full speed
            return None
        if now is None or earlier is None:
            return earlier if now is None else now
        best = measure.best((now, earlier))
        levels = self._levels[key]
        contradicted = (
            levels.count >= MANY
            and NEAR <= measure.share(now, earlier) < 1
            and levels.share_from(earlier, measure.scatter, measure.higher) < REACHED
        )
        return now if contradicted else best


def here(shown: Shown) -> Mapping[str, float]:
    """Returns the trusted earlier paces of this machine, without those of hosts with other processors."""
    return {key: pace for key, pace in trusted(shown).items() if MARK not in key}


def trusted(shown: Shown) -> Mapping[str, float]:
    """Returns the earlier paces, without those that an older rule found."""
    return shown.best if shown.rule == FORMAT else {}


def learned(run: Run) -> Best:
    """Returns the undisturbed pace of the machine before and during a run."""
    best = Best(trusted(run.shown), run.machine)
    for record in run.records:
        best.learn(record)
    return best


def load(machine: Machine) -> Shown:
    """Returns the best pace of this machine in earlier runs; empty if there were none."""
    runs = _read_runs(find_file(machine))
    best: dict[str, float] = {}
    slow: dict[str, list[float]] = {}
    for _, shown, shares in runs:
        for key, value in shown.items():
            best[key] = _measure(key).best((best.get(key, value), value))
        for kind, share in shares.items():
            slow.setdefault(kind, []).append(share)
    usual = {kind: median(column) for kind, column in slow.items()}
    return Shown(best, len(runs), runs[0][0] if runs else "", usual, FORMAT)


def save(machine: Machine, best: Best) -> None:
    """Adds the paces of a run to the user's cache and removes old ones. Does nothing if the cache cannot be written."""
    file, paces = find_file(machine), best.all()
    if not paces:
        return
    from steelyard.system.user_cache import inside

    now = datetime.now(UTC).isoformat(timespec="seconds"), paces, {str(k): share for k, share in best.slow().items()}
    runs = _select_latest([*_read_runs(file), now])
    written = {"format": FORMAT, "runs": [{"at": at, "best": shown, "slow": slow} for at, shown, slow in runs]}
    try:
        inside("pace")
        write_whole(file, json.dumps(written, indent=1))
    except OSError:
        return


def _select_latest(runs: Sequence[_Seen]) -> list[_Seen]:
    """Returns the runs without those of whose keys each has `KEPT_RUNS` later runs: short runs do not push out whole ones."""
    later: Counter[str] = Counter()
    kept = []
    for run in reversed(runs):
        if any(later[key] < KEPT_RUNS for key in run[1]):
            kept.append(run)
            later.update(run[1].keys())
    return kept[::-1]


def _read_runs(file: Path) -> list[_Seen]:
    """Returns the runs in the file; [] if it cannot be read."""
    oldest = datetime.now(UTC) - timedelta(days=KEPT_DAYS)
    try:
        given = json.loads(file.read_text(encoding="utf-8"))
        runs = given["runs"] if given["format"] == FORMAT else []
        return [
            (
                str(r["at"]),
                _sound(r["best"]),
                {kind: share for kind, share in _sound(r.get("slow", r.get("slowest", {}))).items() if share <= 1},
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


def find_file(machine: Machine, folder: str = "pace") -> Path:
    """Returns the path of the file in this folder of the cache that has what was learned on this machine."""
    from steelyard.system.user_cache import cache

    hosts = tuple((host.name, host.slots) for host in machine.hosts)
    identity = (machine.host, machine.processor, len(machine.cores), machine.memory >> 30, os.cpu_count(), hosts)
    return cache() / folder / (hashlib.sha256(repr(identity).encode()).hexdigest()[:16] + ".json")


def _case(benchmark: str, kernel: str, parameters: Parameters, places: tuple[str, str, str], hosts: str) -> _Case:
    """Returns the key of a pace: the toolchain, the computation, its number of workers, its places, and the way of messages."""
    count = parameters.get("ranks", parameters.get("threads", 1))
    cores, nodes = (" ".join(filter(None, (place, hosts))) for place in places[:2])
    steered = places[2]
    between = [*(str(parameters.get(name, "")) for name in BETWEEN), *filter(None, (steered,))]
    if (variant := parameters.get("variant", UNCHANGED)) != UNCHANGED:
        between.append(f"{OF_VARIANT}{variant}")
    return (str(parameters.get("toolchain", "")), benchmark, kernel, str(count), cores, nodes, *between)


@lru_cache(maxsize=10_000)
def _list_keys(case: _Case) -> Mapping[Kind, str]:
    """Returns the key of each kind. The core clock depends on computation and number of workers, messages on their way."""
    toolchain, benchmark, kernel, count, cores, nodes, *between = case
    words: Mapping[Kind, Sequence[str]] = {
        "core_clock": (benchmark, kernel, count, *filter(None, (cores,))),
        "issued": tuple(filter(None, (cores,))),
        "stream": tuple(filter(None, (nodes,))),
        "chase": tuple(filter(None, (nodes,))),
        "exchange": between,
    }
    return {kind: " ".join((kind, toolchain, *words[kind])) for kind in MEASURES}


def _measure(key: str) -> Measure:
    return MEASURES[cast(Kind, key.partition(" ")[0])]
