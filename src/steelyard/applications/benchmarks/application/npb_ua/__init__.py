"""NPB UA: heat from a moving source on a mesh that follows it

The program computes how heat is carried and spreads in a cube, by spectral elements of order 4. The elements are the leaves of
an octree that is fine around a moving source; every fifth step makes the mesh anew. Where large elements meet small ones, they
share values at "mortar points", through indices that change with the mesh. Each step solves a system by ten steps of conjugate
gradients. Every run is verified against the published integral of the temperature.

Reading: Short dense products within elements alternate with gathers over shared points, so both vectors and caches count. Class
W takes about 4 MB, A 15 MB, B 60 MB, C 220 MB: the speed falls where the next cache no longer holds it. With phases=on the
record has the time of each phase. All threads make the mesh, but one thread makes its octree.

Caution: An operation is one point of one element advanced by one iteration, not a flop. A vector register processes as many
elements at a time as it has places. Each point belongs to one thread, which adds all contributions to it, so no locks are
needed. In NPB's own program each thread adds to the points of other threads, under locks. Ours is several times faster, with
the same iterations and the same result to 11 digits. Ten iterations do not converge, on purpose: a better solver would not be
verified. Class S lasts milliseconds and is for verification only. There is no UA for ranks.

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
axes = npb.axes_of(CODE)
metrics = npb.metrics_of(CODE)
limit = npb.limit
figures = npb.figures_of(CODE)
