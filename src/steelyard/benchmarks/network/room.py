"""How much memory a rank may take for its messages, and how its results tell where the ranks were."""

from steelyard.machine.rank_placement import ranks_here
from steelyard.model import Machine, Result

SHARE = (
    0.25  # of a host's available memory for all its ranks' messages: MPI needs its own, and the machine must live on
)


def bytes_per_rank(machine: Machine, ranks: int) -> int:
    """Bytes that each of `ranks` may take on its host. UsageError for more ranks than the hosts have slots."""
    return int(SHARE * machine.memory_available / max(1, ranks_here(machine, ranks, None)))


def hosts_of(result: Result) -> tuple[str, ...]:
    """The host of every rank as the record tells it; empty where nothing was measured."""
    seen = next((r.surroundings.get("ranks") for r in result.records if r.surroundings.get("ranks")), None)
    return tuple(str(host) for host in (seen or {}).get("hosts", ()))
