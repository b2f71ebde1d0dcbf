"""All pairs of bodies (Mont-Blanc nbody)

The accelerations that bodies in a cube give each other by gravity, each pair calculated, in doubles.

Reading: All positions fit into the caches, and each is used again and again: what counts is arithmetic, with one reciprocal
square root in each pair. A processor's vectors, and a device's many units, show here at their best. The speed counts 20
operations a pair, as is usual for this problem, however they are carried out.

Caution: How fast a reciprocal square root is differs more between processors than additions and products do: the threads take
the processor's own guess of it, where it has one, and refine it to a double. So the share of the peak can be compared between
machines only with care. The symmetry of the forces, which would halve the work, is not used, as on most devices.

Source: The kernel "nbody" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
"""

from steelyard.benchmarks.node.modes import FLOPS, TIME, axes_of, figures_of, limit, openmp

axes = axes_of(("nbody",), "bodies", quick=2048, usual=8192, setup=0.1)
metrics = (TIME, FLOPS)
figures = figures_of("nbody")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
