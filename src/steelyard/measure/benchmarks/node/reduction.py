"""Sum of a long vector (Mont-Blanc red)

The kernel computes s = Σ x over a long vector of doubles. Each worker adds its own part, and all parts are added at the end.

Reading: With a vector larger than the caches, the memory limits the speed. The kernel writes nothing, so the result is the
bandwidth of reading alone. With a vector that fits into a cache, the result shows how well additions overlap. One addition
takes about four cycles, so the kernel must compute several sums at the same time.

Caution: All numbers of the vector are whole numbers, so their sum is exact in any order. With other numbers, the sum would
depend on the number of workers, because the order of the additions changes. A device that works alone keeps its sum in its own
memory. If threads and a device work together, the time includes the transfer of the sum to the host.

Source: The kernel "red" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
"""

from steelyard.measure.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, figures_of, limit, make_axes, openmp

axes = make_axes(("reduction",), "elements", quick=1 << 22, usual=1 << 24, filling=1 << 27, setup=0.2, weak=True)
metrics = (TIME, BANDWIDTH, FLOPS)
figures = figures_of("reduction")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
