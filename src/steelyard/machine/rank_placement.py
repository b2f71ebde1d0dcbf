"""Chooses the processor of every rank of a host: compact, scattered, or by the relation of a pair."""

from collections.abc import Callable

from steelyard.errors import UsageError, nearest
from steelyard.machine.placement import place
from steelyard.model import Core, Machine

# From near to far. The first relation that holds for a pair counts.
PAIRS = ("same core", "same cache", "same memory node", "same socket", "other socket", "other node")
WORDS = ("compact", "scatter", "none")
MOST_TURNS = 64  # ranks per processor; with more, the start takes nearly all the time
MOST_ALWAYS = 1024  # ranks that are always allowed, to try the behaviour of large machines on small ones


def pair_placements(machine: Machine) -> tuple[str, ...]:
    """Returns the relations that two ranks can have on this machine, from near to far; with "other node" for several hosts."""
    alone = bool(machine.hosts) and machine.hosts[0].slots < 2
    pairs = (
        {relation(machine, machine.cpus[0], cpu) for cpu in machine.cpus[1:]} if machine.cpus and not alone else set()
    )
    if len(machine.hosts) > 1:
        pairs.add("other node")
    return tuple(name for name in PAIRS if name in pairs)


def relation(machine: Machine, a: int, b: int) -> str:
    """Returns the relation of the processors `a` and `b` of one machine: one of `PAIRS`."""
    first, second = _core(machine, a), _core(machine, b)
    last = max((c.level for c in machine.caches if c.kind != "instruction"), default=0)
    share = any(
        c.level == last and c.kind != "instruction" and a in c.cpus and b in c.cpus for c in machine.caches if last > 1
    )
    tests: dict[str, Callable[[], bool]] = {
        "same core": lambda: first is not None and first is second,
        "same cache": lambda: share,
        "same memory node": lambda: first is None or second is None or first.node == second.node,
        "same socket": lambda: first is not None and second is not None and first.socket == second.socket,
    }
    return next((name for name, holds in tests.items() if holds()), "other socket")


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
        partner = next((c for c in machine.cpus[1:] if relation(machine, machine.cpus[0], c) == placement), None)
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
    slots = sum(host.slots for host in machine.hosts)
    if machine.hosts and ranks > slots:
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
    if not machine.hosts:
        return ranks
    per_host = ranks_per_node or machine.hosts[0].slots
    if ranks_per_node and ranks > ranks_per_node * len(machine.hosts):
        raise UsageError(
            f"ranks={ranks} with ranks_per_node={ranks_per_node} need {-(-ranks // ranks_per_node)} hosts, "
            f"but there are {len(machine.hosts)}."
        )
    return min(ranks, per_host)


def _core(machine: Machine, cpu: int) -> Core | None:
    return next((core for core in machine.cores if cpu in core.cpus), None)
