"""Sum of a long vector (Mont-Blanc red)

s = Σ x over a long vector of doubles: each worker adds up its own part, and then the parts are added.

Reading: A vector larger than the caches is read as fast as the memory gives it; nothing is written, so that this is
the bandwidth of reading alone. A vector that fits into a cache shows how well the additions overlap: one alone takes
some four cycles, and several sums at once are needed.

Caution: The numbers are whole, so that their sum is exact in any order; real data give a sum that depends on the
number of workers. A device that works alone keeps its sum; where both work, bringing it to the host is in the time.

Source: The kernel "red" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are
our own.
"""

from steelyard.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, axes_of, figures_of, limit, openmp

axes = axes_of(("reduction",), "elements", quick=1 << 22, usual=1 << 24, setup=0.2, weak=True)
metrics = (TIME, BANDWIDTH, FLOPS)
figures = figures_of("reduction")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
