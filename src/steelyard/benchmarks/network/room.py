"""How much memory a rank may take for its messages."""

from steelyard.machine.rank_placement import ranks_here
from steelyard.model import Machine

SHARE = (
    0.25  # of a host's available memory for all its ranks' messages: MPI needs its own, and the machine must live on
)


def bytes_per_rank(machine: Machine, ranks: int) -> int:
    """Bytes that each of `ranks` may take on its host. UsageError for more ranks than the hosts have slots."""
    return int(SHARE * machine.memory_available / max(1, ranks_here(machine, ranks, None)))
