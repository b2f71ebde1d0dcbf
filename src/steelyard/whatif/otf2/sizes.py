"""The bytes of collectives: converts the bytes that OTF2 counts for a rank to the numbers in a trace of ours.

Ours has one number of bytes where all ranks have the same, and else one for each member. OTF2 has the sum of what the rank
sends and the sum of what it receives, its own part counted; MPI_IN_PLACE leaves that part out. So Score-P counts them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# By their numbers in ours: the names of OTF2's operations, of those with one number of bytes and with several.
ALIKE = (
    "BARRIER", "BCAST", "REDUCE", "ALLREDUCE", "GATHER", "SCATTER", "ALLGATHER", "ALLTOALL", "REDUCE_SCATTER", "SCAN",
)  # fmt: skip
VARIED = {4: "GATHERV", 5: "SCATTERV", 6: "ALLGATHERV", 7: "ALLTOALLV"}
ROOTED = frozenset((1, 2, 4, 5))
# OTF2's operations as those of ours, and whether they have several numbers.
NUMBERS = {
    **{name: (number, False) for number, name in enumerate(ALIKE)},
    "EXSCAN": (9, False),
    "REDUCE_SCATTER_BLOCK": (8, False),
    **{name: (number, True) for number, name in VARIED.items()},
    "ALLTOALLW": (7, True),
}


@dataclass(frozen=True)
class Part:
    """A rank's part in a collective in OTF2: its number `member` among `ranks`, and the bytes that it sent and received."""

    ranks: int
    member: int
    root: int
    sent: int
    received: int


def _divide(whole: int, ranks: int) -> int:
    """Returns the share of each rank; without the own part if the total is not divisible otherwise (MPI_IN_PLACE)."""
    if whole % ranks == 0 or ranks == 1:
        return whole // ranks
    return whole // (ranks - 1)


def _divide_by_other_ranks(whole: int, ranks: int) -> int:
    return whole // (ranks - 1) if ranks > 1 else whole


def find_size(name: str, part: Part) -> int:
    """Returns the number of bytes of a collective that has one number."""
    whole = part.sent + part.received
    match name:
        case "BARRIER":
            size = 0
        case "BCAST" | "SCATTER":
            size = part.received or _divide_by_other_ranks(part.sent, part.ranks)
        case "REDUCE" | "GATHER":
            size = part.sent or _divide_by_other_ranks(part.received, part.ranks)
        case "REDUCE_SCATTER" | "REDUCE_SCATTER_BLOCK":
            size = part.sent
        case "SCAN" if whole % (part.ranks + 1) == 0:
            size = whole // (part.ranks + 1)
        case "SCAN" | "EXSCAN":
            size = _divide_by_other_ranks(whole, part.ranks)
        case _:
            size = _divide(part.sent, part.ranks)
    return size


def find_own_size(name: str, part: Part) -> int:
    """Returns the bytes of the rank itself in a collective with several numbers."""
    match name:
        case "GATHERV":
            return part.sent
        case "SCATTERV":
            return part.received
        case _:
            return _divide(part.sent, part.ranks)


def find_sizes(name: str, part: Part, contributions: Sequence[int]) -> tuple[list[int], bool]:
    """Returns the numbers of a collective that has several, and whether they are exact; `contributions` are those of all members.

    If the bytes of each pair are unknown, the total of a rank is divided evenly.
    """
    if name in ("GATHERV", "SCATTERV"):
        return (list(contributions) if part.member == part.root else [contributions[part.member]]), True
    if name == "ALLGATHERV":
        return list(contributions), True
    return [*_divide_evenly(part.sent, part.ranks), *_divide_evenly(part.received, part.ranks)], part.ranks == 1


def _divide_evenly(whole: int, ranks: int) -> list[int]:
    return [whole // ranks + (number < whole % ranks) for number in range(ranks)]
