"""Fourier transform of a long vector (Mont-Blanc fft)

The kernel transforms n complex numbers in double precision, out of place. It does few operations for each number, and it
accesses the memory with small and large strides.

Reading: Our own kernel transforms the columns and then the rows of a matrix, eight at a time, so it passes over the memory
twice. "fftw" is the FFTW library of the site, if there is one. Before the timed part, FFTW tries several algorithms and chooses
the fastest. This takes many seconds, so FFTW keeps its choice in a file beside the program. The faster one of both kernels
shows the speed of the machine.

Caution: The speed counts 5·n·log2 n operations, as usual; an algorithm may do fewer. The memory limits the speed for long
vectors. Compare it with memory.stream: the kernel reads and writes each number twice, 16 bytes each time. Our own kernel needs
additional vectors between its steps. The time does not include the transfer of the vector to a device and back. If threads and
a device with its own memory work together, the time includes the data that they exchange between the steps.

Source: The kernel "fft" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); the length and this program are our
own. D. Bailey, FFTs in external or hierarchical memory (1990); T. Stockham (1966) for the order of the device's steps; M. Frigo
and S. Johnson, The design and implementation of FFTW3 (2005).
"""

from steelyard.measure.benchmarks.node.modes import FLOPS, TIME, figures_of, limit, make_axes, openmp
from steelyard.measure.benchmarks.node.site_libraries import beside

LENGTHS = tuple(1 << log for log in range(6, 31))
axes = beside(
    make_axes(("fft",), "elements", quick=1 << 16, usual=1 << 22, filling=1 << 24, setup=1.5), "fftw", setup=4.0
)
demands = {"elements must be a power of two from 64 to 2^30": lambda p: p["elements"] in LENGTHS}
metrics = (TIME, FLOPS)
figures = figures_of("fft")
__all__ = ["axes", "demands", "figures", "limit", "metrics", "openmp"]
