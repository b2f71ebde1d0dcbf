"""The sides of a report from runs in memory, as the command makes them from folders."""

from steelyard.compare.modes import select_node
from steelyard.compare.published_side import find_side
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import Side
from steelyard.model import Evaluation
from steelyard.show.report.joined_figures import SideFigures
from steelyard.show.report.pages import node_against
from steelyard.show.report.run_figures import draw_run
from steelyard.show.report.sides_of_report import ReportSides


def side(*evaluations: Evaluation, name: str = "") -> Side:
    """A run as a side, or several as a group."""
    runs = tuple(map(reduce_run, evaluations))
    return Side(name=name or runs[0].run, kind="group" if len(runs) > 1 else "run", runs=runs)


def beside(own: Evaluation, *others: Evaluation, published: str = "") -> ReportSides:
    """The sides of a report of `own`, the baseline, with other runs and a published system."""
    every = (own, *others)
    named = tuple(side(one) for one in every)
    figures = tuple((draw_run(one),) if n else () for n, one in enumerate(every))
    if published:
        named, figures = (*named, find_side(published)), (*figures, ())
    return ReportSides(
        sides=named,
        own=0,
        figures=SideFigures(names=tuple(one.name for one in named), own=0, runs=figures),
        read_node=lambda run: select_node(next(one for one in every if one.run.id == run.run)),
    )


def against(own: Evaluation, base: Evaluation) -> node_against.Page | None:
    """The page on the kernels of the node of a run against another one."""
    return node_against.compare(own, select_node(base))
