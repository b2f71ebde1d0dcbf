"""NPB IS: ranking integers by counting

The program ranks millions of keys with a bell-shaped distribution ten times: it counts how many keys are less than each value.
Between two rankings two keys change. Every run is verified: five published ranks after each ranking, and at the end the order
of all keys. Threads count their shares of the keys in bytes, which takes a quarter of the cache that words would take. A count
that overflows is found and repeated in words. Ranks send every key to the rank that owns its range of values.

Reading: The program increments random entries of a table of the size of a cache. The speed falls where the counts outgrow a
cache level; this depends on the class and not on the threads. With ranks most keys travel at every ranking, and the speed
follows the all-to-all bandwidth of the network.

Caution: An operation is one key ranked; there are no flops. Threads rank without moving a key, ranks move them: they are two
different programs.

With `scale` (`steelyard scale --weak`) there is a multiple of the keys and of the values of a class, a power of two. There are
no published values for it. A count of all keys, generated anew, gives the ranks of five test keys after each ranking. At the
end all keys stand in order and have the same sum.

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
    usable=lambda ranks: ranks & (ranks - 1) == 0 and ranks <= 512,
    grows=True,
)
axes = npb.axes_of(CODE)
metrics = npb.metrics_of(CODE)
limit = npb.limit
figures = npb.figures_of(CODE)
