"""NPB FT: Fourier transforms in three dimensions

The program transforms a cube of random complex numbers to Fourier modes once. In each step, it reduces the modes, as when heat
spreads, and transforms the cube back. Steelyard compares the checksums of all steps with the published ones in every run. The
vector instructions process eight lines at a time, and each core keeps its planes in its own cache. The ranks first divide the
cube into planes of one direction, and then into planes of another direction. Between the two, they exchange the whole cube.

Reading: Each step reads the whole cube from the memory twice and writes it twice. Therefore the speed of a node stops growing
when its memory bandwidth is used up. With ranks, each rank sends data to each other rank once in a step. The bandwidth between
the halves of the network (bisection) then limits the speed.

Caution: The Mop/s use NPB's estimate of the floating-point operations. The metric `flops` counts the operations that our
program carries out, which are fewer. As in NPB, the timed part also includes the generation of the random numbers and of the
tables.

With the parameter `scale` (used by `steelyard scale --weak`), a power of two, the cube has a multiple of the points of a class:
its edges become twice as long along z, then y, then x. There are no published values for such a cube. Steelyard therefore
checks conditions that hold for any size. It compares each checksum with a sum over all modes, in which the 1024 points of the
checksum are a geometric series. It also generates the initial state again, and compares its sum, its energy and its numbers at
three points with the modes.

Source: NAS Parallel Benchmarks, RNR-94-007 section 2.2.5; classes, checksums and operation counts as in NPB 3.4.1. Written
anew.
"""

from steelyard.applications.benchmarks.application import npb
from steelyard.statistics.results.applications import PARALLEL

parallel = PARALLEL
openmp = True
PLANES = {"S": 64, "W": 32, "A": 128, "B": 256, "C": 512, "D": 1024}  # along the shorter of y and z
CODE = npb.Code(
    kernel="ft",
    models=("threads", "mpi"),
    seconds={"S": 0.015, "W": 0.03, "A": 0.6, "B": 7, "C": 30, "D": 600},
    memory={"S": 15e6, "W": 27e6, "A": 420e6, "B": 1.65e9, "C": 6.6e9, "D": 104e9},
    quick="A",
    usual="A",
    unit="op/s",
    usable=lambda ranks, size: ranks.bit_count() == 1 and ranks <= PLANES[size],
    grows=True,
)
axes = npb.make_axes(CODE)
demands = npb.make_demands(CODE)
metrics = npb.make_metrics(CODE)
limit = npb.limit
figures = npb.make_figures(CODE)
