"""The definitions of an OTF2 archive: its ranks, and communicators and windows with their numbers in a trace of ours."""

from collections.abc import Mapping
from typing import Any

from otf2 import enums

from steelyard.whatif.otf2.records import WAITED

WORLD, SELF = 0, 1


class Refusal(Exception):
    """An archive that cannot be replayed; its text says why."""


class Definitions:
    """Ranks are the locations of the group of all MPI processes, in its order."""

    def __init__(self, defined: Any) -> None:
        groups = [g for g in defined.groups if g.paradigm == enums.Paradigm.MPI]
        all_ranks = [g for g in groups if g.group_type == enums.GroupType.COMM_LOCATIONS]
        if len(all_ranks) != 1 or not all_ranks[0].members:
            raise Refusal("it defines no group of MPI ranks")
        self.locations: list[Any] = list(all_ranks[0].members)
        self.rank_of: Mapping[int, int] = {id(one): rank for rank, one in enumerate(self.locations)}
        self.resolution = int(defined.clock_properties.timer_resolution)
        if self.resolution <= 0:
            raise Refusal("its clock has no resolution")
        self.ours = any(one.name == WAITED for one in defined.attributes)  # written by this tool
        self.members: dict[int, tuple[int, ...]] = {}  # ranks of each communicator, by our number
        self._numbers: dict[int, int] = {}
        self._number_communicators(defined.comms)
        self.windows: dict[int, tuple[int, int]] = {}  # by the definition: our number, and its communicator
        for window in defined.rma_wins:
            on = self._numbers.get(id(window.comm))
            if on is not None:
                self.windows[id(window)] = len(self.windows), on

    def _number_communicators(self, communicators: Any) -> None:
        whole = tuple(range(len(self.locations)))
        for one in communicators:
            if type(one).__name__ == "InterComm" or one.group.paradigm != enums.Paradigm.MPI:
                continue
            group = one.group
            if group.group_type == enums.GroupType.COMM_SELF:
                self._numbers[id(one)] = SELF
                continue
            ranks = tuple(self.rank_of.get(id(member), -1) for member in group.members)
            if -1 in ranks or len(set(ranks)) != len(ranks):
                raise Refusal(f"the communicator '{one.name}' has a member that is not a rank, or one rank twice")
            first = ranks == whole and WORLD not in self.members
            number = WORLD if first else len(self.members) + 2
            self._numbers[id(one)] = number
            self.members[number] = ranks

    def number(self, communicator: Any) -> int:
        """Returns the number of a communicator in an event. Refusal if it has two groups or does not belong to MPI."""
        number = self._numbers.get(id(communicator))
        if number is None:
            name = getattr(communicator, "name", "?")
            raise Refusal(
                f"the communicator '{name}' joins two groups, or does not belong to MPI; the replay supports neither"
            )
        return number

    def ranks(self, number: int, own: int) -> tuple[int, ...]:
        """Returns the members of a communicator of rank `own`."""
        return (own,) if number == SELF else self.members[number]

    def host(self, rank: int) -> str:
        """Returns the host of a rank; "" if the archive does not have it."""
        node = getattr(self.locations[rank].group, "system_tree_parent", None)
        name = str(node.name) if node is not None else ""
        return "".join(c for c in name if c.isascii() and c.isprintable() and c != ",")[:63]
