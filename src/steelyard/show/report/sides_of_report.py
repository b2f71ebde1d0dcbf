"""The sides of a report: a run, and the runs, groups and published systems that it is compared with."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from steelyard.compare.modes import NodeRun, select_node
from steelyard.compare.side import Side, SideRun, reduce_run
from steelyard.compare.sides import JudgedSides, judge_sides
from steelyard.model import Evaluation
from steelyard.show.report.joined_figures import SideFigures


@dataclass(frozen=True, kw_only=True)
class ReportSides:
    """The sides of a report, the baseline first.

    `own` is the number of the side whose run the report shows, None if all sides are published systems. `figures` has the
    figures of the first sides. `read_node` reads what a run has of the kernels of the node.
    """

    sides: tuple[Side, ...]
    own: int | None
    figures: SideFigures | None
    read_node: Callable[[SideRun], NodeRun]

    @cached_property
    def judged(self) -> JudgedSides:
        """All sides compared with the baseline, with the calls of all cases."""
        return judge_sides(self.sides)

    @property
    def other_run(self) -> Side | None:
        """Returns the first side beside the report's own that was measured by Steelyard; None without one."""
        others = (side for n, side in enumerate(self.sides) if n != self.own and not side.is_foreign)
        return next(others, None)


def alone(evaluation: Evaluation) -> ReportSides:
    """Returns the only side of a report of one run."""
    run = reduce_run(evaluation)
    side = Side(name=run.run, kind="imported" if run.imported else "run", runs=(run,))
    return ReportSides(sides=(side,), own=0, figures=None, read_node=lambda _: select_node(evaluation))
