"""Memory that a rank may use for its messages."""

from steelyard.measure.machine.rank_placement import ranks_here
from steelyard.model import Machine

SHARE = 0.25  # of a host's available memory for the messages of all its ranks: MPI and other processes need the rest


def bytes_per_rank(machine: Machine, ranks: int) -> int:
    """Returns the bytes that each of `ranks` may use on its host. UsageError for more ranks than the hosts have slots."""
    return int(SHARE * machine.memory_available / max(1, ranks_here(machine, ranks, None)))
