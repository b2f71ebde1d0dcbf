"""Three-dimensional stencil (Mont-Blanc 3dstc)

The kernel computes steps of diffusion in a cube of doubles. The new value of a point is c0 times its old value plus c1 times
the sum of its six neighbours. The values at the border are fixed. The kernel reads one grid and writes another one, and
exchanges both after every step.

Reading: If three planes of the cube fit into a cache, the kernel reads each point from the memory once and writes it once. The
memory then limits the speed. If threads and a device work together, they exchange the planes at the border of their shares
after every step. The time includes this.

Caution: The bandwidth counts 16 bytes for each point, which is the minimum. Ordinary stores read each cache line before they
write it, so the memory moves 24 bytes. For grids larger than the last-level cache, the kernel uses stores that bypass the
caches. The parameter stores=ordinary or stores=streaming chooses the kind of stores for all sizes. The kernel rounds the edge
down to whole cache lines.

Source: The kernel "3dstc" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes, coefficients and this program
are our own.
"""

from steelyard.measure.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, figures_of, limit, make_axes, openmp

axes = make_axes(("stencil",), "elements", quick=128**3, usual=256**3, filling=512**3, setup=0.6, weak=True)
demands = {"elements must be from 16³ to 1024³": lambda p: 16**3 <= p["elements"] <= 1024**3}
metrics = (TIME, BANDWIDTH, FLOPS)
figures = figures_of("stencil")
__all__ = ["axes", "demands", "figures", "limit", "metrics", "openmp"]
