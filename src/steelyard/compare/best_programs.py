"""The best case of each program and problem of a side, whatever the threads, ranks and nodes that it used."""

from collections.abc import Iterable, Mapping

from steelyard.compare.classes import PROGRAMS
from steelyard.compare.side import Side, SideCase, list_plain
from steelyard.statistics.results import applications

# Parameters in which systems may differ: each has the fastest of its own.
FREE = (
    "threads", "ranks", "ranks_per_node", "nodes", "hosts", "between", "rack_units", "model", "mpi", "toolchain", "compiler",
    "pinning", "placement", "memory_policy", "transport", "wait_policy", "mapping", "start", "phases",
)  # fmt: skip

Problem = tuple[str, str, tuple[tuple[str, str], ...]]  # benchmark, kernel, parameters that say what was solved


def find_best_programs(side: Side, metric: str) -> Mapping[Problem, SideCase]:
    """Returns the case with the least time or energy for each program, kernel and problem."""
    best: dict[Problem, SideCase] = {}
    for case in _programs(side):
        if metric in case.metrics:
            solved = tuple(sorted((k, str(v)) for k, v in case.parameters.items() if k not in FREE))
            key = (case.benchmark, case.kernel, solved)
            if key not in best or case.metrics[metric].value < best[key].metrics[metric].value:
                best[key] = case
    return best


def _programs(side: Side) -> Iterable[SideCase]:
    """Yields the programs that ran as they should: published ones, and those whose time counts (see `SideCase.timed`).

    A time that is too short counts, too: it is the best of its side, and a longer one would hide how fast the machine is.
    """
    return (
        c
        for c in list_plain(side)
        if c.benchmark.partition(".")[0] in PROGRAMS and (c.timed or c.level == "FOREIGN" or _is_short(c))
    )


def _is_short(case: SideCase) -> bool:
    time = case.metrics.get("time")
    short = time is not None and time.value < applications.LEAST_SECONDS
    return short and case.parameters.get("class") not in applications.TOO_SMALL
