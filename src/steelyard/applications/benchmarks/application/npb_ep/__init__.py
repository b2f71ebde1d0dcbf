"""NPB EP: random numbers, embarrassingly parallel

Pairs of random numbers become pairs of Gaussian deviates (the polar method), which are added up and counted by size. Nothing is
shared until three sums at the end; the memory is not used. Every run is verified against the published sums.

Reading: What is left when neither memory nor network matters: integer multiplication, logarithms and roots. The speed must grow
with the cores; where that of each falls, clock or power are shared, or cores are busy otherwise.

Caution: An operation is one random number, not a flop. Vectors make this program several times faster than one that draws number
after number; it is still the same definition, with the same sums.

With `scale` (`steelyard scale --weak`) there are so many times the pairs of a class. Nothing is published for them. They are
verified by what must hold of any number: two batches are added up again by plain loops, and the sums and counts lie where those
of normally distributed pairs do, within six standard deviations.

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
