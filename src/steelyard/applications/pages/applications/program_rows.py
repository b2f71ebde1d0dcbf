"""Rows of mini-applications and external programs: time, figure of merit and check of each run."""

from dataclasses import dataclass, replace

from steelyard.model import Benchmark, Evaluation, Level, Result
from steelyard.show.report import values
from steelyard.show.report.names import slug
from steelyard.statistics.results import applications


@dataclass(frozen=True, kw_only=True)
class Program:
    """A run of a program. `part`: its kernel; `problem` and `who`: the problem and the threads and ranks, in words.

    `checked`: the computed values beside the expected ones.
    """

    title: str
    anchor: str
    part: str
    problem: str
    who: str
    time: values.Shown | None
    merit: values.Shown | None
    meaning: str  # meaning of the figure of merit
    checked: str
    passed: bool
    level: Level
    evidence: str

    @property
    def named(self) -> str:
        """Returns the run in words, as 'HPL: the Linpack benchmark (nb 192, 2 ranks)'."""
        return f"{self.title} ({self.where})"

    @property
    def where(self) -> str:
        """Part, problem, threads and ranks, in one line."""
        return ", ".join(filter(None, (self.part, self.problem, self.who)))


def list_programs(evaluation: Evaluation) -> tuple[Program, ...]:
    """Rows of all applications except the NAS Parallel Benchmarks, which have a table with classes."""
    every = applications.select_programs(evaluation.results)
    others = [r for r in every if not r.benchmark.startswith(applications.NPB)]
    alike = {"mpi"} if len({r.parameters["mpi"] for r in others if "mpi" in r.parameters}) < 2 else set()
    rows = [_make_program(r, evaluation, alike) for r in others]
    further = values.apart(others, [row.named for row in rows])
    return tuple(
        replace(row, who=", ".join(filter(None, (row.who, more)))) for row, more in zip(rows, further, strict=True)
    )


def _make_program(result: Result, evaluation: Evaluation, alike: set[str]) -> Program:
    declared = evaluation.benchmarks.get(result.benchmark)
    name, what = _find_merit(result, declared)
    problem = {name for name in result.parameters if name not in applications.WHO}
    return Program(
        title=declared.title if declared else result.benchmark.removeprefix(applications.EVERY),
        anchor=slug(result.benchmark) if declared else "",
        part="" if result.benchmark.endswith(result.kernel) or _is_only(result, evaluation) else result.kernel,
        problem=applications.describe_parameters(result, {*applications.WHO, "kernel"}),
        who=applications.describe_parameters(result, problem | alike),
        time=values.shown(result, "time"),
        merit=values.shown(result, name) if name else None,
        meaning=what,
        checked=applications.describe_check(result),
        passed=applications.verified(result),
        level=values.level(result),
        evidence=values.why(result),
    )


def _is_only(result: Result, evaluation: Evaluation) -> bool:
    """Returns whether the benchmark has no other kernel in this run."""
    return all(r.kernel == result.kernel for r in evaluation.results if r.benchmark == result.benchmark)


def _find_merit(result: Result, declared: Benchmark | None) -> tuple[str, str]:
    """Returns name and title of the first declared metric that the result has, except the time; "" for none."""
    metrics = declared.metrics if declared else ()
    return next(((m.name, m.title) for m in metrics if m.name != "time" and m.name in result.metrics), ("", ""))
