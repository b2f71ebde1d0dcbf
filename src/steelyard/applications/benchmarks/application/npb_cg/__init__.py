"""NPB CG: conjugate gradients on a random sparse matrix

The program finds the smallest eigenvalue of a large sparse matrix by inverse iteration. Each step solves a system of equations
by 25 steps of conjugate gradients. The entries of the matrix are at random places, so the product of the matrix and a vector
reads the vector in random order. Steelyard compares the eigenvalue with the published one in every run. Each rank has a block
of rows and columns of the matrix. The ranks send parts of vectors as messages (MPI), or write them into the memory of other
ranks (one-sided communication of MPI, OpenSHMEM).

Reading: In each step, the program reads the whole matrix, with two floating-point operations for ten bytes. This takes nearly
all of the time. Class A fits into a large last-level cache. From class B on, the memory limits the speed, and an additional
core helps only if it adds bandwidth. Between two products, the ranks only calculate sums over all ranks and exchange vectors.
If the programming models have different speeds, the cause is therefore the communication.

Caution: NPB estimates the number of operations from the mean length of the rows, and this estimate is wrong by a few per cent.
The flop/s use the real number of entries. The program stores the matrix in slices of eight rows with 16-bit column numbers, and
in blocks for which the part of the vector stays in a cache. Therefore it moves less data than a program that uses compressed
rows with 32-bit column numbers. The entries and the steps are those of NPB. The number of ranks must be a power of two. Class S
takes only milliseconds and is for verification only.

With the parameter `scale` (used by `steelyard scale --weak`), the matrix has a multiple of the rows of a class. The shift of
the definition must be larger than the greatest eigenvalue of the products, so it is 5 % larger for each doubling of the rows.
There are no published values for such a matrix. Steelyard therefore checks conditions that hold for any size: the sum of the
entries, the residual of the last system, and the eigenvalue, which must agree with Rayleigh's quotient.

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
axes = npb.make_axes(CODE)
demands = npb.make_demands(CODE)
metrics = npb.make_metrics(CODE)
limit = npb.limit
figures = npb.make_figures(CODE)
