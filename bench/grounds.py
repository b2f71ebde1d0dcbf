"""On which MPIs messages are compared, and why not on others."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hpcc import MissingError
from imb import PATTERNS, Ground, Programs, beside_loop, mpis, on_intel, on_mpich, on_site

from steelyard.measure import build
from steelyard.measure.plan import catalogue
from steelyard.model import Machine, Tool


def builder(patterns: Sequence[str], toolchain: build.Toolchain) -> Programs:
    """Compiles our programs of these patterns against an MPI."""
    known = catalogue.find()
    benchmarks = {pattern: known[f"network.{pattern}"] for pattern in patterns if f"network.{pattern}" in known}

    def programs(mpi: Tool) -> Mapping[str, Path]:
        built = build.build(benchmarks.values(), toolchain, mpi)
        return {pattern: built[benchmark.name] for pattern, benchmark in benchmarks.items()}

    return programs


def beside_imb(
    machine: Machine, toolchain: build.Toolchain, install: bool, folder: Path
) -> tuple[list[Ground], list[str]]:
    """The MPIs on which both sides run, and why the others are left out."""
    programs = builder(list(PATTERNS), toolchain)
    return gathered(
        lambda: on_mpich(machine, programs, install),
        lambda: on_intel(machine, programs, install),
        lambda: on_site(machine, programs, toolchain.compiler, folder),
    )


def beside_loops(
    machine: Machine, toolchain: build.Toolchain, install: bool, folder: Path
) -> tuple[list[Ground], list[str]]:
    """Every MPI, with ours and the plain loop on it."""
    programs = builder(["pingpong"], toolchain)
    missing: list[str] = []
    try:
        known = mpis(machine, install)
    except MissingError as reason:
        known, missing = list(machine.mpis), [str(reason)]
    makes = [lambda m=mpi: beside_loop(m, machine, programs, toolchain.compiler, folder) for mpi in known]
    found, further = gathered(*makes)
    return found, missing + further


def gathered(*makes: Callable[[], Ground]) -> tuple[list[Ground], list[str]]:
    """Those that can be had, and why the others cannot."""
    found: list[Ground] = []
    missing: list[str] = []
    for make in makes:
        try:
            found.append(make())
        except MissingError as reason:
            missing += [str(reason)] if str(reason) not in missing else []
    return found, missing
