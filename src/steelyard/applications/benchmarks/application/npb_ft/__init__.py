"""NPB FT: Fourier transforms in three dimensions

A cube of random complex numbers is transformed once, and its modes are damped, step by step, like heat that spreads; after each
step it is transformed back. Every run is verified against the published checksums of all steps. Eight lines go side by side
through the vectors, planes through each core's own cache; ranks hold planes of one direction, then of another, and exchange the
whole cube in between.

Reading: The memory is read and written twice in each step: the speed of a node levels off where its bandwidth is used up. With
ranks everything goes from each to each once a step, and the network's bisection shows.

Caution: An operation is one of NPB's estimate of the floating-point operations; the metric `flops` counts those that are carried
out, which are fewer. Generator and tables are within the timed region, as NPB has it.

With `scale` (`steelyard scale --weak`) there are so many times the points of a class, a power of two: edges are doubled along z,
y and x in turn. Nothing is published for them. They are verified by what must hold of any size: each checksum beside a sum over
all modes, in which its 1024 points are a geometric series; and the modes beside the initial state, generated anew: its sum, its
energy, and its numbers at three points.

Source: NAS Parallel Benchmarks, RNR-94-007 section 2.2.5; classes, checksums and operation counts as in NPB 3.4.1. Written anew.
"""

from steelyard.applications.benchmarks.application import npb
from steelyard.statistics.results.applications import PARALLEL

parallel = PARALLEL
openmp = True
CODE = npb.Code(
    kernel="ft",
    models=("threads", "mpi"),
    seconds={"S": 0.015, "W": 0.03, "A": 0.6, "B": 7, "C": 30, "D": 600},
    memory={"S": 15e6, "W": 27e6, "A": 420e6, "B": 1.65e9, "C": 6.6e9, "D": 104e9},
    quick="A",
    usual="A",
    unit="op/s",
    grows=True,
)
axes = npb.axes_of(CODE)
metrics = npb.metrics_of(CODE)
limit = npb.limit
figures = npb.figures_of(CODE)
