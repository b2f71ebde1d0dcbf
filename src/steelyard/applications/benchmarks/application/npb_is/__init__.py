"""NPB IS: ranking integers by counting

The program ranks millions of whole numbers (keys) ten times: it counts how many keys are smaller than each value. Most keys
have values near the middle of the range. Between two rankings, two keys change. Steelyard checks every run: five published
ranks after each ranking, and at the end the order of all keys. Each thread counts its part of the keys with counters of one
byte, which need a quarter of the cache that words need. If a counter overflows, the program detects this and counts again with
words. With ranks, each rank sends every key to the rank that owns its range of values.

Reading: The program increments random entries of a table that is about as large as a cache. The speed falls where the table no
longer fits into a cache. The size of the table depends on the class, not on the number of threads. With ranks, most keys are
sent over the network at every ranking, so the speed depends on the all-to-all bandwidth of the network.

Caution: An operation is the ranking of one key; there are no flops. The program for threads does not move the keys, and the
program for ranks does. Therefore do not compare the two.

With the parameter `scale` (used by `steelyard scale --weak`), a power of two, the problem has a multiple of the keys and of the
values of a class. There are no published values for such a problem. Steelyard therefore generates all keys again and counts
them. This count gives the ranks of five test keys after each ranking. At the end all keys must be in order and have the same
sum as before.

Source: NAS Parallel Benchmarks, RNR-94-007 section 2.2.6; classes, test keys and operation counts as in NPB 3.4.1. Written
anew.
"""

from steelyard.applications.benchmarks.application import npb
from steelyard.statistics.results.applications import PARALLEL

parallel = PARALLEL
openmp = True
CODE = npb.Code(
    kernel="is",
    models=("threads", "mpi"),
    seconds={"S": 0.0005, "W": 0.007, "A": 0.12, "B": 0.7, "C": 6, "D": 120},
    memory={"S": 1.1e6, "W": 17e6, "A": 137e6, "B": 550e6, "C": 2.2e9, "D": 36e9},
    quick="A",
    usual="B",
    unit="key/s",
    usable=lambda ranks, size: ranks.bit_count() == 1 and ranks <= 512,
    grows=True,
)
axes = npb.make_axes(CODE)
demands = npb.make_demands(CODE)
metrics = npb.make_metrics(CODE)
limit = npb.limit
figures = npb.make_figures(CODE)
