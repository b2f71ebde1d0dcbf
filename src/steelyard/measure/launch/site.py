"""Where ranks are started: the hosts, the MPIs and the launcher that a user names, or that the surroundings tell."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.errors import UsageError
from steelyard.measure import build, mpi
from steelyard.measure.launch import scheduler
from steelyard.measure.launch.hosts import read_hosts
from steelyard.measure.machine.tools import has_shmem
from steelyard.measure.mpi import HOW_TO_INSTALL
from steelyard.model import Benchmark, Host, Machine, Site, Source
from steelyard.system.starts import find_program


def hosts(words: str | None) -> tuple[Host, ...]:
    """The hosts that a user names, as `read_hosts` reads them. None: those of a scheduler's allocation, () outside of one.

    UsageError for what is no list of hosts.
    """
    if words is None:
        within = scheduler.find_allocation()
        return within[1].hosts if within and len(within[1].hosts) > 1 else ()
    return read_hosts(words)


def site(mpis: Sequence[str], launcher: str | None, extra: Sequence[str], machine: Machine) -> Site:
    """The MPIs by their names in the records (the default one where none is named; none where none is), and who starts."""
    chosen = [build.resolve_mpi(text, machine) for text in mpis]
    starter = scheduler.launcher(launcher).name if launcher is not None else _choose_launcher()
    able = machine.mpis if starter != "mpiexec" else tuple(m for m in machine.mpis if mpi.of(m).starters)
    if not chosen and (usual := build.default_mpi(replace(machine, mpis=able))):
        chosen = [usual]
    return Site({build.mpi_name(m): m for m in chosen}, starter, tuple(extra))


def _choose_launcher() -> str:
    """Returns the launcher of a run that names none: within an allocation that of its scheduler, where it is there."""
    within = scheduler.find_allocation()
    launcher = within[0].launcher if within else None
    return launcher.name if launcher and find_program(launcher.name) else "mpiexec"


def select_possible(chosen: Mapping[str, Benchmark], where: Site, asked: Sequence[str]) -> dict[str, Benchmark]:
    """Returns the chosen benchmarks that can run here, with the programs that can be built.

    Without an MPI the parallel ones are left out, or refused if asked for.
    """
    able = {name: replace(b, sources=_select_buildable(b.sources, where)) for name, b in chosen.items()}
    if where.mpis:
        return {name: b for name, b in able.items() if b.sources}
    named = [
        name for name, b in able.items() if not b.sources and any(name == a or name.startswith(a + ".") for a in asked)
    ]
    if named:
        raise UsageError(
            f"The benchmark {named[0]} needs an MPI with its headers, but this machine has none that Steelyard finds. "
            f"{HOW_TO_INSTALL}, or name an MPI: --mpi PATH-OF-mpicxx."
        )
    return {name: b for name, b in able.items() if b.sources}


def _select_buildable(sources: Sequence[Source], where: Site) -> tuple[Source, ...]:
    """Returns the sources that this site can build: parallel ones need an MPI, those of OpenSHMEM an MPI that includes it."""
    with_shmem = tuple(name for name, mpi in where.mpis.items() if has_shmem(mpi))
    return tuple(
        replace(s, mpis=with_shmem) if s.model == "shmem" else s
        for s in sources
        if not s.parallel or (with_shmem if s.model == "shmem" else where.mpis)
    )
