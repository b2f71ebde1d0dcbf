"""NPB FT: Fourier transforms in three dimensions

The program transforms a cube of random complex numbers once and damps its modes step by step, like heat that spreads. After
each step it transforms the cube back. Every run is verified against the published checksums of all steps. The vectors process
eight lines at a time, and each core keeps planes in its own cache. Ranks hold planes of one direction, then of another, and
exchange the whole cube in between.

Reading: Each step reads and writes the memory twice, so the speed of a node levels off where its bandwidth is used up. With
ranks, all data go from each rank to each other rank once in a step, and the bisection of the network counts.

Caution: An operation is one of NPB's estimate of the floating-point operations. The metric `flops` counts those that are
carried out, which are fewer. The generator and the tables are within the timed region, as in NPB.

With `scale` (`steelyard scale --weak`) there is a multiple of the points of a class, a power of two: the edges double along z,
y and x in turn. There are no published values for it. It is verified by properties of any size. Each checksum is compared with
a sum over all modes, in which its 1024 points are a geometric series. The modes are compared with the initial state, generated
anew: its sum, its energy, and its numbers at three points.

Source: NAS Parallel Benchmarks, RNR-94-007 section 2.2.5; classes, checksums and operation counts as in NPB 3.4.1. Written
anew.
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
