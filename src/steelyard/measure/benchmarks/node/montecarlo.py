"""Markov chains (Mont-Blanc amcd)

1024 independent Markov chains walk through a Gaussian distribution by the Metropolis rule. Each chain has its own random
numbers.

Reading: The kernel does not read from memory, and no thread waits for another. Its speed depends on arithmetic: integer
arithmetic for the random numbers, floating-point arithmetic for the rest. Each step of a chain needs the step before, so only
different chains can run in parallel. If a device has more arithmetic units than there are chains, some of them stay idle.

Caution: The kernel has its own exponential function and its own random number generator. They do the same operations on every
machine, so all chains are identical, bit for bit, with any number of threads and on every device. The functions of a library
may be faster or more accurate, but the kernel does not use them.

Source: The kernel "amcd" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
N. Metropolis et al., Equation of State Calculations by Fast Computing Machines, J. Chem. Phys. 21 (1953).
"""

from steelyard.measure.benchmarks.node.modes import TIME, figures_of, limit, make_axes, openmp, rate
from steelyard.model import Metric

STEPS = Metric("steps", "1/s", "higher", "steps of the chains", rate)

axes = make_axes(("montecarlo",), "steps", quick=2000, usual=100_000, setup=1.0, weak=True)
metrics = (TIME, STEPS)
figures = figures_of("montecarlo")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
