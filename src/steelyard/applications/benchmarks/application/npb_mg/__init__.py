"""NPB MG: multigrid for Poisson's equation

The program solves Poisson's equation in a periodic cube with twenty point charges by the multigrid method. A V-cycle goes from
the finest grid to coarser ones, down to 2³ points, and back; each grid has half of the points along an axis. Steelyard compares
the norm of the residual with the published value in every run. The program applies all operators to a plane while the plane is
in the cache. Therefore each iteration reads and writes the arrays of the finest grid only once. A part of a plane needs some
values of its neighbours. The program computes these values again and does not wait for them. Each rank has a box of the large
grids and a copy of its neighbours' points, four points deep. The ranks exchange these copies once in an iteration. Grids of 16³
points and smaller ones are not divided: every rank solves them completely.

Reading: The program does little arithmetic for each byte. Therefore the memory and the second-level cache limit the speed of a
core. The speed of a node stops growing when its memory bandwidth is used up. With many ranks, the small grids take a larger
share of the time, because the ranks do not divide them.

Caution: NPB estimates 58 operations for each point and iteration, and the Mop/s use this estimate. The metric `flops` counts
the operations of our loops, but not the values that are computed twice. Our program never stores the residual on the finest
grid. NPB's own program moves several times as many bytes.

With the parameter `scale` (used by `steelyard scale --weak`), a power of two, the grid has a multiple of the points of a class:
its edges become twice as long along z, then y, then x. There are no published values for such a grid. Steelyard therefore
checks conditions that hold for any size: the charges, the sum of the residual (it must be 0), the norm of the residual
calculated by plain loops, and how much the cycles reduce this norm, compared with the original class.

Source: NAS Parallel Benchmarks, RNR-94-007 section 2.2.3; classes, norms and operation counts as in NPB 3.4.1. Written anew.
"""

from steelyard.applications.benchmarks.application import npb
from steelyard.statistics.results.applications import PARALLEL

parallel = PARALLEL
openmp = True
CODE = npb.Code(
    kernel="mg",
    models=("threads", "mpi"),
    seconds={"S": 0.001, "W": 0.05, "A": 0.4, "B": 2.0, "C": 16, "D": 320},
    memory={"S": 2e6, "W": 7e7, "A": 5.2e8, "B": 5.2e8, "C": 3.8e9, "D": 2.9e10},
    quick="A",
    usual="A",
    usable=lambda ranks, size: ranks.bit_count() == 1 and ranks <= (64 if size == "S" else 4096),
    grows=True,
)
axes = npb.make_axes(CODE)
demands = npb.make_demands(CODE)
metrics = npb.make_metrics(CODE)
limit = npb.limit
figures = npb.make_figures(CODE)
