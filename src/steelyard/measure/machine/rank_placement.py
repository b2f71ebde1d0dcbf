"""Chooses the processor of every rank of a host: compact, scattered, or by the relation of a pair."""

from collections.abc import Iterable
from itertools import accumulate

from steelyard.errors import UsageError, nearest
from steelyard.measure.machine.placement import place
from steelyard.measure.machine.places import Places
from steelyard.model import Host, Machine

# From near to far. The first relation that holds for a pair counts.
PAIRS = ("same core", "same cache", "same memory node", "same socket", "other socket", "other node")
WORDS = ("compact", "scatter", "none")
MOST_TURNS = 64  # ranks per processor; with more, the start takes nearly all the time
MOST_ALWAYS = 1024  # ranks that are always allowed, to try the behaviour of large machines on small ones


def pair_placements(machine: Machine) -> tuple[str, ...]:
    """Returns the relations that two ranks can have on this machine, from near to far; with "other node" for several hosts."""
    alone = bool(machine.hosts) and machine.hosts[0].slots < 2
    places = Places(machine)
    pairs = (
        {relation(places, machine.cpus[0], cpu) for cpu in machine.cpus[1:]} if machine.cpus and not alone else set()
    )
    if len(machine.hosts) > 1:
        pairs.add("other node")
    return tuple(name for name in PAIRS if name in pairs)


def relation(places: Places, a: int, b: int) -> str:
    """Returns the relation of the processors `a` and `b` of one machine: one of `PAIRS`."""
    first, second = places.core.get(a), places.core.get(b)
    if first is not None and first is second:
        return "same core"
    if places.last_level > 1 and places.share_cache(places.last_level, a, b):
        return "same cache"
    if first is None or second is None or first.node == second.node:
        return "same memory node"
    return "same socket" if first.socket == second.socket else "other socket"


def place_ranks(machine: Machine, ranks: int, ranks_per_node: int | None, placement: str) -> tuple[int, ...]:
    """Returns the processors of a host's ranks 0, 1 …; () if they are not pinned. Further ranks share the processors.

    All hosts are assumed to be like this machine. Raises UsageError for fewer than one rank, an unknown word, more ranks than
    the hosts have slots, or a relation of a pair that this machine does not have.
    """
    if ranks < 1:
        raise UsageError(f"ranks={ranks} is not possible. Ask for at least 1 rank.")
    here = ranks_here(machine, ranks, ranks_per_node)
    if placement == "none":
        return ()
    if placement == "other node":
        if len(machine.hosts) < 2:
            raise UsageError("placement='other node' needs at least two hosts. Name them with --hosts a,b.")
        return machine.cpus[:1]
    if placement in PAIRS:
        places = Places(machine)
        partner = next((c for c in machine.cpus[1:] if relation(places, machine.cpus[0], c) == placement), None)
        if partner is None:
            has = ", ".join(pair_placements(machine)) or "none: it has one processor"
            raise UsageError(
                f"placement='{placement}' is not possible: this machine has no such pair of processors. It has: {has}."
            )
        return machine.cpus[0], partner
    if placement not in WORDS:
        raise UsageError(f"placement='{placement}' is unknown. {nearest(placement, (*PAIRS, *WORDS))}")
    one_each = place(machine, min(here, len(machine.cpus)), placement)
    assert one_each
    return one_each


def ranks_here(machine: Machine, ranks: int, ranks_per_node: int | None) -> int:
    """Returns how many of the `ranks` the first host gets. UsageError if there is no room for all."""
    if machine.hosts and not _have_slots(machine.hosts, ranks):
        slots = sum(host.slots for host in machine.hosts)
        named = ", ".join(f"{h.name}:{h.slots}" for h in machine.hosts)
        raise UsageError(
            f"ranks={ranks} is more than the {slots} slots of the hosts {named}. "
            "Give the hosts more slots (--hosts a:4,b:4), or ask for fewer ranks."
        )
    most = max(MOST_ALWAYS, MOST_TURNS * len(machine.cpus))
    if not machine.hosts and ranks > most:
        raise UsageError(
            f"ranks={ranks} is too many for the {len(machine.cpus)} processors of this machine. Ask for at most {most} ranks, "
            "or name further hosts (--hosts a:64,b:64)."
        )
    if machine.hosts and ranks_per_node and ranks > ranks_per_node * len(machine.hosts):
        raise UsageError(
            f"ranks={ranks} with ranks_per_node={ranks_per_node} need {-(-ranks // ranks_per_node)} hosts, "
            f"but there are {len(machine.hosts)}."
        )
    return count_ranks_here(machine, ranks, ranks_per_node)


def count_ranks_here(machine: Machine, ranks: int, ranks_per_node: int | None) -> int:
    """Returns how many of the `ranks` the first host gets, if there is room for all."""
    return min(ranks, ranks_per_node or machine.hosts[0].slots) if machine.hosts else ranks


def _have_slots(hosts: Iterable[Host], ranks: int) -> bool:
    """Returns whether the hosts have room for the ranks; few ranks need few of hundreds of hosts."""
    return any(slots >= ranks for slots in accumulate(host.slots for host in hosts))
