"""Mini-applications and programs of others: of each run the time, the figure of merit, and what its check said."""

from dataclasses import dataclass, replace

from steelyard.model import Benchmark, Evaluation, Level, Result
from steelyard.report import values
from steelyard.report.names import slug
from steelyard.statistics.results import applications


@dataclass(frozen=True, kw_only=True)
class Program:
    """A run: the program's title and anchor, its kernel, its problem and who computed it in words, its time, its figure of merit.

    `checked`: what was computed beside what is due.
    """

    title: str
    anchor: str
    part: str
    problem: str
    who: str
    time: values.Shown | None
    merit: values.Shown | None
    meaning: str  # of the figure of merit
    checked: str
    passed: bool
    level: Level
    evidence: str

    @property
    def named(self) -> str:
        """'HPL: the Linpack benchmark (nb 192, 2 ranks)'."""
        return f"{self.title} ({self.where})"

    @property
    def where(self) -> str:
        """Part, problem and who computed it, in one line."""
        return ", ".join(filter(None, (self.part, self.problem, self.who)))


def program_rows(evaluation: Evaluation) -> tuple[Program, ...]:
    """All applications of the run but the NAS Parallel Benchmarks, which have classes and a count of operations in common."""
    every = applications.of_all(evaluation.results)
    mine = [r for r in every if not r.benchmark.startswith(applications.NPB)]
    alike = {"mpi"} if len({r.parameters["mpi"] for r in mine if "mpi" in r.parameters}) < 2 else set()
    found = [_program(r, evaluation, alike) for r in mine]
    further = values.apart(mine, [one.named for one in found])
    return tuple(
        replace(one, who=", ".join(filter(None, (one.who, more)))) for one, more in zip(found, further, strict=True)
    )


def _program(result: Result, evaluation: Evaluation, alike: set[str]) -> Program:
    declared = evaluation.benchmarks.get(result.benchmark)
    name, what = _merit(result, declared)
    machine = evaluation.run.machine
    problem = {name for name in result.parameters if name not in applications.WHO}
    return Program(
        title=declared.title if declared else result.benchmark.removeprefix(applications.EVERY),
        anchor=slug(result.benchmark) if declared else "",
        part="" if result.benchmark.endswith(result.kernel) or _is_only(result, evaluation) else result.kernel,
        problem=applications.named(result, {*applications.WHO, "kernel"}),
        who=applications.named(result, problem | alike),
        time=values.shown(result, "time", declared, machine),
        merit=values.shown(result, name, declared, machine) if name else None,
        meaning=what,
        checked=applications.checked(result),
        passed=applications.verified(result),
        level=values.level(result),
        evidence=values.why(result),
    )


def _is_only(result: Result, evaluation: Evaluation) -> bool:
    """Whether its benchmark has no other kernel in this run."""
    return all(r.kernel == result.kernel for r in evaluation.results if r.benchmark == result.benchmark)


def _merit(result: Result, declared: Benchmark | None) -> tuple[str, str]:
    """The first metric that is declared, and that the result has, besides its time; its name and title. "" for none."""
    known = declared.metrics if declared else ()
    return next(((m.name, m.title) for m in known if m.name != "time" and m.name in result.metrics), ("", ""))
