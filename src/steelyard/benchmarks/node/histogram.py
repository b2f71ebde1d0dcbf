"""Histogram (Mont-Blanc hist)

Random keys of 32 bits are counted in 256 bins by their upper 8 bits. Each worker counts for itself, and then the
counts are added.

Reading: The counts lie in the first cache (on a GPU in the local memory of a work group), and the speed is that of
adding one to a word that is known only when the key has been read. More workers help until the memory gives keys no
faster.

Caution: The keys are spread evenly over the bins. Keys of which many are equal would wait for each other, most of all
on a GPU.

Source: The kernel "hist" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are
our own.
"""

from steelyard.benchmarks.node.modes import BANDWIDTH, TIME, axes_of, figures_of, limit, openmp, rate
from steelyard.model import Metric

axes = axes_of(("histogram",), "elements", quick=1 << 22, usual=1 << 24, setup=0.2, weak=True)
metrics = (TIME, Metric("keys", "1/s", "higher", "keys counted", rate), BANDWIDTH)
figures = figures_of("histogram")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
