"""Two-dimensional convolution (Mont-Blanc 2dcon)

The kernel filters an image of doubles with five by five weights. The image is zero beyond its border. Every pixel takes 25
multiplications and 24 additions.

Reading: The arithmetic limits this kernel with few threads, and the memory with many. Rows that are computed together share
their loads, so a good use of registers gives much of the speed.

Caution: This filter is a product of two short filters. A program that uses this would save most of the work; the kernel does
not. It stores images larger than the last-level cache past the caches (stores=ordinary and stores=streaming choose one way). It
rounds the edge down to whole cache lines.

Source: The kernel "2dcon" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes, filter and this program are
our own.
"""

from steelyard.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, axes_of, figures_of, limit, openmp

axes = axes_of(("convolution",), "elements", quick=1024**2, usual=4096**2, setup=0.4, weak=True)
metrics = (TIME, FLOPS, BANDWIDTH)
figures = figures_of("convolution")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
