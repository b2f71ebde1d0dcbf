"""LAMMPS (Debian's package) on the particles of application.molecular_dynamics: its input, how it is run, what it prints."""

import math
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from contenders import pinned
from hpcc import MissingError
from hpcc import run as run_tool

DENSITY, STEPS = 0.8442, 100
FACTOR, MODULUS, SEED = 5**13, 1 << 46, 314159265  # of NPB's random numbers, by which velocities are drawn
CORNERS = ((0.25, 0.25, 0.25), (0.75, 0.75, 0.25), (0.75, 0.25, 0.75), (0.25, 0.75, 0.75))
# Its lists are made anew as ours are: as soon as a particle has crossed half of the skin, and every 20 steps.
INPUT = """units lj
atom_style atomic
read_data {data}
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
pair_modify shift yes
neighbor 0.3 bin
neigh_modify delay 0 every 1 check yes
fix 1 all nve
timestep 0.005
thermo {steps}
thermo_modify format float %.15g
run {steps}
"""
STYLES = ("", "opt")  # its usual loops, and those of its package OPT
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Ran:
    """Particle-steps a second of its loop, and the potential energy of a particle before and after."""

    rate: float
    before: float
    after: float


def find(install: bool) -> str:
    """Its program; installed first where that is wished and possible."""
    if not shutil.which("lmp") and install and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "-q", "update"], capture_output=True, check=False)
        run_tool(["apt-get", "install", "-y", "-q", "--no-install-recommends", "lammps"], "install LAMMPS", environment)
    found = shutil.which("lmp")
    if not found:
        raise MissingError("LAMMPS is not installed; for example: apt-get install lammps  (as root)")
    return found


def written(folder: Path, side: int, temperature: float) -> Path:
    """The input for a cube of so many cells each way, and the particles beside it: places and velocities as ours."""
    edge = (4 / DENSITY) ** (1 / 3)
    at = [
        tuple((c + o) * edge for c, o in zip((x, y, z), corner, strict=True))
        for z in range(side)
        for y in range(side)
        for x in range(side)
        for corner in CORNERS
    ]
    moving = settled(list(drawn(len(at))), temperature)
    length = f"0 {side * edge!r}"
    lines = ["molecular dynamics", "", f"{len(at)} atoms", "1 atom types", ""]
    lines += [*(f"{length} {axis}lo {axis}hi" for axis in "xyz"), "", "Masses", "", "1 1.0", "", "Atoms # atomic", ""]
    lines += [f"{i} 1 {x!r} {y!r} {z!r}" for i, (x, y, z) in enumerate(at, 1)]
    lines += ["", "Velocities", "", *(f"{i} {x!r} {y!r} {z!r}" for i, (x, y, z) in enumerate(moving, 1))]
    data, path = folder / f"{temperature}.data", folder / f"{temperature}.in"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path.write_text(INPUT.format(data=data, steps=STEPS), encoding="utf-8")
    return path


def drawn(count: int) -> Iterator[Vector]:
    """Maxwell's distribution at temperature 1: four random numbers a particle."""
    state = SEED

    def next_number() -> float:
        nonlocal state
        state = state * FACTOR % MODULUS
        return state / MODULUS

    for _ in range(count):
        first, second, third, fourth = (next_number() for _ in range(4))
        radius, angle = math.sqrt(-2 * math.log(first)), 2 * math.pi * second
        last = math.sqrt(-2 * math.log(third)) * math.cos(2 * math.pi * fourth)
        yield radius * math.cos(angle), radius * math.sin(angle), last


def settled(velocities: Sequence[Vector], temperature: float) -> list[Vector]:
    """Without momentum, at the temperature."""
    n = len(velocities)
    mean = [math.fsum(v[d] for v in velocities) / n for d in range(3)]
    still = [(x - mean[0], y - mean[1], z - mean[2]) for x, y, z in velocities]
    factor = math.sqrt(temperature * 3 * (n - 1) / math.fsum(x * x + y * y + z * z for x, y, z in still))
    return [(x * factor, y * factor, z * factor) for x, y, z in still]


def ran(program: str, text: Path, style: str, cpus: Sequence[int]) -> Ran:
    """One run on these processors, a rank each."""
    command = [program, "-in", str(text), "-log", "none", *(["-sf", style] if style else [])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if len(cpus) > 1:
        command = ["mpiexec", "--bind-to", "core", "-n", str(len(cpus)), *command]
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return read(pinned(command, cpus, environment))


def read(output: str) -> Ran:
    """From what LAMMPS prints. ValueError where it is not a run of so many steps."""
    loop = re.search(r"^Loop time of ([\d.]+) on \d+ procs for (\d+) steps with (\d+) atoms", output, re.MULTILINE)
    rows = re.findall(rf"^ *(0|{STEPS}) +\S+ +(\S+) ", output, re.MULTILINE)
    if not loop or len(rows) != 2 or int(loop[2]) != STEPS:
        raise ValueError(f"LAMMPS's output has no loop time, or not the energies of steps 0 and {STEPS}")
    return Ran(int(loop[3]) * STEPS / float(loop[1]), float(rows[0][1]), float(rows[1][1]))
