"""Writes a trace of ours as an OTF2 archive, on the clock of rank 0: calls as regions, messages, collectives, windows."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import otf2
from otf2 import enums

from steelyard.whatif.otf2 import sizes
from steelyard.whatif.otf2.lengths import Lengths
from steelyard.whatif.otf2.records import (
    ANY,
    BYTES,
    CANCELLED,
    COLLECTIVE,
    COMPLETE,
    EXCHANGE,
    FENCE,
    GET,
    ICOLLECTIVE,
    IRECEIVE,
    ISEND,
    IVECTORS,
    LEVEL,
    NOBODY,
    PREEMPTED,
    PUT,
    RECEIVE,
    RECEIVED,
    REGION,
    SELF,
    SEND,
    TOOL,
    VECTORS,
    WAITED,
    WINDOW,
    WORLD,
    Communicators,
    Key,
    Record,
    ends,
    records,
)

RESOLUTION = 10**12  # ticks in a second: what the replay counts in
MAIN = "main"
UNROOTED = 0xFFFFFFFF

# A record does not say which of MPI's calls it was: of several that are alike the plainest stands for all.
NAMES = {
    1: "MPI_other", SEND: "MPI_Send", ISEND: "MPI_Isend", RECEIVE: "MPI_Recv", IRECEIVE: "MPI_Irecv",
    EXCHANGE: "MPI_Sendrecv", COMPLETE: "MPI_Waitall", 8: "MPI_Probe", 13: "MPI_Comm_create", 14: "MPI_Request_free",
    WINDOW: "MPI_Win_create", FENCE: "MPI_Win_fence", PUT: "MPI_Put", GET: "MPI_Get", 19: "MPI_Test",
    PREEMPTED: "steelyard: a look at the processor's queue", TOOL: "steelyard: the tracer", 22: "MPI_Finalize",
    23: "MPI_Abort", REGION: "MPI_Pcontrol",
}  # fmt: skip
TOGETHER = (
    "Barrier", "Bcast", "Reduce", "Allreduce", "Gather", "Scatter", "Allgather", "Alltoall", "Reduce_scatter", "Scan",
)  # fmt: skip


def name_of(record: Record) -> str:
    """The region in which the record's call is."""
    if record.kind not in (COLLECTIVE, ICOLLECTIVE, VECTORS, IVECTORS):
        return NAMES[record.kind]
    name = TOGETHER[record.numbers[0]] + ("v" if record.kind in (VECTORS, IVECTORS) else "")
    return f"MPI_I{name[0].lower()}{name[1:]}" if record.kind in (ICOLLECTIVE, IVECTORS) else f"MPI_{name}"


class Archive:
    """The definitions: a location for each rank, communicators, windows, regions."""

    def __init__(self, trace: Any, hosts: Sequence[str], known: Communicators) -> None:
        self.trace = trace
        made = trace.definitions
        top = made.system_tree_node("machine", class_name="machine")
        nodes = {h: made.system_tree_node(h, class_name="node", parent=top) for h in dict.fromkeys(hosts)}
        groups = [
            made.location_group(f"MPI Rank {rank}", system_tree_parent=nodes[host]) for rank, host in enumerate(hosts)
        ]
        self.locations = [made.location("Master thread", group=group) for group in groups]
        mpi = {"paradigm": enums.Paradigm.MPI}
        made.group("MPI", group_type=enums.GroupType.COMM_LOCATIONS, members=self.locations, **mpi)
        self.members = known.members
        self._communicators: dict[Key, Any] = {}
        for number, (key, ranks) in enumerate(known.members.items()):
            members = [self.locations[rank] for rank in ranks]
            name = "MPI_COMM_WORLD" if key == WORLD else f"MPI communicator {number}"
            group = made.group(name, group_type=enums.GroupType.COMM_GROUP, members=members, **mpi)
            self._communicators[key] = made.comm(name, group=group)
        own = made.group("MPI_COMM_SELF", group_type=enums.GroupType.COMM_SELF, members=[], **mpi)
        self._communicators[SELF] = made.comm("MPI_COMM_SELF", group=own)
        self.windows = {
            window: made.rma_win(f"window {number}", comm=self._communicators[window[0]])
            for number, window in enumerate(known.windows)
        }
        self.bytes = made.attribute(BYTES, description="B to each rank, then B from each", type=enums.Type.STRING)
        self.waited = made.attribute(WAITED, description="ns without a processor", type=enums.Type.UINT64)
        self.level = made.parameter(LEVEL, parameter_type=enums.ParameterType.INT64)
        self._regions: dict[str, Any] = {}

    def communicator(self, key: Key) -> Any:
        """The definition of a communicator."""
        return self._communicators[key]

    def region(self, name: str) -> Any:
        """The region with that name."""
        if name not in self._regions:
            own = not name.startswith("MPI_")
            paradigm = enums.Paradigm.MEASUREMENT_SYSTEM if own else enums.Paradigm.MPI
            role = enums.RegionRole.ARTIFICIAL if own else enums.RegionRole.FUNCTION
            if name == MAIN:
                paradigm, role = enums.Paradigm.USER, enums.RegionRole.FUNCTION
            self._regions[name] = self.trace.definitions.region(name, paradigm=paradigm, region_role=role)
        return self._regions[name]


class RankWriter:
    """The events of one rank."""

    def __init__(self, archive: Archive, rank: int, begin: float, lengths: Sequence[int]) -> None:
        self._archive = archive
        self._rank = rank
        self._out = archive.trace.event_writer_from_location(archive.locations[rank])
        self._lengths = iter(lengths)
        self._last = round(begin * RESOLUTION)
        self._open: dict[int, tuple[Any, int, int, int]] = {}  # receives: communicator, from, tag, bytes
        self._begun: dict[int, tuple[tuple[Any, ...], dict[str, Any]]] = {}  # collectives: what is written at their end
        self._puts = 0
        self._out.enter(self._last, archive.region(MAIN))

    def write(self, record: Record, known: Communicators) -> None:
        """One call. Times never go back, whatever their last digits are."""
        begin = max(round(record.begin * RESOLUTION), self._last)
        end = max(round((record.begin + record.seconds) * RESOLUTION), begin)
        region = self._archive.region(name_of(record))
        self._out.enter(begin, region)
        self._act(record, known, begin, end)
        waited = {self._archive.waited: record.numbers[0]} if record.kind == PREEMPTED else None
        self._out.leave(end, region, attributes=waited)
        self._last = end

    def close(self) -> None:
        """The rank's end."""
        self._out.leave(self._last, self._archive.region(MAIN))

    def _act(self, record: Record, known: Communicators, begin: int, end: int) -> None:
        key = known.key(record)
        on = self._archive.communicator(key)
        match record.kind:
            case 2:
                to, tag, size = record.numbers
                self._out.mpi_send(begin, to, on, tag, size)
            case 3:
                to, tag, size, request = record.numbers
                self._open.pop(request, None)
                self._out.mpi_isend(begin, to, on, tag, size, request)
            case 4:
                self._out.mpi_recv(end, record.numbers[0], on, record.numbers[1], next(self._lengths))
            case 5:
                source, tag, request = record.numbers
                self._open[request] = on, source, tag, next(self._lengths)
                self._out.mpi_irecv_request(end, request)
            case 6:
                self._exchange(record.numbers, on, begin, end)
            case 7:
                self._complete(record.numbers, end)
            case 9 | 10 | 11 | 12:
                self._together(record, key, known.of(key), begin, end)
            case 14:
                self._open.pop(record.numbers[0], None)
                self._begun.pop(record.numbers[0], None)
            case 15 | 16 | 17 | 18:
                self._aside(record, known, begin, end)
            case 24:
                self._out.parameter_int(begin, self._archive.level, record.numbers[0])

    def _exchange(self, numbers: Sequence[int], on: Any, begin: int, end: int) -> None:
        to, tag, size, source, received = numbers
        length = next(self._lengths)
        if to != NOBODY:
            self._out.mpi_send(begin, to, on, tag, size)
        if source != NOBODY:
            self._out.mpi_recv(end, source, on, received, length)

    def _complete(self, numbers: tuple[int, ...], end: int) -> None:
        for request, how, source, tag in ends(numbers):
            if how == CANCELLED:
                self._out.mpi_request_cancelled(end, request)
                self._open.pop(request, None)
            elif request in self._begun:
                words, attributes = self._begun.pop(request)
                self._out.non_blocking_collective_complete(end, *words, request, **attributes)
            elif request in self._open:
                on, was, had, length = self._open.pop(request)
                if how == RECEIVED:
                    was, had = source, tag
                if was >= 0 and had != ANY:
                    self._out.mpi_irecv(end, was, on, had, length, request)
                else:
                    self._out.mpi_request_cancelled(end, request)  # of nobody: it took no message
            else:
                self._out.mpi_isend_complete(end, request)

    def _together(self, record: Record, key: Key, ranks: tuple[int, ...], begin: int, end: int) -> None:
        waits, varied = record.kind in (COLLECTIVE, VECTORS), record.kind in (VECTORS, IVECTORS)
        what, root, *rest = record.numbers
        own, attributes = ranks.index(self._rank), {}
        if varied:
            each = rest[1 : 1 + rest[0]]
            name, (sent, received) = sizes.VARIED[what], sizes.varied(what, root, own, len(ranks), each)
            part = sizes.Part(len(ranks), own, root, sent, received)
            if what == 7 and sizes.several(name, part, ())[0] != each:
                attributes = {"attributes": {self._archive.bytes: " ".join(map(str, each))}}
        else:
            name, (sent, received) = sizes.ALIKE[what], sizes.alike(what, root, own, len(ranks), rest[0])
        operation = getattr(enums.CollectiveOp, name)
        root = root if what in sizes.ROOTED else UNROOTED
        words = operation, self._archive.communicator(key), root, sent, received
        if waits:
            self._out.mpi_collective_begin(begin)
            self._out.mpi_collective_end(end, *words, **attributes)
        else:
            self._begun[rest[-1]] = words, attributes
            self._out.non_blocking_collective_request(end, rest[-1])

    def _aside(self, record: Record, known: Communicators, begin: int, end: int) -> None:
        window = self._archive.windows[known.window(record.numbers[0])]
        if record.kind == WINDOW:
            self._out.rma_win_create(end, window)
        elif record.kind == FENCE:
            self._out.rma_collective_begin(begin)
            level = enums.RmaSyncLevel.PROCESS
            self._out.rma_collective_end(end, enums.CollectiveOp.BARRIER, level, window, UNROOTED, 0, 0)
        else:
            _, target, size = record.numbers
            put = self._out.rma_put if record.kind == PUT else self._out.rma_get
            put(begin, window, target, size, self._puts)
            self._out.rma_op_complete_blocking(end, window, self._puts)
            self._puts += 1


def write(table: Path, begins: Sequence[float], hosts: Sequence[str], output: Path) -> None:
    """Makes an archive in the folder `output` of the file of records `table`; `begins` of ranks in s after the first one's."""
    found = Lengths(len(hosts))
    lengths = found.read(records(table))
    with otf2.writer.open(str(output), timer_resolution=RESOLUTION) as trace:
        archive = Archive(trace, hosts, found.communicators)
        _write(records(table), archive, Communicators(len(hosts)), begins, lengths)


def _write(
    rows: Iterable[Record],
    archive: Archive,
    known: Communicators,
    begins: Sequence[float],
    lengths: Sequence[Sequence[int]],
) -> None:
    writer = None
    done = 0
    for record in rows:
        known.read(record)
        while done <= record.rank:
            if writer:
                writer.close()
            writer = RankWriter(archive, done, begins[done], lengths[done])
            done += 1
        assert writer is not None
        writer.write(record, known)
    if writer:
        writer.close()
    for rank in range(done, len(begins)):  # that have done nothing
        RankWriter(archive, rank, begins[rank], ()).close()


def main(folder: str, output: str) -> None:
    """The archive of a trace that was written as a table into `folder`."""
    made = Path(folder)
    begins = [float(line) for line in (made / "begins.csv").read_text().splitlines()]
    lines = (made / "ranks.csv").read_text(encoding="utf-8", errors="replace").splitlines()
    hosts = [line.split(",", 13)[13] or "unknown" for line in lines]
    write(made / "records.csv", begins, hosts, Path(output))


if __name__ == "__main__":
    main(*sys.argv[1:])
