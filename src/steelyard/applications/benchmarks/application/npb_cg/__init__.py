"""NPB CG: conjugate gradients on a random sparse matrix

The smallest eigenvalue of a large sparse matrix by inverse iteration, each step of which solves a system of equations
by 25 steps of conjugate gradients. The matrix is random: what it multiplies is gathered from all over a vector. Every
run is verified against the published eigenvalue. Ranks share the matrix in blocks of rows and columns; they swap
parts of vectors by messages (MPI), or put them into each other's memory (MPI's one-sided communication, OpenSHMEM).

Reading: Nearly all of the time goes into reading the matrix once for each step, two floating-point operations for ten
bytes: class A lies in a large last-level cache, from B on the speed is that of memory, and a core more helps as long
as it brings bandwidth. Between two products there are only sums over all ranks and an exchange of vectors: where the
models differ, communication costs.

Caution: NPB counts operations by an estimate of the rows' length, some hundredths off; flop/s are by the entries
there are. The matrix is stored in slices of eight rows with columns numbered in 16 bits, by blocks whose part of the
vector stays in a cache, so that less is moved than by compressed rows with 32 bits; the entries and the steps are
NPB's. Ranks must be a power of two. Class S lasts milliseconds and is for verification only.

With `scale` (`steelyard scale --weak`) the matrix has so many times the rows of a class, and the shift, which must stay above the
greatest eigenvalue of the products, is 5 % larger for each doubling. Nothing is published for it. It is verified by what must
hold of any size: the sum of its entries, as the random vectors give it, the residual of the last system, and Rayleigh's quotient
beside the estimate.

Source: NAS Parallel Benchmarks, RNR-94-007 section 2.2.2 and NPB 3.4.1 for classes and operation counts. Sliced
ELLPACK: M. Kreutzer et al., SIAM J. Sci. Comput. 36 (2014). Written anew.
"""

from steelyard.applications.benchmarks.application import npb
from steelyard.statistics.results.applications import PARALLEL

parallel = PARALLEL
openmp = True
CODE = npb.Code(
    kernel="cg",
    models=("threads", "mpi", "rma", "shmem"),
    seconds={"S": 0.02, "W": 0.1, "A": 0.4, "B": 20, "C": 60, "D": 2000},
    memory={"S": 2e6, "W": 9e6, "A": 3e7, "B": 2e8, "C": 5e8, "D": 9.2e9},
    quick="A",
    usual="A",
    grows=True,
)
axes = npb.axes_of(CODE)
metrics = npb.metrics_of(CODE)
limit = npb.limit
figures = npb.figures_of(CODE)
