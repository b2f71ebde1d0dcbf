"""Sorting by merging (Mont-Blanc msort)

Four million whole numbers of 64 bits are sorted by a parallel merge sort, always the same ones, from a table that stays.

Reading: The keys pass through the memory once for each doubling of the sorted runs that a core's cache no longer holds; in
between all threads wait for each other. So the memory, the barriers and the handling of unpredictable data matter alike. Vectors
of keys are merged by networks of comparisons without a branch: a processor with wide vectors is at home here.

Caution: Sorting by the keys' bits (radix sort) can be faster than any sort that compares. A device sorts its share alone, and
the threads merge the two shares at the end, with the device's copied to them where it has memory of its own.

Source: The kernel "msort" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
K. E. Batcher, Sorting networks and their applications, AFIPS 1968; J. Chhugani et al., Efficient Implementation of Sorting on
Multi-Core SIMD CPU Architecture, VLDB 2008; O. Green et al., GPU Merge Path, ICS 2012.
"""

from steelyard.benchmarks.node.modes import TIME, axes_of, figures_of, limit, openmp, rate
from steelyard.model import Metric

KEYS = Metric("keys", "1/s", "higher", "keys sorted", rate)

axes = axes_of(("mergesort",), "elements", quick=1 << 18, usual=1 << 22, setup=0.5)
metrics = (TIME, KEYS)
figures = figures_of("mergesort")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
