"""Product of two matrices (Mont-Blanc dmmm)

C = A·B for square matrices of doubles: every word that is fetched is used many times over, so that the arithmetic decides.

Reading: The own kernel packs both factors for the caches and keeps a tile of the product in the registers; "blas" is the same
product by the site's own library, where there is one, on the same processors. What of the machine's peak the faster of the two
reaches is what real programs can have of it. A device keeps tiles of both factors in the memory of its work groups.

Caution: 2·n³ operations are counted, as usual. The library is the first found of OpenBLAS, MKL and the system's libblas, or
what $STEELYARD_BLAS names: a slow one says nothing about the machine, and one without threads is measured with one only.
Devices with matrix units are not used to their full here, since OpenCL C has no words for them. Bringing the matrices to a
device and back is not in the time.

Source: The kernel "dmmm" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); the order and this program are our
own. The order of the loops is that of K. Goto and R. van de Geijn, Anatomy of high-performance matrix multiplication (2008);
the result is verified as R. Freivalds proposed (1977).
"""

from steelyard.benchmarks.node.modes import FLOPS, TIME, axes_of, figures_of, limit, openmp
from steelyard.benchmarks.node.site_libraries import beside

axes = beside(
    axes_of(("matmul",), "order", quick=512, usual=1024, setup=0.1),
    "blas",
    setup=0.2,
)
metrics = (TIME, FLOPS)
figures = figures_of("matmul")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
