"""The environment of a program on this machine."""

import os

from steelyard.measure.machine.cpulist import format_cpu_list
from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.model import Machine


def environment(machine: Machine) -> dict[str, str]:
    """The process's environment: the user's own, how much memory it may use, and the nodes of the main memory."""
    nodes = format_cpu_list(node.number for node in main_nodes(machine.nodes))
    ours = {"STEELYARD_MEMORY": str(machine.memory), "STEELYARD_NODES": nodes}
    compiler = next((str(d.facts["compiler"]) for d in machine.devices if d.facts.get("compiler")), "")
    return {**({"STEELYARD_NVRTC": compiler} if compiler else {}), **os.environ, **ours}
