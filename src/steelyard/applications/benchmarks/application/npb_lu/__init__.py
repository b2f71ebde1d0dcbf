"""NPB LU: implicit flow, triangular sweeps

The program advances the compressible Navier-Stokes equations on a cubic grid by symmetric successive over-relaxation. Each step
solves a lower and an upper block-triangular system, point after point in the order of the grid, and computes the residual anew.
A point must wait for its neighbours in three directions, so threads and ranks pass through the planes as a wavefront. Every run
is verified against published norms of residual and error and a surface integral.

Reading: The program lies between arithmetic and memory. Each point costs several hundred operations in a step, and each of two
passes reads its state, forcing and residual anew. On many ranks a very large number of small messages counts: one for each
plane, sweep and neighbour. So latency matters more than bandwidth. The start and the end of the wavefront, when some workers
wait, grow with the ranks.

Caution: Operations are NPB's count. The program carries out 714 floating-point operations for each point and step, 35 to 36 %
of that count, by a better algorithm: it never forms the blocks of 5 x 5, and it computes the residual within the sweep that
follows. Mop/s follow the nominal count, so a system that runs NPB's own program does nearly three times the arithmetic for the
same Mop/s. Vectors process the points of one wavefront; the order of NPB is kept. Blocks of the grid need two points in x and
y. Class S lasts milliseconds and is for verification only.

With `scale` (`steelyard scale --weak`) the grid is a cube with about a multiple of the inner points of a class. There are no
published values for it. It is verified by properties of any size. The residual is that of the flow's equations by their
definition, point by point. The change of one more step fulfils the two triangular systems of the step, with derivatives of the
equations computed anew, in the middle plane of each block and across the borders of blocks.

Source: NAS Parallel Benchmarks, RNR-94-007 section 3 (LU), NAS-95-020; classes and operation counts as in NPB 3.4.1. Written
anew.
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
    counted="LU: Mop/s use NPB's nominal count. This program carries out 35 to 36 % of it (714 flops for each point and step), "
    "because its algorithm is better. For this reason alone, it appears nearly three times as fast as NPB's own program.",
    usable=_usable,
    grows=True,
)
axes = npb.axes_of(CODE)
metrics = npb.metrics_of(CODE)
limit = npb.limit
figures = npb.figures_of(CODE)
