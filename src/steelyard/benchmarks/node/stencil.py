"""Three-dimensional stencil (Mont-Blanc 3dstc)

The kernel does steps of diffusion in a cube of doubles. Each point becomes c0 times itself plus c1 times the sum of its six
neighbours. The border is fixed, and the two grids change places after every step.

Reading: If three planes fit into a cache, each point is read from the memory once and written once, and the memory sets the
speed. In mixed mode the two shares exchange the planes at their border after every step; the time includes this.

Caution: The count is 16 bytes for each point, which is the minimum. Ordinary stores read each line before they write it, which
makes 24 bytes. Grids larger than the last-level cache are stored past the caches instead (stores=ordinary and stores=streaming
choose one way). The kernel rounds the edge down to whole cache lines.

Source: The kernel "3dstc" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes, coefficients and this program
are our own.
"""

from steelyard.benchmarks.node.modes import BANDWIDTH, FLOPS, TIME, axes_of, figures_of, limit, openmp
from steelyard.model.roles import Counterpart

axes = axes_of(("stencil",), "elements", quick=128**3, usual=256**3, setup=0.6, weak=True)
metrics = (TIME, BANDWIDTH, FLOPS)
figures = figures_of("stencil")
roles = (Counterpart("power", "stencil"),)
__all__ = ["axes", "figures", "limit", "metrics", "openmp", "roles"]
