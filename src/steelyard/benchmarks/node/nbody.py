"""All pairs of bodies (Mont-Blanc nbody)

The kernel computes the gravitational accelerations of bodies in a cube, for every pair of bodies, in double precision.

Reading: All positions fit into the caches, and the kernel uses each position many times. So arithmetic limits its speed, with
one reciprocal square root for each pair. Wide vectors of a processor and many units of a device show their full effect here.
The speed counts 20 operations for each pair, as is usual for this problem, whatever the program does.

Caution: Processors differ more in the speed of reciprocal square roots than in that of additions and products. The threads use
the processor's own estimate, if it has one, and refine it to double precision. So compare the share of the peak between
machines with care. The kernel does not use the symmetry of the forces, which would halve the work; most programs for devices do
not use it either.

Source: The kernel "nbody" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
"""

from steelyard.benchmarks.node.modes import FLOPS, TIME, axes_of, figures_of, limit, openmp

axes = axes_of(("nbody",), "bodies", quick=2048, usual=8192, setup=0.1)
metrics = (TIME, FLOPS)
figures = figures_of("nbody")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
