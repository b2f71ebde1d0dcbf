"""The environment of a program on this machine."""

import os

from steelyard.measure.machine.cpulist import format_cpu_list
from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.model import Machine

_TOOLS = {  # by door: facts of a device, each with the variable in which a program gets it
    "cuda": {"compiler": "STEELYARD_NVRTC", "library": "STEELYARD_CUBLAS", "collectives": "STEELYARD_NCCL"},
    "hip": {"library": "STEELYARD_ROCBLAS", "collectives": "STEELYARD_RCCL"},
}


def environment(machine: Machine) -> dict[str, str]:
    """Returns the process's environment: the user's own, how much memory it may use, and the nodes of the main memory."""
    nodes = format_cpu_list(node.number for node in main_nodes(machine.nodes))
    ours = {"STEELYARD_MEMORY": str(machine.memory), "STEELYARD_NODES": nodes}
    tools = {
        variable: str(device.facts[fact])
        for device in machine.devices
        for fact, variable in _TOOLS.get(device.door, {}).items()
        if device.facts.get(fact)
    }
    return {**tools, **os.environ, **ours}
