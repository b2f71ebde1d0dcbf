"""Converts an OTF2 archive to a trace of ours, as a process: isolated.py steelyard.whatif.otf2.reading ANCHOR FOLDER.

The OTF2 library may end or crash the process if an archive is damaged. The answer is one line of JSON.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import otf2

from steelyard.whatif.otf2 import sizes
from steelyard.whatif.otf2.archive import SELF, WORLD, Definitions, Refusal
from steelyard.whatif.otf2.calls import COMMUNICATION, PS, Calls
from steelyard.whatif.otf2.records import CALL, COMMUNICATOR, FINALIZE, WINDOW
from steelyard.whatif.otf2.rows import Row, Together

LONGEST = 1_900_000  # s: the longest trace that the replay accepts
NS = 1000  # ps


def convert(anchor: Path, folder: Path) -> int:
    """Writes the tables from which the export program makes the files of the ranks. Refusal if it cannot be replayed.

    Returns the number of collectives whose bytes are divided evenly, because the archive has only their sum.
    """
    with otf2.reader.open(str(anchor)) as archive:
        defined = Definitions(archive.definitions)
        ranks = [Calls(rank, defined) for rank in range(len(defined.locations))]
        for location, event in archive.events:
            rank = defined.rank_of.get(id(location))
            if rank is not None:
                ranks[rank].take(event)
            elif type(event).__name__ in COMMUNICATION:
                raise Refusal(f"'{location.name}' of '{location.group.name}' communicates, but belongs to no rank")
        for rank, location in enumerate(defined.locations):
            expected = int(location.number_of_events)
            if ranks[rank].events != expected:
                raise Refusal(f"rank {rank} has {ranks[rank].events} events, but its definition says {expected}")
        even = _number_collectives(ranks)
        _finish(ranks, defined.ours)
        _write(ranks, defined, folder)
    return even


def _number_collectives(ranks: Sequence[Calls]) -> int:
    """Fills in the numbers of collectives: the n-th calls of all members of a communicator belong together."""
    collectives: dict[int | tuple[int, int], dict[int, list[Together]]] = defaultdict(lambda: defaultdict(list))
    for of_rank in ranks:
        for on, one in sorted(of_rank.together, key=lambda pair: pair[1].begun):
            collectives[on if on != SELF else (SELF, of_rank.rank)][one.part.member].append(one)
    even = 0
    for members in collectives.values():
        for place in range(max(map(len, members.values()))):
            even += _count_collectives({rank: all_of[place] for rank, all_of in members.items() if place < len(all_of)})
    return even


def _count_collectives(members: dict[int, Together]) -> int:
    first = next(iter(members.values()))
    shares = [0] * first.part.ranks
    for rank, one in members.items():
        if one.name != first.name or one.part.ranks != first.part.ranks:
            raise Refusal(f"members of a communicator call {first.name} and {one.name} at the same time")
        shares[rank] = sizes.find_own_size(one.name, one.part)
    even = 0
    for one in members.values():
        if not sizes.NUMBERS[one.name][1]:
            one.row.numbers += [sizes.find_size(one.name, one.part), *one.request]
            continue
        numbers, exact = sizes.find_sizes(one.name, one.part, shares)
        if one.given is not None and len(one.given) == 2 * one.part.ranks and min(one.given) >= 0:
            numbers, exact = one.given, True
        even |= not exact
        one.row.numbers += [len(numbers), *numbers, *one.request]
    return even


def _finish(ranks: Sequence[Calls], ours: bool) -> None:
    """Adds MPI_Finalize to all ranks of an archive of another tool that has none."""
    for of_rank in ranks:
        for row in of_rank.rows:
            if row.kind == CALL:
                row.numbers.clear()  # a collective that was begun and never completed
    if not ours and not any(row.kind == FINALIZE for of_rank in ranks for row in of_rank.rows):
        for of_rank in ranks:
            of_rank.rows.append(Row(FINALIZE))


def _write(ranks: Sequence[Calls], defined: Definitions, folder: Path) -> None:
    start = min((one.first for one in ranks if one.first is not None), default=0)
    with (folder / "records.csv").open("w") as records, (folder / "ranks.csv").open("w") as headers:
        for of_rank in ranks:
            late = ((of_rank.first if of_rank.first is not None else start) - start) * PS // defined.resolution
            rows = [*_list_definitions(of_rank, defined), *of_rank.rows]
            if rows:
                rows[0].gap += late % NS
            length = sum(row.gap + row.duration for row in rows)
            if late + length > LONGEST * PS:
                raise Refusal("it is longer than 22 days")
            for row in rows:
                numbers = " ".join(map(str, row.numbers))
                records.write(f"{of_rank.rank},{row.kind},{row.communicator},{row.gap},{row.duration},{numbers}\n")
            # A tick is a picosecond; the clock begins at a second, and is known over a whole one.
            begin = PS // NS + late // NS
            header = [of_rank.rank, len(ranks), 0, 1, 0, begin, PS, begin + PS // NS, 0, 0, 0, 0, 0]
            headers.write(",".join(map(str, header)) + f",{defined.host(of_rank.rank)}\n")


def _list_definitions(of_rank: Calls, defined: Definitions) -> list[Row]:
    """Returns the records of communicators and windows, which come before their use."""
    windows = {number: on for number, on in defined.windows.values() if of_rank.rank in defined.ranks(on, of_rank.rank)}
    used = sorted(of_rank.used | {on for on in windows.values() if on > SELF})
    rows = []
    for number in used:
        members = defined.members[number]
        steps = [rank - before for rank, before in zip(members, (0, *members), strict=False)]
        rows.append(Row(COMMUNICATOR, WORLD, [number, number, len(members), *steps]))
    return [*rows, *(Row(WINDOW, on, [number]) for number, on in windows.items())]


def main(anchor: str, folder: str) -> None:
    """Prints the result of `convert`, or its error."""
    try:
        reply: dict[str, object] = {"even": convert(Path(anchor), Path(folder))}
    except Refusal as refusal:
        reply = {"error": str(refusal)}
    except Exception as error:  # whatever the library makes of a damaged archive
        reply = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply))


if __name__ == "__main__":
    main(*sys.argv[1:])
