"""Markov chains (Mont-Blanc amcd)

1024 independent Markov chains walk through a Gaussian by Metropolis' rule, each with random numbers of its own.

Reading: Nothing is read from memory and nobody waits for anybody: what counts is arithmetic, with whole numbers for the random
numbers and with floating-point ones for the rest. A chain waits for its own last step, so that a machine must find its
parallelism among the chains; a device with more units than chains lies partly idle.

Caution: The exponential function and the generator of random numbers are this program's own, the same operations on every
machine: the chains are the same, bit for bit, for any number of threads and on every device. A library's faster or more
accurate ones are not measured.

Source: The kernel "amcd" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); sizes and this program are our own.
N. Metropolis et al., Equation of State Calculations by Fast Computing Machines, J. Chem. Phys. 21 (1953).
"""

from steelyard.benchmarks.node.modes import TIME, axes_of, figures_of, limit, openmp, rate
from steelyard.model import Metric

STEPS = Metric("steps", "1/s", "higher", "steps of the chains", rate)

axes = axes_of(("montecarlo",), "steps", quick=2000, usual=100_000, setup=1.0, weak=True)
metrics = (TIME, STEPS)
figures = figures_of("montecarlo")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
