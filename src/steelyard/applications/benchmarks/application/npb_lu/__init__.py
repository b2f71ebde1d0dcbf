"""NPB LU: implicit flow, triangular sweeps

The compressible Navier-Stokes equations on a cubic grid, advanced by symmetric successive over-relaxation: each step solves a
lower and an upper block-triangular system, point after point in the order of the grid, and computes the residual anew. A point
must wait for its neighbours in three directions, so that threads and ranks follow each other through the planes as a
wavefront. Every run is verified against published norms of residual and error and a surface integral.

Reading: Between arithmetic and memory: each point costs several hundred operations a step, and its state, forcing and residual
are read anew in each of two passes. On many ranks very many small messages count, one a plane, sweep and neighbour: latency
rather than bandwidth, and the wavefront's start and end, in which some wait, grow with the ranks.

Caution: Operations are NPB's count. Carried out are 714 floating-point operations a point and step, 35 to 36 % of that count, by
a better algorithm: the blocks of 5 x 5 are never formed, and the residual is computed within the sweep that follows it. Mop/s
follow the nominal count: a system that runs NPB's own program does nearly three times the arithmetic for the same Mop/s. Points
of one wavefront are worked on as vectors; the order that NPB prescribes is kept. Blocks of the grid need two points in x and y.
Class S lasts milliseconds and is for verification only.

With `scale` (`steelyard scale --weak`) there is a cube of about so many times the inner points of a class. Nothing is published
for it. It is verified by what must hold of any size: the residual is that of the flow's equations by their definition, point by
point; and what one more step changes fulfils the step's two triangular systems, with derivatives of the equations computed anew,
in the plane in the middle of each block, across the borders of blocks, too.

Source: NAS Parallel Benchmarks, RNR-94-007 section 3 (LU), NAS-95-020; classes and operation counts as in NPB 3.4.1.
Written anew.
"""

from steelyard.applications.benchmarks.application import npb
from steelyard.statistics.results.applications import PARALLEL

MOST = 31  # blocks in x or y of class A's 62 inner points: each needs two


def _usable(ranks: int) -> bool:
    return any(ranks % across == 0 and ranks // across <= MOST for across in range(1, MOST + 1))


parallel = PARALLEL
openmp = True
CODE = npb.Code(
    kernel="lu",
    models=("threads", "mpi"),
    seconds={"S": 0.003, "W": 0.25, "A": 1.9, "B": 9, "C": 40, "D": 900},
    memory={"S": 2e6, "W": 1e7, "A": 5e7, "B": 1.8e8, "C": 6.2e8, "D": 9e9},
    quick="W",
    usual="A",
    counted="LU: Mop/s follow NPB's nominal count, of which this program carries out 35 to 36 % (714 flops a point and step) by "
    "a better algorithm: beside NPB's own program on another system it looks nearly three times as fast for that reason alone.",
    usable=_usable,
    grows=True,
)
axes = npb.axes_of(CODE)
metrics = npb.metrics_of(CODE)
limit = npb.limit
figures = npb.figures_of(CODE)
