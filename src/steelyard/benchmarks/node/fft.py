"""Fourier transform of a long vector (Mont-Blanc fft)

The transform of n complex numbers in double precision, out of place: few operations for each number, and strides of every size.

Reading: The own kernel transforms the columns and then the rows of a matrix, eight side by side, so that the memory is passed
through twice; "fftw" is the site's own library, where there is one, planned beforehand by measuring its variants (its plans
are kept beside the program, since that takes many seconds). The faster of the two is what the machine can do.

Caution: 5·n·log2 n operations are counted, as usual; an algorithm may do fewer. Memory decides for long vectors: compare with
memory.stream (16 bytes a number are read and written twice). The own kernel needs vectors of its own between its steps. Bringing
the vector to a device and back is not in the time; what threads and a device of its own memory exchange between the steps is.

Source: The kernel "fft" of the Mont-Blanc micro-benchmarks (N. Rajovic et al., SC 2013); the length and this program are our
own. D. Bailey, FFTs in external or hierarchical memory (1990); T. Stockham (1966) for the order of the device's steps; M. Frigo
and S. Johnson, The design and implementation of FFTW3 (2005).
"""

from steelyard.benchmarks.node.modes import FLOPS, TIME, axes_of, figures_of, limit, openmp
from steelyard.benchmarks.node.site_libraries import beside

axes = beside(
    axes_of(("fft",), "elements", quick=1 << 16, usual=1 << 22, setup=1.5),
    "fftw",
    setup=4.0,
)
metrics = (TIME, FLOPS)
figures = figures_of("fft")
__all__ = ["axes", "figures", "limit", "metrics", "openmp"]
