"""Finds everything for a user's request: machine, compilers, MPIs, hosts and benchmarks."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.errors import ProgramFailed, UsageError
from steelyard.measure import build
from steelyard.measure import plan as planning
from steelyard.measure.build import Program
from steelyard.measure.launch import site
from steelyard.measure.machine.mpi_settings import read_mpi_settings
from steelyard.measure.plan import Shape, catalogue, possible, refusal, variants
from steelyard.measure.plan.possible import Settings
from steelyard.measure.records import start_times
from steelyard.measure.run.asking import LOOKING, built_with
from steelyard.measure.screen import Screen
from steelyard.model import Benchmark, Effort, Machine, Plan, Site, Toolchain, Variant
from steelyard.model.left_out import left_out

Programs = Mapping[tuple[str, str], Path]  # (its name, toolchain, with its MPI where it has one) → executable


@dataclass(frozen=True, kw_only=True)
class Request:
    """A user's request: lengths in seconds, settings as values. `resolve` looks for the things that it names."""

    effort: Effort
    only: Sequence[str] = ()
    settings: Settings = field(default_factory=dict)
    toolchains: Sequence[str] = ()  # none: the usual one
    mpis: Sequence[str] = ()
    budget: float | None = None
    wait: float = 0.0  # maximum seconds until the machine is quiet
    system: str | None = None
    hosts: str | None = None
    launcher: str | None = None
    launcher_words: Sequence[str] = ()
    variants: Sequence[Variant] = ()
    seed: int = 1
    paths: Sequence[Path] = ()
    shape: Shape | None = None  # changes the chosen benchmarks and the settings


@dataclass(frozen=True)
class Setup:
    """Everything for plans, programs and launches. `benchmarks` are those that can be built and started here."""

    machine: Machine
    toolchains: Mapping[str, Toolchain]  # by their names in plans and records
    site: Site
    benchmarks: Mapping[str, Benchmark]

    def of(self, plan: Plan) -> "Setup":
        """Returns the setup with only the benchmarks and programs that the plan needs."""
        return replace(self, benchmarks=planning.needed(self.benchmarks, plan))

    def programs(self, screen: Screen) -> Programs:
        """Returns the programs of the benchmarks with each toolchain, and builds those that are not in the cache."""
        wanted = self.wanted()
        with screen.building(", ".join(self.toolchains)) as show, _explain_build_failure(self.toolchains.values()):
            build.make(list(wanted.values()), show)
        return {**self._describe_programs(), **{name: program.path for name, program in wanted.items()}}

    def wanted(self) -> dict[tuple[str, str], Program]:
        """Returns the programs of the benchmarks with each toolchain, in the cache or not."""
        wanted: dict[tuple[str, str], Program] = {}
        # It measures the pace between runs of foreign programs.
        further = [catalogue.find()[LOOKING]] if self._describe_programs() else []
        for t in self.toolchains.values():
            wanted.update({(p.name, t.name): p for p in build.programs(further, t)})
            wanted.update({(p.name, t.name): p for p in build.programs(self.benchmarks.values(), t)})
            for label, mpi in self.site.mpis.items():
                with_it = build.programs(self.benchmarks.values(), t, mpi)
                wanted.update({(p.name, built_with(t.name, {"mpi": label})): p for p in with_it})
        return wanted

    def _describe_programs(self) -> Programs:
        """Returns the files that describe foreign programs, which need no build."""
        return {
            (build.program_name(b.name, s.model), built_with(t, {"mpi": mpi} if s.parallel else {})): Path(s.path)
            for b in self.benchmarks.values()
            for s in b.sources
            for t in self.toolchains
            for mpi in (self.site.mpis if s.parallel else [""])
            if s.foreign
        }


@contextmanager
def _explain_build_failure(toolchains: Iterable[Toolchain]) -> Iterator[None]:
    """UsageError for a build that failed with compiler flags of the user."""
    try:
        yield
    except ProgramFailed as failure:
        for toolchain in toolchains:
            given = [word for word in toolchain.flags.split() if word not in build.FLAGS.split()]
            if given and all(word in failure.command for word in given):
                raise UsageError(
                    f"The kernels cannot be built with the compiler flags '{' '.join(given)}' (given by --toolchain). Remove or "
                    f"correct the flag that the compiler names.\n{failure}"
                ) from failure
        raise


def machine(system: str | None = None) -> Machine:
    """Returns this machine, with the facts of a system file if one is named."""
    from steelyard.measure.machine import describe
    from steelyard.measure.machine.system_file import find_system

    return describe(system_file=find_system(system) if system else None)


def resolve(request: Request) -> Setup:
    """Finds everything for the request on this machine. UsageError if something is missing."""
    here = replace(machine(request.system), hosts=site.hosts(request.hosts))
    where = site.site(request.mpis, request.launcher, request.launcher_words, here)
    where = replace(where, variants=tuple(request.variants))
    variants.expect_mpis(where.variants, list(where.mpis), where.launcher)
    here = replace(
        here, mpi_settings=read_mpi_settings(where.mpis.values(), os.environ), start_factors=start_times.load(here)
    )
    toolchains = [build.resolve(text, here, named=True) for text in (request.toolchains or [build.default(here)])]
    _expect_distinct(toolchains)
    chosen = catalogue.choose(catalogue.find(request.paths), request.only)
    able = site.select_possible(chosen, where, request.only)
    return Setup(here, {t.name: t for t in toolchains}, where, able)


def _expect_distinct(toolchains: Sequence[Toolchain]) -> None:
    """UsageError where two compilers have one name in the records, by which their results would be mixed."""
    for one in toolchains:
        if other := next((t for t in toolchains if t.name == one.name and t.compiler != one.compiler), None):
            raise UsageError(
                f"The compilers {one.compiler} and {other.compiler} are both {one.name} (given by --toolchain). Their "
                "results would have the same name. Measure them in two runs, and compare these."
            )


def plan(request: Request, setup: Setup | None = None) -> tuple[Plan, Setup, list[str]]:
    """The plan, what it is carried out with, and warnings of what it will be like. UsageError for what cannot be.

    `setup` is what `resolve` has found, if it was called before.
    """
    setup = setup or resolve(request)
    chosen, settings = setup.benchmarks, request.settings
    if request.shape:
        chosen, settings = request.shape(chosen, setup.machine, request.effort, settings)
    _expect_openmp(settings, setup.toolchains.values())
    made = planning.make(
        chosen, setup.machine, request.effort, settings, list(setup.toolchains),
        request.budget, request.seed, list(setup.site.mpis), request.variants,
    )  # fmt: skip
    warnings = refusal.warnings(made, setup.machine)
    excluded = possible.describe_excluded(chosen, setup.machine, request.effort, settings)
    if excluded:
        warnings.append(f"The run leaves out combinations that are not possible: {excluded}.")
    if not made.left_out and (unused := refusal.unused(made, settings, excluded)):
        warnings.append(unused)
    if made.left_out:
        planned = Counter(case.benchmark for launch in made.launches if launch.repetition == 1 for case in launch.cases)
        note = left_out(planned, made.left_out, request.budget, made.preset)
        first = "It measures the main figures first, then a case of each benchmark, then the rest."
        more = "To measure more cases, use a longer preset or a larger --budget, or choose benchmarks with --only."
        warnings.append(f"{note} {more if request.budget is None else first}")
    return made, replace(setup, benchmarks=chosen).of(made), warnings


def _expect_openmp(settings: Settings, toolchains: Iterable[Toolchain]) -> None:
    """UsageError where OpenMP was asked for and a compiler has no runtime of it."""
    if "openmp" not in settings.get("model", ()):
        return
    for toolchain in toolchains:
        if not build.has_openmp(toolchain):
            raise UsageError(
                f"The compiler {toolchain.name} has no OpenMP runtime (given by --set model=openmp): a program with -fopenmp "
                "and <omp.h> cannot be built. Clang's runtime is a separate package: apt-get install libomp-dev. "
                "Other models need none."
            )
