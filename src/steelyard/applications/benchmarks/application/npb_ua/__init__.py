"""NPB UA: heat from a moving source on a mesh that follows it

A source of heat moves through a cube. The program computes how the heat moves and spreads, with spectral elements of order 4.
The mesh has small elements near the source and large elements elsewhere (an octree). After every fifth step, the program makes
a new mesh. Where large and small elements meet, they share values at "mortar points". The indices of these points change with
the mesh. Each step solves a system of equations by ten steps of conjugate gradients. Steelyard compares the integral of the
temperature with the published value in every run.

Reading: Small matrix products within the elements alternate with irregular accesses to the shared points. The speed therefore
depends on vector arithmetic and on the caches. Class W needs about 4 MB, A 15 MB, B 60 MB and C 220 MB. The speed falls where
the data no longer fit into a cache. With phases=on, the record has the time of each phase. All threads make the mesh, but only
one thread makes the octree.

Caution: An operation is not a flop: it is the work for one point of one element in one iteration. A vector register processes
several elements at a time, one in each of its places. Each point belongs to one thread. This thread adds all contributions to
the point, so the program needs no locks. In NPB's own program, a thread also adds to points of other threads and needs locks
for them. Our program is several times faster. It does the same iterations, and its result agrees to 11 digits. The definition
stops the solver after ten iterations, before it converges. A better solver would give other values and fail the check. Class S
takes only milliseconds and is for verification only. There is no version of UA for ranks.

Source: NAS Parallel Benchmarks, NAS-04-006 and NPB 3.4.1 for classes and operation counts. Mortar elements: C. Bernardi, Y.
Maday, A. Patera, 1994. Written anew.
"""

from steelyard.applications.benchmarks.application import npb
from steelyard.statistics.results.applications import PARALLEL

parallel = PARALLEL
openmp = True
CODE = npb.Code(
    kernel="ua",
    models=("threads",),
    seconds={"S": 0.04, "W": 0.22, "A": 2.2, "B": 10, "C": 45, "D": 1000},
    memory={"S": 4e6, "W": 7e6, "A": 2.1e7, "B": 7.6e7, "C": 2.9e8, "D": 4.5e9},
    quick="W",
    usual="A",
    unit="point/s",
)
axes = npb.make_axes(CODE)
metrics = npb.make_metrics(CODE)
limit = npb.limit
figures = npb.make_figures(CODE)
