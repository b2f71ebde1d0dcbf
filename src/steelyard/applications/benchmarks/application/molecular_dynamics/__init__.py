"""Molecular dynamics: Lennard-Jones particles

The program simulates particles that attract and repel each other (Lennard-Jones potential, cut off at 2.5 diameters and
shifted), in double precision. All values are in the reduced units of this potential. The density is 0.8442. At the start, the
particles are on a face-centred cubic lattice and have random velocities. The program computes 100 steps of 0.005 by the method
velocity Verlet. For the forces, each particle has a list of its neighbours within the cut-off plus 0.3 diameters (the skin).
The program makes new lists when a particle has moved by half of the skin. Each rank has a block of the box. In every step, the
ranks exchange the particles near their borders. A particle that leaves a block moves to another rank. The speed is the number
of particles times the number of steps, per second.

Reading: The cores limit this program, not the memory. For each of about 78 neighbours of a particle, a core loads the
coordinates from a cache, sorts them into vectors, and does 22 floating-point operations, one of them a division. The program
does 3 operations for each byte (`flops` and `bytes` of the record), so the memory limits it only if many cores share the
memory. With many ranks, the blocks are smaller and have more surface for their volume. Then the ranks need more copies of
particles and more messages for the same work. In every step, all ranks decide together, by a reduction, whether the lists are
still valid.

Caution: The program computes every pair twice, once for each of its particles, so threads need no common sums. The flop/s count
the operations that the program carries out. A program that computes each pair once needs only half of them for the same steps.
The program computes only the first steps after the lattice, in which half of the temperature becomes potential energy. The
number of particles must be a multiple of 4, and the particles must fill a box of whole cells. Steelyard refuses a prime number
of cells. Ranks may have threads (`--set model=mpi --set threads=2`), pinned to the next processors. Steelyard detects
disturbances on the first thread of each rank only.

Source: The definition is our own, with the usual parameters of this fluid. Lists and integration: L. Verlet, Phys. Rev. 159
(1967). Cells: M. P. Allen, D. J. Tildesley, Computer Simulation of Liquids (2017). Steelyard checks every run. The energy must
stay the same, except for the known second-order error of a step (E. Hairer, C. Lubich, G. Wanner, Acta Numerica 12, 2003). The
momentum must stay the same. The forces on 32 particles must agree with sums over all particles. The program is new.
"""

from steelyard.applications.benchmarks.application import mini, npb
from steelyard.applications.benchmarks.application.molecular_dynamics.blocks import is_wide_enough

parallel = mini.PARALLEL
openmp = True
demands = {
    "this number of particles does not fill a box of cells that the ranks can share": lambda p: (
        p["particles"] % 4 == 0 and is_wide_enough(p["particles"], p.get("ranks", 1))
    ),
}
CODE = mini.Code(
    title="Molecular dynamics",
    kernel="dynamics",
    element="particle",
    sizes={"quick": (16_384,), "standard": (256_000,), "full": (256_000, 2_048_000)},
    steps=100,
    work="particle_steps",
    speed=4e6,
    memory=1200,  # with the particle's list and the images around it
    around=0.2,
    bounds={"temperature": (0.01, 5), "steps": (1, 1_000_000)},
    usable=is_wide_enough,
    further={"temperature": (0.72,)},
    rate="particles × steps per second",
    falls="A line falls if the blocks have a large surface, if some ranks wait for others, or if the clock is lower when all "
    "cores work.",
)
axes = mini.make_axes(CODE)
metrics = mini.make_metrics(CODE)
limit = npb.limit
figures = mini.make_figures(CODE)
