"""All pairs of bodies (Mont-Blanc nbody)

The kernel computes the acceleration of bodies in a cube by gravity. It computes the force of every pair of bodies, in double
precision.

Reading: All positions fit into the caches, and the kernel uses each position many times. Therefore the arithmetic limits its
speed. Each pair needs one reciprocal square root. Wide vectors of a processor, or many units of a device, make this kernel much
faster. The speed counts 20 operations for each pair, as is usual for this problem. A program may carry out another number.

Caution: The speed of reciprocal square roots differs more between processors than the speed of additions and multiplications.
If a processor has an instruction that estimates this root, the threads use it and improve the result to double precision.
Therefore be careful when you compare the share of the peak between machines. The kernel does not use the symmetry of the
forces, which would halve the work; most programs for devices do not use it either.

Source: The kernel "nbody" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
"""

from steelyard.measure.benchmarks.node.modes import FLOPS, TIME, figures_of, limit, make_axes, openmp

axes = make_axes(("nbody",), "bodies", quick=2048, usual=8192, filling=1 << 16, setup=0.1)
demands = {"bodies must be at least 2": lambda p: p["bodies"] >= 2}
metrics = (TIME, FLOPS)
figures = figures_of("nbody")
__all__ = ["axes", "demands", "figures", "limit", "metrics", "openmp"]
