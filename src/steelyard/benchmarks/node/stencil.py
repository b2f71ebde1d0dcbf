"""Three-dimensional stencil (Mont-Blanc 3dstc)

A step of diffusion in a cube of doubles: each point becomes c0 times itself plus c1 times the sum of its six
neighbours; the border is fixed, and the two grids change places with every step.

Reading: Where three planes stay in a cache, each point is read from the memory once and written once, and the speed
is that of the memory. In mixed mode the planes at the border between the two shares are exchanged after every step,
within the time.

Caution: 16 bytes a point are counted, which is the least. Ordinary stores read each line before they write it (24
bytes); grids larger than the last cache are stored past the caches instead (stores=ordinary and stores=streaming
choose one). The edge is rounded down to whole cache lines.

Source: The kernel "3dstc" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes, coefficients and
this program are our own.
"""

from steelyard.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, axes_of, figures_of, limit, openmp
from steelyard.model.roles import Counterpart

axes = axes_of(("stencil",), "elements", quick=128**3, usual=256**3, setup=0.6, weak=True)
metrics = (TIME, BANDWIDTH, FLOPS)
figures = figures_of("stencil")
roles = (Counterpart("power", "stencil"),)
__all__ = ["axes", "figures", "limit", "metrics", "openmp", "roles"]
