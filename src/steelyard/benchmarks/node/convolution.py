"""Two-dimensional convolution (Mont-Blanc 2dcon)

An image of doubles is filtered with five by five weights; beyond its border it is zero. Every pixel takes 25
multiplications and 24 additions.

Reading: Between the memory and the arithmetic: with few threads the arithmetic bounds it, with many the memory. Much
of the speed is in the registers: rows that are computed together share what they load.

Caution: The filter is applied as it stands, although it is a product of two short ones, by which a program that knows
of it would save most of the work. Images larger than the last cache are stored past the caches (stores=ordinary and
stores=streaming choose one). The edge is rounded down to whole cache lines.

Source: The kernel "2dcon" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes, filter and this
program are our own.
"""

from steelyard.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, axes_of, figures_of, limit, openmp

axes = axes_of(("convolution",), "elements", quick=1024**2, usual=4096**2, setup=0.4, weak=True)
metrics = (TIME, FLOPS, BANDWIDTH)
figures = figures_of("convolution")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
