"""NPB MG: multigrid for Poisson's equation

Poisson's equation in a periodic cube, with twenty point charges, by V-cycles over grids of every power of two down to 2³. Every
run is verified against the published norm of the residual. The operators follow one another plane by plane while the planes are
in the cache, so that an iteration passes over the finest grid's arrays once; what a box of lines needs of its neighbours it
computes again. Ranks have boxes of the large grids, four points of their neighbours around them, and exchange these once in an
iteration; grids of 16³ and less each of them solves whole.

Reading: Little arithmetic for each byte: the speed of a core is set by how fast planes come from memory and from the second
cache, and a node levels off where its bandwidth is used up. With many ranks the time of the small grids, which nobody shares,
shows.

Caution: An operation is one of NPB's estimate of 58 for a point and iteration; the metric `flops` counts those of the loops as
they are written, without what is computed twice. The residual on the finest grid is never stored: NPB's own program moves
several times the bytes.

With `scale` (`steelyard scale --weak`) the box has so many times the points of a class, a power of two: its edges are doubled
along z, y and x in turn. Nothing is published for it. It is verified by what must hold of any size: the charges, the sum of the
residual, which is 0, its norm by plain loops, and by how much the cycles lessen that, as in the class that grew.

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
