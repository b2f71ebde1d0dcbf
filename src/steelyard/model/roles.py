"""The parts that a benchmark can play for a whole run. Findings and reports know these, and no benchmark by its name."""

from collections.abc import Callable
from dataclasses import dataclass

from steelyard.model.record import Result
from steelyard.model.scalars import Scalar

SIZES = ("elements", "bytes", "working_set", "working_set_bytes", "size")  # parameters that say how large a problem is


@dataclass(frozen=True, slots=True)
class Headline:
    """A main figure of a run: where it comes from, by parameters at their least or most, and a metric recognised by its unit.

    `name` tells it from others for who writes sentences about it; `order`: the lower the earlier. `usual`: values that are
    taken where they were measured. Of the values of `best` that which is fastest, clean or not, since another is slower by its
    nature. `fits`: what a result must be to bear the title at all. `of_memory`: where its data fit a cache it says so.
    """

    name: str
    title: str
    unit: str
    order: int
    kernel: str | None = None
    least: tuple[str, ...] = ()
    most: tuple[str, ...] = ()
    usual: tuple[tuple[str, Scalar], ...] = ()
    best: str = ""
    fits: Callable[[Result], bool] = lambda result: True
    of_memory: bool = False


@dataclass(frozen=True, slots=True)
class Peak:
    """Its fastest results are the roofs of arithmetic: the metric "flops" in double precision, on vectors and on scalars.

    Parameters: `precision`; `vector_width` or `width` ("scalar", or bits); `operation` ("add_mul": not fused).
    """


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Its `kernel`, over working sets, is the roof that each level of the memory sets: the metrics "traffic" and "bandwidth".

    The records tell their working set, as `working_set` or `bytes` of their work.
    """

    kernel: str


Role = Headline | Peak | Bandwidth
