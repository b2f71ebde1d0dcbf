"""Compiles the native programs on the site: the harness once for a toolchain and an MPI, then each benchmark's own loops."""

from collections.abc import Iterable
from pathlib import Path

from steelyard.measure.build.compiling import expect, make
from steelyard.measure.build.openmp import has_openmp
from steelyard.measure.build.program import NATIVE, Program, harness_objects, make_preloaded, program_name, programs
from steelyard.measure.build.time_left import Progress, Show
from steelyard.measure.build.toolchain import FLAGS, default, default_mpi, mpi_name, resolve, resolve_mpi
from steelyard.model import Benchmark, Tool, Toolchain
from steelyard.system.user_cache import cache, inside

__all__ = [
    "FLAGS",
    "NATIVE",
    "Program",
    "Progress",
    "Show",
    "Toolchain",
    "build",
    "cache",
    "default",
    "default_mpi",
    "expect",
    "harness",
    "has_openmp",
    "inside",
    "make",
    "make_preloaded",
    "mpi_name",
    "program_name",
    "programs",
    "resolve",
    "resolve_mpi",
]


def build(benchmarks: Iterable[Benchmark], toolchain: Toolchain, mpi: Tool | None = None) -> dict[str, Path]:
    """The executables of the benchmarks by name, compiled where the cache has none: the serial ones, or with `mpi` the parallel.

    ProgramFailed shows all that the compiler printed.
    """
    wanted = programs(benchmarks, toolchain, mpi)
    make(wanted)
    return {program.name: program.path for program in wanted}


def harness(toolchain: Toolchain, mpi: Tool | None = None) -> list[Path]:
    """Returns the object files of the harness, for programs of users that are linked with it. Compiles missing ones."""
    make([], harnesses=[(toolchain, mpi)])
    return [obj.path for obj in harness_objects(toolchain, mpi)]
