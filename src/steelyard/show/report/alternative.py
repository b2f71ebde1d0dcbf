"""A figure of a run with one of several compilers, MPIs or variants."""

from dataclasses import dataclass

from steelyard.model import Value
from steelyard.model.scalars import Call
from steelyard.show.report.ratios import with_interval
from steelyard.show.report.values import Shown
from steelyard.statistics.validity.trust import WIDEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A figure with one compiler, MPI or variant. `time_ratio`: its time over that of the first, with a 95 % interval.

    `energy` is that of an operation, in J.
    """

    name: str
    shown: Shown
    value: Value | None
    time_ratio: Value | None = None
    call: Call | None = None
    energy: Value | None = None

    @property
    def span(self) -> str:
        """The ratio and its interval: '1.02 (0.98 – 1.05)'; '' without a ratio. An interval that says nothing is left out."""
        ratio = self.time_ratio
        if ratio is None or ratio.low is None or ratio.high is None:
            return ""
        ends = (None, None) if ratio.high > WIDEST * ratio.low else (ratio.low, ratio.high)
        return with_interval(ratio.value, *ends)

    @property
    def called(self) -> str:
        """The call as a word: 'slower'; '' without one."""
        return self.call.lower() if self.call else ""
