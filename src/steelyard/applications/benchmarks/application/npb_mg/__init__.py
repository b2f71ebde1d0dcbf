"""NPB MG: multigrid for Poisson's equation

The program solves Poisson's equation in a periodic cube, with twenty point charges, by V-cycles over grids of every power of
two down to 2³. Every run is verified against the published norm of the residual. The operators follow each other plane by plane
while the planes are in the cache, so an iteration passes over the arrays of the finest grid once. A box of lines computes the
values that it needs of its neighbours again. Ranks have boxes of the large grids with four points of their neighbours around
them, and exchange these once in an iteration. Every rank solves grids of 16³ and less as a whole.

Reading: There is little arithmetic for each byte. The memory and the second-level cache set the speed of a core, and a node
levels off where its bandwidth is used up. With many ranks the time of the small grids counts, since the ranks do not share
them.

Caution: An operation is one of NPB's estimate of 58 for each point and iteration. The metric `flops` counts those of the loops,
without the values that are computed twice. The residual on the finest grid is never stored; NPB's own program moves several
times the bytes.

With `scale` (`steelyard scale --weak`) the box has a multiple of the points of a class, a power of two: its edges double along
z, y and x in turn. There are no published values for it. It is verified by properties of any size: the charges, the sum of the
residual (which is 0), its norm by plain loops, and the reduction of the norm by the cycles, as in the original class.

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
    grows=True,
)
axes = npb.axes_of(CODE)
metrics = npb.metrics_of(CODE)
limit = npb.limit
figures = npb.figures_of(CODE)
