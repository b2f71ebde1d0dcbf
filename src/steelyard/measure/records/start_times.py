"""Time of the starts of programs: learned from the first record of each launch, and kept from run to run."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import median

from steelyard.measure.plan.cost import start_seconds
from steelyard.measure.records.best_pace import find_file
from steelyard.measure.records.writing import write_whole
from steelyard.model import Case, Machine, Record
from steelyard.system.user_cache import inside

FOLDER = "starts"
FEWEST = 3  # starts of an MPI in a run, before its median counts
KEPT_RUNS = 9
GREATEST = 100.0  # factor; what is longer was no start


class StartTimes:
    """The seconds of the starts in this run, as multiples of the expected ones, by the name of the MPI ("": without one)."""

    def __init__(self, machine: Machine) -> None:
        self._usual = replace(machine, start_factors={})
        self._factors: dict[str, list[float]] = {}

    def learn(self, cases: Sequence[Case], first: Record, seconds: float) -> float:
        """Adds the start for these cases, if it and its `first` record together took this time.

        Returns the seconds of the start: the expected ones if the record does not have those of its case.
        """
        usual = start_seconds(cases, self._usual)
        if first.surroundings.phases is None:
            return min(seconds, usual)
        starting = seconds - sum(phase or 0.0 for phase in first.surroundings.phases.values())
        if 0 < starting < GREATEST * usual:
            self._factors.setdefault(str(cases[0].parameters.get("mpi", "")), []).append(starting / usual)
        return max(0.0, starting)

    def factors(self) -> dict[str, float]:
        """Returns the median factor of each MPI with enough starts."""
        return {mpi: median(seen) for mpi, seen in self._factors.items() if len(seen) >= FEWEST}


def load(machine: Machine) -> dict[str, float]:
    """Returns the median factor of the latest runs on this machine by the name of the MPI; {} if there were none."""
    return {mpi: median(seen) for mpi, seen in _read(machine).items()}


def save(machine: Machine, factors: Mapping[str, float]) -> None:
    """Adds the factors of a run to the user's cache. Does nothing without factors, or if the cache cannot be written."""
    if not factors:
        return
    kept = _read(machine)
    for mpi, factor in factors.items():
        kept[mpi] = [*kept.get(mpi, ()), factor][-KEPT_RUNS:]
    with suppress(OSError):
        inside(FOLDER)
        write_whole(find_file(machine, FOLDER), json.dumps(kept, indent=1))


def _read(machine: Machine) -> dict[str, list[float]]:
    """Returns the factors of the latest runs in the file; {} if it cannot be read."""
    try:
        given = json.loads(find_file(machine, FOLDER).read_text(encoding="utf-8"))
        kept = {str(mpi): [float(f) for f in seen if 0 < f < GREATEST][-KEPT_RUNS:] for mpi, seen in given.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
    return {mpi: seen for mpi, seen in kept.items() if seen}
