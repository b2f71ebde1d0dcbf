"""NPB LU: implicit flow, triangular sweeps

The program advances the compressible Navier-Stokes equations on a cubic grid by symmetric successive over-relaxation. Each step
solves a lower and an upper block-triangular system, point after point in the order of the grid, and then computes the new
residual. A point must wait for its neighbours in three directions. Therefore the threads or ranks start one after the other and
move through the planes as a wavefront. Steelyard compares norms of the residual and of the error, and a surface integral, with
the published values in every run.

Reading: Both the arithmetic and the memory limit this program. In each step, a point needs several hundred operations, and each
of two passes reads the state, the forcing and the residual of the point from the memory. With many ranks, the program sends a
very large number of small messages: one for each plane, sweep and neighbour. Therefore the latency of the network matters more
than its bandwidth. At the start and at the end of the wavefront some threads or ranks wait. This time grows with their number.

Caution: Operations are NPB's count. Our program needs only 714 floating-point operations for each point and step, which is 35
to 36 % of this count. Its algorithm is better: it does not calculate the blocks of 5 x 5 as matrices, and it computes the
residual within the next sweep. The Mop/s use NPB's count. Therefore a system that runs NPB's own program does nearly three
times the arithmetic for the same Mop/s. Vectors process the points of one wavefront, in the same order as NPB. Each part of the
grid needs at least two points in x and in y. Class S takes only milliseconds and is for verification only.

With the parameter `scale` (used by `steelyard scale --weak`), the grid is a cube with about a multiple of the inner points of a
class. There are no published values for such a grid. Steelyard therefore checks conditions that hold for any size. It
calculates the residual again, point by point, from the definition of the equations. It also checks that one more step solves
its two triangular systems, with newly calculated derivatives, in the middle plane of each block and across the borders of the
blocks.

Source: NAS Parallel Benchmarks, RNR-94-007 section 3 (LU), NAS-95-020; classes and operation counts as in NPB 3.4.1. Written
anew.
"""

from steelyard.applications.benchmarks.application import npb
from steelyard.statistics.results.applications import PARALLEL

MOST = {"S": 5, "W": 15, "A": 31, "B": 50, "C": 80, "D": 203}  # blocks in x or y: each needs two of the inner points


def _fits_grid(blocks: int, size: str) -> bool:
    return any(blocks % across == 0 and blocks // across <= MOST[size] for across in range(1, MOST[size] + 1))


parallel = PARALLEL
openmp = True
CODE = npb.Code(
    kernel="lu",
    models=("threads", "mpi"),
    seconds={"S": 0.003, "W": 0.25, "A": 1.9, "B": 9, "C": 40, "D": 900},
    memory={"S": 2e6, "W": 1e7, "A": 5e7, "B": 1.8e8, "C": 6.2e8, "D": 9e9},
    quick="W",
    usual="A",
    counted="LU: the Mop/s use NPB's count of operations. Our program carries out only 35 to 36 % of them (714 flops "
    "for each point and step), because its algorithm is better. For this reason alone, it appears nearly three "
    "times as fast as NPB's own program.",
    usable=_fits_grid,
    grows=True,
)
axes = npb.make_axes(CODE)
demands = npb.make_demands(CODE, ("ranks", "threads"))
metrics = npb.make_metrics(CODE)
limit = npb.limit
figures = npb.make_figures(CODE)
