"""Runs whose results are the printed numbers of the five evaluations: records are judged and drawn as those of a real run."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import builders
from folders import ROOT
from steelyard.judge.evaluation.judging import add_limits, evaluate_run
from steelyard.measure import published
from steelyard.measure.published import Published
from steelyard.measure.records.best_pace import Best
from steelyard.model import Benchmark, Evaluation, Machine, Result, Scalar
from steelyard.model.figure import Figure, Series
from steelyard.show.report import drawing, run_figures, values
from steelyard.show.report.pages import benchmark as benchmark_page
from steelyard.statistics.results.launch_medians import add_launch_times
from steelyard.statistics.results.result import results

SAMPLES = 30  # of each launch: enough for metrics that ask for 25


def case(
    name: str,
    kernel: str,
    parameters: Mapping[str, Scalar],
    seconds: float,
    work: Mapping[str, float],
    *,
    hosts: Sequence[str] = (),
    ranks: Sequence[float] = (),
    details: Mapping[str, Any] | None = None,
    clock: float = builders.CLOCK,
    **more: Any,
) -> Result:
    """A case whose samples all last `seconds`. `hosts`: the host of each rank; `ranks`: the seconds of each rank."""
    around: dict[str, Any] = {"details": details} if details else {}
    if hosts or ranks:
        taken = [[each] * SAMPLES for each in ranks or [seconds] * len(hosts)]
        around["ranks"] = {"hosts": list(hosts or ["node1"] * len(ranks)), "seconds": taken}
    return builders.result(
        name, kernel, parameters, seconds, work, surroundings=around, clock=(clock,), spread=0.0, **more
    )  # fmt: skip


def judged(
    made: Iterable[Result],
    where: Machine | None = None,
    findings: bool = False,
    programs: Iterable[Benchmark] = (),
    **run: Any,
) -> Evaluation:
    """The run of these results: metrics, limits and, if asked for, findings come from the records."""
    made = tuple(made)
    known = {**builders.known(), **{program.name: program for program in programs}}
    benchmarks = {name: known[name] for name in sorted({r.benchmark for r in made})}
    recorded = builders.evaluation(made, where, **run).run
    if findings:
        return evaluate_run(recorded, benchmarks, best=Best({}))
    recorded = replace(recorded, machine=add_limits(recorded.machine, recorded.records))
    measured = tuple(map(add_launch_times, results(recorded.records, benchmarks)))
    return builders.with_limits(Evaluation(run=recorded, benchmarks=benchmarks, results=measured, findings=()))


@dataclass(frozen=True)
class Shown:
    """The page of a benchmark: its figures by their titles, as data and as drawn, and its tables."""

    figures: Mapping[str, Figure]
    page: benchmark_page.BenchmarkPage

    def lines(self, title: str, x: str, y: str, unit: str) -> dict[str, Series]:
        """The measured lines of a figure by name; the figure must be drawn and have these axes."""
        figure = self.figures[title]
        assert (figure.x.title, figure.y.title, figure.y.unit) == (x, y, unit)
        assert self.drawn(title).rows
        return {s.name: s for s in figure.series if not s.published}

    def drawn(self, title: str) -> drawing.Drawn:
        one = self.page.figures[list(self.figures).index(title)]
        assert one.title.startswith(title)
        assert not one.error
        return one

    def beside(self, title: str, system: str) -> dict[str, Series]:
        """The printed lines of a system in a figure, by name; a reader must be able to show each."""
        lines = {s.name: s for s in self.figures[title].series if s.published and s.name.startswith(system)}
        choices = [line for one in self.drawn(title).published for line in one.lines if one.name.startswith(system)]
        assert len(choices) == len(lines)
        return lines

    @property
    def titles(self) -> set[str]:
        """Titles of figures that show something, and of metrics in the table."""
        filled = {f.title for f in self.figures.values() if any(_numbers(f)) or f.cells}
        columns = {name for table in self.page.tables for name in (table.metric, *table.others)}
        return filled | columns


def show(evaluation: Evaluation, name: str) -> Shown:
    """The page of a benchmark of the run."""
    made = run_figures.make(evaluation.benchmarks[name], values.of_benchmark(evaluation, name), evaluation.run.machine)
    page = benchmark_page.data(evaluation, name, benchmark_page.figures(evaluation, name))
    assert len(page.figures) == len(made)
    return Shown({f.title: f for f in made}, page)


def _numbers(figure: Figure) -> Iterable[float]:
    yield from (y for s in figure.series if not s.published for y in s.y if y is not None)
    yield from (z for row in figure.z for z in row if z is not None)


def printed(source: str, benchmark: str, metric: str, **where: Scalar) -> list[Published]:
    """The printed numbers of a source in the order of its data; at least one."""
    found = [e for e in published.select(benchmark, metric, **where) if e.source == source]
    assert found
    return found


def sockets(count: int, nodes_of_each: int, cores: int, **changed: Any) -> Machine:
    """Sockets with so many memory nodes each, and so many cores altogether."""
    nodes = count * nodes_of_each
    here = builders.machine(nodes=nodes, cores=cores, **changed)
    grouped = tuple(replace(c, socket=c.node // nodes_of_each) for c in here.cores)
    near = [[10 if n == m else 12 if n // nodes_of_each == m // nodes_of_each else 21 for m in range(nodes)]
            for n in range(nodes)]  # fmt: skip
    return replace(
        here,
        cores=grouped,
        nodes=tuple(replace(n, distances=tuple(near[n.number])) for n in here.nodes),
    )


# --------------------------------------------------------------------------- the rows of the page of the evaluations

PAGE = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")


def rows() -> list[tuple[str, str, str, str, str]]:
    """(document, its table or figure, content, command, where) of each line of the page's tables."""
    found = []
    for part in PAGE.split("\n## ")[1:]:
        for line in part.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
            if len(cells) == 4 and cells[0] not in ("original", "---"):
                found.append((part[:3], cells[0], cells[1], cells[2].strip("`"), cells[3]))
    return found


def row(document: str, original: str, content: str = "") -> Callable[[Callable[[], Iterable[str]]], Callable[[], None]]:
    """Declares the test of a row of the page. The test returns the titles that it found filled: those that the row names."""

    def declare(test: Callable[[], Iterable[str]]) -> Callable[[], None]:
        @wraps(test)
        def checked() -> None:
            (where,) = (r[4] for r in rows() if r[:2] == (document, original) and content in r[2])
            filled = set(test())
            assert set(re.findall(r'"([^"]+)"', where)) <= filled

        return checked

    return declare
