"""NPB EP: random numbers, embarrassingly parallel

The program changes pairs of uniform random numbers into pairs of normally distributed (Gaussian) numbers by the polar method.
It adds them up and counts them by size. The threads or ranks work independently until they calculate three sums at the end, and
the program hardly uses the memory. Steelyard compares the sums of every run with the published ones.

Reading: The speed depends on integer multiplications, logarithms and roots. It does not depend on the memory or the network, so
it must grow in proportion to the cores. If the speed of each core falls with more cores, the cores share clock or power, or
other programs use them.

Caution: An operation is one random number, not a flop. This program uses vectors, so it is several times faster than a program
that generates one number after the other. The definition and the sums are the same.

With the parameter `scale` (used by `steelyard scale --weak`), the problem has a multiple of the pairs of a class. There are no
published values for such a problem. Steelyard therefore checks conditions that hold for any number of pairs. Plain loops add up
two parts again, and the sums and counts must be within six standard deviations of the values for normally distributed pairs.

Source: NAS Parallel Benchmarks, RNR-94-007 section 2.2.1; constants and operation counts as in NPB 3.4.1. Written anew.
"""

from steelyard.applications.benchmarks.application import npb
from steelyard.statistics.results.applications import CLASSES, PARALLEL

parallel = PARALLEL
openmp = True
CODE = npb.Code(
    kernel="ep",
    models=("threads", "mpi"),
    seconds={"S": 0.02, "W": 0.04, "A": 0.3, "B": 1.1, "C": 4.5, "D": 70},
    memory=dict.fromkeys(CLASSES, 16e6),
    quick="A",
    usual="A",
    unit="number/s",
    usable=lambda ranks, size: True,
    grows=True,
)
unread = ("page_size", "memory_policy")
axes = npb.make_axes(CODE)
metrics = npb.make_metrics(CODE)
limit = npb.limit
figures = npb.make_figures(CODE)
