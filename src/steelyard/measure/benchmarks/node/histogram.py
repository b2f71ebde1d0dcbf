"""Histogram (Mont-Blanc hist)

The kernel counts random 32-bit keys in 256 bins, by their upper 8 bits. Each worker has its own counts, and all counts are
added at the end.

Reading: The counts fit into the first-level cache (on a GPU, into the local memory of a work group). The kernel shows how fast
a machine increments a counter whose address depends on the data. More workers help until the memory cannot deliver the keys
faster.

Caution: The keys are spread evenly over the bins. With many equal keys, the kernel would be slower, because the increments of
the same bin wait for each other. This effect is strongest on a GPU.

Source: The kernel "hist" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
"""

from steelyard.measure.benchmarks.node.modes import BANDWIDTH, TIME, figures_of, limit, make_axes, openmp, rate
from steelyard.model import Metric

axes = make_axes(("histogram",), "elements", quick=1 << 22, usual=1 << 24, filling=1 << 27, setup=0.2, weak=True)
demands = {"elements must be below 2^32": lambda p: p["elements"] < 1 << 32}
metrics = (TIME, Metric("keys", "1/s", "higher", "keys counted", rate), BANDWIDTH)
figures = figures_of("histogram")
__all__ = ["axes", "demands", "figures", "limit", "metrics", "openmp"]
