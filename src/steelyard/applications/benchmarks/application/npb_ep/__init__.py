"""NPB EP: random numbers, embarrassingly parallel

The program turns pairs of random numbers into pairs of Gaussian deviates (the polar method), adds them up and counts them by
size. The workers share nothing until three sums at the end, and the program does not use the memory. Every run is verified
against the published sums.

Reading: The speed depends on integer multiplication, logarithms and roots, and neither on memory nor on the network. It must
grow with the cores. If the speed of each core falls, the cores share clock or power, or other programs use them.

Caution: An operation is one random number, not a flop. With vectors this program is several times faster than one that draws
number after number. The definition and the sums are the same.

With `scale` (`steelyard scale --weak`) there is a multiple of the pairs of a class. There are no published values for it. It is
verified by properties of any number: plain loops add up two batches again, and the sums and counts lie within six standard
deviations of those of normally distributed pairs.

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
    usable=lambda ranks: True,
    grows=True,
)
axes = npb.axes_of(CODE)
metrics = npb.metrics_of(CODE)
limit = npb.limit
figures = npb.figures_of(CODE)
