"""The MPIs that the tests take: the site's own, and MPICH's wheel from PyPI in an environment of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.measure import build
from steelyard.measure.machine.tools import ask_mpi
from steelyard.model import Machine, Tool

FLAVOURS = ("default", "mpich")


def mpi(flavour: str, machine: Machine) -> Tool:
    """The MPI of a run that names none, or MPICH; skips, with the reason, where it is not to be had."""
    found = build.default_mpi(machine) if flavour == "default" else _mpich()
    if found is None:
        pytest.skip(f"There is no MPI with its headers ({flavour}): apt-get install libopenmpi-dev")
    return found


def _mpich() -> Tool | None:
    """Two MPIs in one environment overwrite each other's mpiexec: MPICH has one of its own, kept beside the programs."""
    folder = build.cache() / "tests" / "mpich"
    wrapper = folder / "bin" / "mpicxx"
    if not wrapper.exists():
        made = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True, check=False)
        if made.returncode == 0:
            install = [folder / "bin" / "pip", "install", "-q", "mpich>=5"]
            made = subprocess.run(install, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            pytest.skip(f"MPICH cannot be installed from PyPI: {made.stderr.strip()[-300:]}")
    return ask_mpi(str(wrapper))


def shadow(folder: Path, wrapper: str, starter: str) -> Tool:
    """An installation whose mpicxx and mpiexec belong to different MPIs, as a PATH in disorder gives."""
    folder.mkdir()
    for name, target in (("mpicxx", wrapper), ("mpiexec", starter)):
        (folder / name).write_text(f'#!/bin/sh\nexec {target} "$@"\n')
        (folder / name).chmod(0o755)
    found = ask_mpi(str(folder / "mpicxx"))
    assert found
    return found
