"""Starts programs with an MPI, so that they can be traced."""

from pathlib import Path

import pytest

from steelyard.launch import scheduler
from steelyard.model import Tool
from steelyard.mpi import Job
from steelyard.whatif import tracing


def mpiexec(program: Path, ranks: int, own: Tool, patch: pytest.MonkeyPatch) -> list[str]:
    """What starts a program, and hands to its ranks what tracing sets."""
    starter = scheduler.launcher("mpiexec")
    for name, value in starter.environment(Job(program, ranks, own), {}).items():
        patch.setenv(name, value)
    return starter.argv(Job(program, ranks, own, environment=dict.fromkeys(("LD_PRELOAD", tracing.FOLDER), "")))
