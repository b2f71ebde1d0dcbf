"""Questions about a machine's cores."""

from steelyard.model import Machine


def usable_cores(machine: Machine) -> float:
    """Returns the usable cores, or the quota of a control group if it is less; processors if no cores are known."""
    cores = known_cores(machine)
    return cores if machine.cpu_quota is None else min(cores, machine.cpu_quota)


def known_cores(machine: Machine) -> int:
    allowed = set(machine.cpus)
    return sum(1 for core in machine.cores if allowed.intersection(core.cpus)) or len(allowed)
