"""Sum of two vectors (Mont-Blanc vecop)

The kernel computes c = a + b over long vectors of doubles. No other kernel uses the memory in a simpler way.

Reading: Only the memory limits this kernel. When its bandwidth is used up, more threads add little. An OpenCL device with its
own memory shows the bandwidth of that memory. A device that shares the host's memory cannot be faster than the threads.

Caution: Ordinary stores read each cache line of c before they write it, so the memory moves a third more bytes than the
bandwidth counts. The time does not include the transfer of the data to a device and back, which would take far longer than the
sum.

Source: The kernel "vecop" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
"""

from steelyard.measure.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, figures_of, limit, make_axes, openmp

axes = make_axes(("vector",), "elements", quick=1 << 22, usual=1 << 24, filling=1 << 27, setup=0.3, weak=True)
metrics = (TIME, BANDWIDTH, FLOPS)
figures = figures_of("vector")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
