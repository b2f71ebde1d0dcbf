"""Sum of a long vector (Mont-Blanc red)

The kernel computes s = Σ x over a long vector of doubles. Each worker adds its own part, and all parts are added at the end.

Reading: A vector larger than the caches is read as fast as the memory allows. Nothing is written, so this is the read bandwidth
alone. A vector that fits into a cache shows how well additions overlap: one addition takes about four cycles, so several sums
must run at once.

Caution: The numbers are integers, so their sum is exact in any order. The sum of other data depends on the number of workers,
since the order of the additions changes. A device that works alone keeps its sum. If threads and a device work together, the
time includes the transfer of the sum to the host.

Source: The kernel "red" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
"""

from steelyard.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, axes_of, figures_of, limit, openmp

axes = axes_of(("reduction",), "elements", quick=1 << 22, usual=1 << 24, setup=0.2, weak=True)
metrics = (TIME, BANDWIDTH, FLOPS)
figures = figures_of("reduction")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
