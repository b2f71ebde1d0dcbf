"""The sides of a report that compares several, with the figures of their runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard import doors
from steelyard.compare.modes import NodeRun, select_node
from steelyard.compare.prices import choose_of_sides
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import Side, SideRun
from steelyard.compare.sides import judge_sides, list_letters, restrict_sides
from steelyard.errors import UsageError
from steelyard.measure import records
from steelyard.measure.machine import describe
from steelyard.model import Evaluation, Factors
from steelyard.show.command_line.evaluated_run import read
from steelyard.show.command_line.sides import find_named, put_first, read_sides
from steelyard.show.report.export import narrow, select
from steelyard.show.report.joined_figures import SideFigures
from steelyard.show.report.run_figures import RunFigures, draw_run
from steelyard.show.report.shown_sides import choose_sides
from steelyard.show.report.side_traces import MOST_DRAWN
from steelyard.show.report.sides_of_report import ReportSides


@dataclass
class RunReader:
    """Reads the runs of a report. Each is read once for all that the report has of it."""

    paths: Sequence[Path]
    only: Sequence[str] = ()  # benchmarks or groups; (): all
    _figures: dict[str, RunFigures] = field(default_factory=dict)  # by the folder
    _nodes: dict[str, NodeRun] = field(default_factory=dict)
    _first: dict[str, Evaluation] = field(default_factory=dict)  # the last run of the first side

    def read(self, path: Path, side: int) -> SideRun:
        """Returns a run of the side of that number, and draws its figures if the side is drawn. SteelyardError."""
        evaluation = self._open(path)
        run = reduce_run(evaluation)
        if side == 0:
            self._first = {run.path: evaluation}
        if side < MOST_DRAWN:
            self._figures[run.path] = draw_run(evaluation)
        if side < 2:  # the page on the kernels of the node compares the first two sides
            self._nodes[run.path] = select_node(evaluation)
        return run

    def figures(self, run: SideRun) -> RunFigures:
        """Returns the figures of a run by benchmark. SteelyardError."""
        if run.path not in self._figures:
            self._figures[run.path] = draw_run(self._open(Path(run.path)))
        return self._figures[run.path]

    def node(self, run: SideRun) -> NodeRun:
        """Returns what a run has of the kernels of the node. SteelyardError."""
        return self._nodes.get(run.path) or select_node(self._open(Path(run.path)))

    def evaluate(self, run: SideRun) -> Evaluation:
        """Returns the evaluation of a run. SteelyardError."""
        return self._first.pop(run.path, None) or self._open(Path(run.path))

    def _open(self, path: Path) -> Evaluation:
        return narrow(read(path, self.paths), self.only)


def compare(sides: Sequence[Side], reader: RunReader, prices: Sequence[str] = ()) -> ReportSides:
    """Returns the sides of a report, the baseline first. The report shows the first one that is not a published system."""
    of_sides = choose_of_sides(prices, dict(zip(list_letters(), sides, strict=False)))
    own = next((n for n, side in enumerate(sides) if side.kind != "published"), None)
    judged = judge_sides(sides) if len(sides) > MOST_DRAWN else None
    drawn = choose_sides(judged.comparison, MOST_DRAWN) if judged else range(len(sides))
    figures = SideFigures(
        names=tuple(side.name for side in sides),
        own=own or 0,
        runs=tuple(
            tuple(reader.figures(run) for run in side.runs if run.path and (n != own or len(side.runs) > 1))
            if n in drawn
            else ()
            for n, side in enumerate(sides)
        ),
    )
    return ReportSides(
        sides=tuple(sides), own=own, figures=figures if own is not None else None, read_node=reader.node,
        judgement=judged, prices=of_sides,
    )  # fmt: skip


def read_report(
    names: list[str],
    groups: list[str],
    baseline: str | None,
    runs: Path,
    paths: list[Path],
    traces: list[Path],
    prices: list[str],
    benchmarks: Sequence[str] = (),
) -> tuple[Evaluation | None, ReportSides | None]:
    """Returns the run that the report shows, and all sides if there are several, with these benchmarks or groups only."""
    factors = _read_factors(traces) if traces else ()
    reader = RunReader(paths, benchmarks)
    if len(names) <= 1 and not groups:
        only = find_named(names[0], runs) if names else records.find(runs, None)
        if isinstance(only, Path):
            single = (
                f"The baseline '{baseline}' (given by --baseline)"
                if baseline
                else f"--price {prices[0]}"
                if prices
                else ""
            )
            if single:
                raise UsageError(f"{single} needs at least two sides. Name the runs to compare.")
            return replace(narrow(select(read(only, paths), benchmarks), benchmarks), traces=factors), None
        chosen: tuple[Side, ...] = (only,)
    else:
        chosen = read_sides(names, groups, runs, paths, reader.read)
    sides = compare(restrict_sides(put_first(chosen, names, baseline), benchmarks), reader, prices)
    if sides.own is None:
        if traces:
            raise UsageError("--trace needs a run, but all sides are published systems. Name a run, or omit --trace.")
        return None, sides
    return replace(reader.evaluate(sides.sides[sides.own].runs[-1]), traces=factors), sides


def _read_factors(traces: list[Path]) -> tuple[Factors, ...]:
    readers = doors.modules(doors.TRACES)
    if not readers:
        raise UsageError(
            "This installation cannot read traces (given by --trace). Install Steelyard with its folder whatif."
        )
    machine = describe()
    # Our own reader, the last, says why it cannot read a trace that none accepts.
    return tuple((doors.trace_reader(trace) or readers[-1]).factors(trace, machine) for trace in traces)
