"""Sum of two vectors (Mont-Blanc vecop)

c = a + b over long vectors of doubles: the simplest stream through the memory.

Reading: Nothing but the memory matters here: threads that share it add little once it is full. An OpenCL device that has
memory of its own shows that memory's bandwidth; one that shares the host's cannot be faster than the threads.

Caution: Ordinary stores read each line of c before they write it, so that a third more is moved than is counted. Bringing the
data to a device and back is not in the time: for one sum alone it would take far longer than the sum.

Source: The kernel "vecop" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
"""

from steelyard.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, axes_of, figures_of, limit, openmp

axes = axes_of(("vector",), "elements", quick=1 << 22, usual=1 << 24, setup=0.3, weak=True)
metrics = (TIME, BANDWIDTH, FLOPS)
figures = figures_of("vector")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
