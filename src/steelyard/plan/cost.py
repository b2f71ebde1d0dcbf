"""Expected seconds of starts and cases, and the cases that one start can measure. Pure."""

from collections.abc import Iterable, Sequence

from steelyard.machine.openmp import ALIKE
from steelyard.model import Case, Machine, Scalar
from steelyard.plan.refusal import STARTED, turns

PARALLEL_START_SECONDS = 1.2  # of mpiexec with its ranks (Open MPI 5: 1.2 s, 4: 0.4 s, MPICH: 0.1 s)
START_SECONDS = 0.1  # of a program: process, clock calibration
STOPPED_EARLY = 0.6  # share of a case's time limit that it takes on average: most reach their width before


def case_seconds(case: Case, machine: Machine, shorter: float = 1.0) -> float:
    """Returns the expected seconds of a case in a running program, with its time for samples multiplied by `shorter`."""
    return setup_seconds(case, machine) + shorter * sampling_seconds(case)


def setup_seconds(case: Case, machine: Machine) -> float:
    """Returns the expected seconds of a case outside its samples."""
    return case.setup_seconds * _crowded(machine, case, 2)


def sampling_seconds(case: Case) -> float:
    """Returns the expected seconds of the samples of a case."""
    return STOPPED_EARLY * case.sampling.seconds


def start_seconds(cases: Sequence[Case], machine: Machine) -> float:
    """Returns the expected seconds of a start of the program that measures these cases."""
    seconds = PARALLEL_START_SECONDS if "mpi" in cases[0].parameters else START_SECONDS
    return seconds * _crowded(machine, cases[0], 7)


def groups(cases: Iterable[Case]) -> list[list[Case]]:
    """Groups the cases that one start can measure: all of a program, but only equal starts for ranks, OpenMP and variants."""
    grouped: dict[tuple[Scalar | None, ...], list[Case]] = {}
    for case in cases:
        by_openmp = case.parameters.get("model") == "openmp"
        alike = STARTED if "mpi" in case.parameters else (*(ALIKE if by_openmp else ()), "variant")
        key = tuple(case.parameters.get(name) for name in alike)
        grouped.setdefault(key, []).append(case)
    return list(grouped.values())


def _crowded(machine: Machine, case: Case, share: int) -> float:
    """Returns the approximate factor by which set-up takes longer if ranks share a processor.

    Measured with 8 and 32 ranks per processor (Open MPI 4): starts took 1.3 and 4.5 times as long, the whole 1.3 and 7 times.
    """
    return max(1.0, turns(machine, case.parameters) / share)
