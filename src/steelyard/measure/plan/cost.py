"""Expected seconds of starts and cases, and the cases that one start can measure. Pure."""

import math
from collections.abc import Iterable, Sequence

from steelyard.measure.machine.openmp import ALIKE
from steelyard.measure.plan.refusal import STARTED, turns
from steelyard.model import Case, Machine, Scalar

# Seconds of mpiexec with two ranks, by the begin of the MPI's name with its version.
PARALLEL_START_SECONDS = {"openmpi-4": 0.5, "mpich": 0.2, "intel": 0.2, "mvapich": 0.2}
RANK_SECONDS = 0.005  # of a start for each further rank of a host, if each rank has a processor
HOSTS_SECONDS = 0.3  # of a start for each doubling of the hosts, which start each other's ranks in a tree
OTHER_START_SECONDS = 1.2  # as Open MPI 5
START_SECONDS = 0.2  # of a program: process, clock calibration, first memory
ASKED_SECONDS = 0.01  # of a case beside set-up and samples: question, condition of the machine, answer
LEAST_SECONDS = 0.03  # of samples, however few are needed: the pace is read before and after them
STOPPED_EARLY = 0.6  # share of a case's time limit that it takes on average: most reach their width before


def case_seconds(case: Case, machine: Machine, shorter: float = 1.0) -> float:
    """Returns the expected seconds of a case in a running program, with its time for samples multiplied by `shorter`."""
    return setup_seconds(case, machine) + shorter * sampling_seconds(case)


def setup_seconds(case: Case, machine: Machine) -> float:
    """Returns the expected seconds of a case outside its samples."""
    return ASKED_SECONDS + case.setup_seconds * _estimate_crowding(machine, case, 2)


def sampling_seconds(case: Case) -> float:
    """Returns the expected seconds of the samples of a case."""
    return max(LEAST_SECONDS, STOPPED_EARLY * case.sampling.seconds)


def start_seconds(cases: Sequence[Case], machine: Machine) -> float:
    """Returns the expected seconds of a start of the program that measures these cases."""
    first = cases[0].parameters
    learned = machine.start_factors.get(str(first.get("mpi", "")), 1.0) * _estimate_crowding(machine, cases[0], 7)
    if "mpi" not in first:
        return START_SECONDS * learned
    known = (seconds for name, seconds in PARALLEL_START_SECONDS.items() if str(first["mpi"]).startswith(name))
    hosts, ranks = max(1, len(machine.hosts)), int(first["ranks"])
    hosts = min(hosts, math.ceil(ranks / int(first.get("ranks_per_node") or max(1, ranks // hosts))))
    seconds = (
        next(known, OTHER_START_SECONDS) + RANK_SECONDS * max(0.0, ranks / hosts - 2) + HOSTS_SECONDS * math.log2(hosts)
    )
    return seconds * learned


def groups(cases: Iterable[Case]) -> list[list[Case]]:
    """Groups the cases that one start can measure: all of a program, but only equal starts for ranks, OpenMP and variants."""
    grouped: dict[tuple[Scalar | None, ...], list[Case]] = {}
    for case in cases:
        by_openmp = case.parameters.get("model") == "openmp"
        alike = STARTED if "mpi" in case.parameters else (*(ALIKE if by_openmp else ()), "variant")
        key = tuple(case.parameters.get(name) for name in alike)
        grouped.setdefault(key, []).append(case)
    return list(grouped.values())


def _estimate_crowding(machine: Machine, case: Case, share: int) -> float:
    """Returns the approximate factor by which set-up takes longer if ranks share a processor.

    Measured with 8 and 32 ranks per processor (Open MPI 4): starts took 1.3 and 4.5 times as long, the whole 1.3 and 7 times.
    """
    return max(1.0, turns(machine, case.parameters) / share)
