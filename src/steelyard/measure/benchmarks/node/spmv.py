"""Sparse matrix times a vector (Mont-Blanc spvm)

The kernel computes y = A·x. Most rows of the matrix have one or two entries, and a few have thousands; the mean is 16.

Reading: The kernel uses every entry once, so the memory limits its speed. Compare its bandwidth with the bandwidth of
memory.stream. The difference is the cost of the scattered reads of x and of rows with different lengths. Each thread has rows
with about the same number of entries in total. The threads store the matrix in slices: eight short rows of similar length
together, or one long row alone. A short row therefore takes no more time than its entries need. A device uses compressed rows
(the format CSR); each of its work groups processes many short rows or one long row.

Caution: The entries of a row lie within 8192 columns of the diagonal, so the part of x in use stays in the caches. A matrix
with entries in all columns is far slower. The bandwidth counts 12 bytes for each entry (a double and a 32-bit number of the
column) and 18 bytes for each row (its place among the sorted rows, one number of x and one of y). The slices are filled with
zeros, which the bandwidth does not count; they are 3 % of the entries. Compressed rows need 4 more bytes for the start of each
row, which are not counted either.

Source: The kernel "spvm" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); the matrix and this program are our
own. The threads' sliced rows follow M. Kreutzer et al., A unified sparse matrix data format for efficient general sparse
matrix-vector multiplication on modern processors with wide SIMD units (SIAM Journal on Scientific Computing 36, 2014), the
device's blocks of rows J. Greathouse and M. Daga, Efficient sparse matrix-vector multiplication on GPUs using the CSR storage
format (SC 2014).
"""

from steelyard.measure.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, figures_of, limit, make_axes, openmp

axes = make_axes(("spmv",), "elements", quick=1 << 18, usual=1 << 20, filling=1 << 22, setup=0.5, weak=True)
demands = {"elements must be at most 2^27": lambda p: p["elements"] <= 1 << 27}
metrics = (TIME, BANDWIDTH, FLOPS)
figures = figures_of("spmv")
__all__ = ["axes", "demands", "figures", "limit", "metrics", "openmp"]
