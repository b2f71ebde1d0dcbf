"""Sorting by merging (Mont-Blanc msort)

A parallel merge sort sorts four million 64-bit integers. The input is the same table each time.

Reading: With each pass, the sorted parts of the table become twice as long. As soon as a part no longer fits into the cache of
a core, each pass moves all keys through the memory. All threads wait for each other between the passes. Therefore the speed
depends on the memory, on barriers, and on how well the processor handles data that it cannot predict. The kernel merges vectors
of keys by a fixed series of comparisons without branches. This is faster on processors with wide vectors.

Caution: A radix sort, which uses the bits of the keys, can be faster than any sort by comparison. A device sorts its share
alone. At the end, the threads merge both shares. If the device has its own memory, its share is copied first.

Source: The kernel "msort" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
K. E. Batcher, Sorting networks and their applications, AFIPS 1968; J. Chhugani et al., Efficient Implementation of Sorting on
Multi-Core SIMD CPU Architecture, VLDB 2008; O. Green et al., GPU Merge Path, ICS 2012.
"""

from steelyard.measure.benchmarks.node.modes import TIME, figures_of, limit, make_axes, openmp, rate
from steelyard.model import Metric

KEYS = Metric("keys", "1/s", "higher", "keys sorted", rate)

axes = make_axes(("mergesort",), "elements", quick=1 << 18, usual=1 << 22, filling=1 << 24, setup=0.5)
metrics = (TIME, KEYS)
figures = figures_of("mergesort")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
