"""Starts a program on this machine, in a process group of its own."""

import os
from pathlib import Path

from steelyard.model import Machine


def argv(program: Path) -> list[str]:
    """The command line."""
    return [str(program)]


def environment(machine: Machine) -> dict[str, str]:
    """The process's environment: the user's own, and how much memory it may use."""
    return {**os.environ, "STEELYARD_MEMORY": str(machine.memory)}
