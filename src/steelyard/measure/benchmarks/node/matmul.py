"""Product of two matrices (Mont-Blanc dmmm)

The kernel computes C = A·B for square matrices of doubles. It uses each number many times, so the arithmetic limits its speed.

Reading: Our own kernel copies both factors into an order that suits the caches, and keeps a small part (tile) of the product in
registers. "blas" is the same product by the BLAS library of the site, if there is one, on the same processors. The faster one
of both shows the share of the peak that real programs can reach. On a device, tiles of both factors lie in the local memory of
a work group.

Caution: The speed counts 2·n³ operations, as usual. Steelyard looks for OpenBLAS, MKL and the system's libblas, in this order,
and uses the first one that is installed. The environment variable STEELYARD_BLAS can name another library. The result of a slow
library does not show the speed of the machine. A library without threads is measured with one thread only. OpenCL C cannot use
matrix units, so devices that have them do not reach their full speed here. The time does not include the transfer of the
matrices to a device and back.

Source: The kernel "dmmm" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); the order and this program are our
own. The order of the loops is that of K. Goto and R. van de Geijn, Anatomy of high-performance matrix multiplication (2008);
the result is verified as R. Freivalds proposed (1977).
"""

from steelyard.measure.benchmarks.node.modes import FLOPS, TIME, figures_of, limit, make_axes, openmp
from steelyard.measure.benchmarks.node.site_libraries import beside

axes = beside(make_axes(("matmul",), "order", quick=512, usual=1024, filling=4096, setup=0.1), "blas", setup=0.2)
demands = {"order must be at most 32768": lambda p: p["order"] <= 1 << 15}
metrics = (TIME, FLOPS)
figures = figures_of("matmul")
__all__ = ["axes", "demands", "figures", "limit", "metrics", "openmp"]
