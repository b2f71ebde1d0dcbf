"""NPB CG: conjugate gradients on a random sparse matrix

The program finds the smallest eigenvalue of a large sparse matrix by inverse iteration. Each step solves a system of equations
by 25 steps of conjugate gradients. The matrix is random, so a product reads from all over a vector. Every run is verified
against the published eigenvalue. Ranks share the matrix in blocks of rows and columns. They exchange parts of vectors by
messages (MPI), or write them into each other's memory (one-sided communication of MPI, OpenSHMEM).

Reading: Nearly all of the time goes into reading the matrix once for each step, with two floating-point operations for ten
bytes. Class A fits into a large last-level cache. From class B on the memory sets the speed, and a further core helps only if
it adds bandwidth. Between two products there are only sums over all ranks and an exchange of vectors. If the programming models
differ, communication costs time.

Caution: NPB counts operations by an estimate of the length of the rows, which is off by a few per cent; flop/s use the real
number of entries. The matrix is stored in slices of eight rows with 16-bit columns, in blocks whose part of the vector stays in
a cache. So it moves less data than compressed rows with 32-bit columns. The entries and the steps are those of NPB. The number
of ranks must be a power of two. Class S lasts milliseconds and is for verification only.

With `scale` (`steelyard scale --weak`) the matrix has a multiple of the rows of a class. The shift must stay above the greatest
eigenvalue of the products, so it is 5 % larger for each doubling. There are no published values for it. It is verified by
properties of any size: the sum of its entries, the residual of the last system, and Rayleigh's quotient beside the estimate.

Source: NAS Parallel Benchmarks, RNR-94-007 section 2.2.2 and NPB 3.4.1 for classes and operation counts. Sliced ELLPACK: M.
Kreutzer et al., SIAM J. Sci. Comput. 36 (2014). Written anew.
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
