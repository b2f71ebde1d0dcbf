"""Environment variables of an OpenMP runtime: number of threads, their processors, and the way they wait."""

from collections.abc import Mapping

from steelyard.measure.machine.placement import place
from steelyard.model import Machine, Parameters

ALIKE = ("threads", "pinning", "wait_policy")  # cases that differ in one of these need a start of their own
# The runtime's own choice; to turn, or to sleep, where there is nothing to do.
POLICIES = ("default", "active", "passive")
# Variables that are set for each case, or removed: also the runtimes' own words for what is said in OpenMP's.
_OTHERS = ("GOMP_CPU_AFFINITY", "KMP_AFFINITY", "OMP_PLACES", "OMP_PROC_BIND", "OMP_WAIT_POLICY", "OMP_DYNAMIC")
SET = ("OMP_NUM_THREADS", *_OTHERS)


def environment(machine: Machine, parameters: Parameters, around: Mapping[str, str]) -> dict[str, str]:
    """Returns `around` with the variables that pin each thread to the same processor as our own threads."""
    threads = int(parameters.get("threads", 1))
    variables = {name: value for name, value in around.items() if name not in _OTHERS}
    variables |= {"OMP_NUM_THREADS": str(threads), "OMP_DYNAMIC": "false", "OMP_PROC_BIND": "false"}
    if cpus := place(machine, threads, str(parameters.get("pinning", "compact"))):
        variables |= {"OMP_PROC_BIND": "close", "OMP_PLACES": ",".join(f"{{{cpu}}}" for cpu in cpus)}
    policy = str(parameters.get("wait_policy", "default"))
    return variables if policy == "default" else {**variables, "OMP_WAIT_POLICY": policy}
