"""The sides of a report: a run, and the runs, groups and published systems that it is compared with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from steelyard.compare.modes import NodeRun, select_node
from steelyard.compare.prices import Prices, add_prices
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import Side, SideRun
from steelyard.compare.sides import JudgedSides, judge_sides
from steelyard.model import Evaluation
from steelyard.show.report.joined_figures import SideFigures
from steelyard.show.report.shown_sides import choose_sides
from steelyard.show.report.side_traces import MOST_SHOWN


@dataclass(frozen=True, kw_only=True)
class ReportSides:
    """The sides of a report, the baseline first.

    `own` is the number of the side whose run the report shows, None if all sides are published systems. `figures` has the
    figures of the drawn sides. `read_node` reads what a run has of the kernels of the node. `judgement`: `judged`, if it is
    known already. `prices` are those of the sides by their letters.
    """

    sides: tuple[Side, ...]
    own: int | None
    figures: SideFigures | None
    read_node: Callable[[SideRun], NodeRun]
    judgement: JudgedSides | None = None
    prices: Mapping[str, Prices] = field(default_factory=dict)

    @cached_property
    def judged(self) -> JudgedSides:
        """All sides compared with the baseline, with the calls of all cases."""
        judged = self.judgement or judge_sides(self.sides)
        machines = add_prices(judged.comparison.machines, self.prices)
        return replace(judged, comparison=replace(judged.comparison, machines=machines))

    @cached_property
    def shown(self) -> tuple[int, ...]:
        """Returns the numbers of the sides that are shown at first."""
        return choose_sides(self.judged.comparison, MOST_SHOWN)

    @cached_property
    def joined(self) -> SideFigures | None:
        """Returns `figures` with the sides that are shown at first, and with the results for the titles."""
        if self.figures is None or len(self.sides) < 2:
            return self.figures
        return replace(self.figures, shown=self.shown, compared=self.judged.comparison)

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
