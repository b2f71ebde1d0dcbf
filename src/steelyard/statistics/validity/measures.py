"""The kinds of pace that are read beside the samples, and how far their readings scatter if nothing disturbs."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from steelyard.model.observed import Kind

if TYPE_CHECKING:  # a sentence on the pace needs no NumPy
    import numpy as np
    from numpy.typing import NDArray

    from steelyard.statistics.samples.interval import Array

RARE = 0.01  # share of the undisturbed readings of one machine that lie beyond the scatter
# Losses relative to the machine's plateau. The rate of issued additions is read within 2 %. Another thread on the core slows
# other work by a fifth to a half, even if it leaves nearly all additions to us. The clock follows heat and load. The memory's
# stream scatters by 15 % if nobody else reads, and loses 30 to 37 % to one other reader; its chase scatters by 5 %.
CLOCK_LOSS, ISSUE_LOSS, STREAM_LOSS, CHASE_LOSS, EXCHANGE_LOSS = 0.12, 0.05, 0.25, 0.08, 0.50


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One kind of pace: whether more is better, and the loss from the plateau at which a reading counts as disturbed.

    `scatter` is half of the relative width of the plateau: how far undisturbed readings lie apart. A reading beyond `most` times
    the plateau is a wrong one.
    """

    kind: Kind
    higher: bool
    loss: float
    scatter: float
    most: float
    cause: str  # the kind of evidence that it is taken for
    words: str  # around a reading
    scale: float
    unit: str

    def written(self, reading: float) -> str:
        return f"{reading * self.scale:.3g} {self.unit}"

    def best(self, readings: Iterable[float]) -> float:
        return (max if self.higher else min)(readings)

    def share(self, reading: float, best: float) -> float:
        """Returns the share of the best; 1 is equally good."""
        return reading / best if self.higher else best / reading

    def bound(self, best: float) -> float:
        """Returns the bound of undisturbed readings from the best."""
        return best * (1 - self.loss) if self.higher else best / (1 - self.loss)

    def of_slowest(self, best: float, machines: int) -> float:
        """Returns the best to expect of readings of which each is that of the slowest of so many equal machines."""
        reached = [NormalDist().inv_cdf((1 - RARE) ** (1 / count)) for count in (1, machines)]
        lost = self.scatter * (reached[1] - reached[0])
        return best * (1 - lost) if self.higher else best / (1 - lost)

    def is_wrong(self, reading: "Array", bound: float) -> "NDArray[np.bool_]":
        """Returns a mask of the readings that no core can reach whose undisturbed readings have this bound."""
        return reading > bound / (1 - self.loss) * self.most

    def holds(self, reading: "Array", bound: float) -> "NDArray[np.bool_]":
        """Returns a mask of the readings within the bound; missing readings count as within."""
        return ~(reading < bound) if self.higher else ~(reading > bound)


# fmt: off
MEASURES = {
    m.kind: m
    for m in (
        Measure(kind="core_clock", higher=True, loss=CLOCK_LOSS, scatter=0.015, most=math.inf, cause="core clock",
                words="the core ran at {}", scale=1e-9, unit="GHz"),
        Measure(kind="issued", higher=True, loss=ISSUE_LOSS, scatter=0.02, most=1.05, cause="shared core",
                words="the core issued {}", scale=1, unit="additions per cycle"),
        Measure(kind="stream", higher=True, loss=STREAM_LOSS, scatter=0.07, most=math.inf, cause="shared memory",
                words="a read of the memory reached {}", scale=1e-9, unit="GB/s"),
        Measure(kind="chase", higher=False, loss=CHASE_LOSS, scatter=0.04, most=math.inf, cause="shared memory",
                words="an access to the memory took {}", scale=1e9, unit="ns"),
        Measure(kind="exchange", higher=False, loss=EXCHANGE_LOSS, scatter=0.1, most=math.inf, cause="slow messages",
                words="a message round trip took {}", scale=1e6, unit="µs"),
    )
}
# fmt: on
