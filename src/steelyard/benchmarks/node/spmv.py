"""Sparse matrix times a vector (Mont-Blanc spvm)

y = A·x for a matrix of which most rows have one or two entries, a few have thousands, 16 in the mean.

Reading: Every entry is used once, so that the memory decides where nothing else does: compare the bandwidth with that of
memory.stream. What is missing is the price of fetching x from the caches, entry by entry, and of rows of unequal lengths.
Threads share the rows by their entries. They read the matrix in sliced rows: eight short rows of like length side by side, a
long row by itself, so that a short row costs no more than its entries do. A device reads compressed rows (CSR), and takes
many short rows, or one long row, for each of its work groups.

Caution: The entries of a row lie within 8192 columns around the diagonal, so that the part of x that is in use stays in the
caches: a matrix without such order is slower, by far. Counted are 12 bytes an entry (a double and a 32-bit column) and 18 a
row (its place among the sorted rows, x and y once each); the zeros that fill up the sliced rows, 3 % of the entries, are not
counted, and compressed rows, whose starts take 4 bytes each, need a little more.

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
