"""Turbulence: the Taylor-Green vortex by Fourier transforms

The program simulates a flow in a periodic cube, in which a large vortex breaks up into smaller ones (a direct simulation of
turbulence). It stores the velocities as Fourier modes. A step has three stages. Each stage transforms velocity and vorticity
(the rotation of the flow) from modes to points in space, multiplies them there, and transforms the product back. This needs
nine three-dimensional transforms of real fields. Along each axis, the program uses only the lower two thirds of the modes, so
the products have no aliasing error. A rank first has columns of modes along z, and then planes of constant z. Six times in a
step, each rank sends data to each other rank (all-to-all). The speed is the number of grid points times the number of steps,
per second.

Reading: Fourier transforms do few operations for each number that they move. Therefore the caches and the memory limit the
speed of a core, and with a large cube the memory alone limits it. With many ranks, the all-to-all exchange depends on the
bandwidth between the halves of the network (bisection). No other application here needs so much of this bandwidth. With
`phases=on`, the record has the time of the columns, the planes and the exchanges between them.

Caution: The program computes only the first steps. In these steps, the flow is smooth and its energy is known. Later steps
would take the same time. `flops` counts the operations that the program carries out. It skips lines that contain only zeros;
programs that transform the whole cube do not skip them. The number of points along each axis is a power of two. Steelyard
rounds another number down to a power of two.

Source: The definition is our own. The flow: G. Taylor, A. Green, Proc. R. Soc. A 158 (1937), with a Reynolds number of 1600.
The method in space: S. Orszag, Stud. Appl. Math. 50 (1971). The method in time, of third order: J. Williamson, J. Comput. Phys.
35 (1980). Steelyard checks every run: the divergence must be zero, and energy and enstrophy (the mean square of the vorticity)
must agree with their power series in time, which M. Brachet and others, J. Fluid Mech. 130 (1983), computed first. In this
program all ranks communicate with each other. In molecular dynamics and finite elements, only neighbours do.
"""

from steelyard.applications.benchmarks.application import mini, npb

parallel = mini.PARALLEL
openmp = True


def has_a_plane_each(points: int, ranks: int) -> bool:
    """Returns whether each rank has a plane of the grid."""
    return ranks <= 1 << -(-(points.bit_length() - 1) // 3)


demands = {
    "each rank needs a plane of the grid": lambda p: has_a_plane_each(p["points"], p.get("ranks", 1)),
    "steps must be at most half of the planes": lambda p: has_a_plane_each(p["points"], 2 * p["steps"]),
}
CODE = mini.Code(
    title="Turbulence",
    kernel="flow",
    element="point",
    sizes={"quick": (2**15,), "standard": (2**21,), "full": (2**21, 2**24)},
    steps=8,
    work="operations",
    speed=3e6,
    memory=300,
    around=0.1,
    bounds={"points": (2.0**15, 2.0**40), "steps": (1, 1e6)},
    usable=has_a_plane_each,
    rate="grid points × steps per second",
    falls="A line falls if the threads or ranks share the memory bandwidth, or if the all-to-all exchange takes more time.",
)
axes = mini.make_axes(CODE)
metrics = mini.make_metrics(CODE)
limit = npb.limit
figures = mini.make_figures(CODE)
