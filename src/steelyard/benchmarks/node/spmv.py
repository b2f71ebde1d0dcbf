"""Sparse matrix times a vector (Mont-Blanc spvm)

The kernel computes y = A·x. Most rows of the matrix have one or two entries, and a few have thousands; the mean is 16.

Reading: The kernel uses every entry once, so the memory sets an upper limit: compare the bandwidth with that of memory.stream.
The difference is the cost of the scattered reads of x and of rows with unequal lengths. The rows are divided so that each
thread has about the same number of entries. They read the matrix in sliced rows: eight short rows of similar length together,
and a long row alone. So a short row costs no more than its entries. A device reads compressed rows (CSR); each of its work
groups takes many short rows or one long row.

Caution: The entries of a row lie within 8192 columns of the diagonal, so the part of x in use stays in the caches. A matrix
without such order is far slower. The count is 12 bytes for each entry (a double and a 32-bit column) and 18 bytes for each row
(its place among the sorted rows, x and y once each). The zeros that fill up the sliced rows are not counted; they are 3 % of
the entries. Compressed rows need a little more than the count: 4 bytes for the start of each row.

Source: The kernel "spvm" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); the matrix and this program are our
own. The threads' sliced rows follow M. Kreutzer et al., A unified sparse matrix data format for efficient general sparse
matrix-vector multiplication on modern processors with wide SIMD units (SIAM Journal on Scientific Computing 36, 2014), the
device's blocks of rows J. Greathouse and M. Daga, Efficient sparse matrix-vector multiplication on GPUs using the CSR storage
format (SC 2014).
"""

from steelyard.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, axes_of, figures_of, limit, openmp

axes = axes_of(("spmv",), "elements", quick=1 << 18, usual=1 << 20, setup=0.5, weak=True)
metrics = (TIME, BANDWIDTH, FLOPS)
figures = figures_of("spmv")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
