"""Two-dimensional convolution (Mont-Blanc 2dcon)

The kernel filters an image of doubles with five by five weights. The image is zero beyond its border. Every pixel needs 25
multiplications and 24 additions.

Reading: The arithmetic limits this kernel with few threads, and the memory with many. A program that computes several rows
together loads each pixel only once for all of them. A good use of registers therefore makes this kernel much faster.

Caution: This filter is the product of two filters of one dimension. A program could use this and save most of the work, but the
kernel does not. For images larger than the last-level cache, it uses stores that bypass the caches. The parameter
stores=ordinary or stores=streaming chooses the kind of stores for all sizes. It rounds the edge down to whole cache lines.

Source: The kernel "2dcon" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes, filter and this program are
our own.
"""

from steelyard.measure.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, figures_of, limit, make_axes, openmp

axes = make_axes(("convolution",), "elements", quick=1024**2, usual=4096**2, filling=8192**2, setup=0.4, weak=True)
demands = {"elements must be from 16² to 65536²": lambda p: 16**2 <= p["elements"] <= 65536**2}
metrics = (TIME, FLOPS, BANDWIDTH)
figures = figures_of("convolution")
__all__ = ["axes", "demands", "figures", "limit", "metrics", "openmp"]
