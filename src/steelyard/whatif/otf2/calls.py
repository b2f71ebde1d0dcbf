"""Converts the events of a rank in OTF2 to records of a trace of ours; the events in a region of MPI are one call."""

from collections.abc import Callable
from typing import Any

from otf2 import enums

from steelyard.whatif.otf2 import records, sizes
from steelyard.whatif.otf2.archive import SELF, Definitions, Refusal
from steelyard.whatif.otf2.rows import Row, Together, make_exchange

PS = 10**12
PATIENCE = 10_000_000  # ps: shorter gaps between unsuccessful tests are waiting, as in our tracer
MOST_BYTES, LAST_TAG = 1 << 50, (1 << 31) - 1
NAMED = {"MPI_Finalize": records.FINALIZE, "MPI_Abort": records.ABORT}


def _attribute(event: Any, name: str) -> Any:
    return next((value for key, value in (event.attributes or {}).items() if key.name == name), None)


class Calls:
    """The calls of one rank: `take` each event in order; then `rows` and `together` hold the records."""

    def __init__(self, rank: int, defined: Definitions) -> None:
        self.rank = rank
        self.rows: list[Row] = []
        self.together: list[tuple[int, Together]] = []  # by communicator
        self.used: set[int] = set()
        self.first: int | None = None
        self.events = 0
        self._defined = defined
        self._last = self._begin = 0
        self._depth = self._number = 0
        self._region: Any = None
        self._pending: list[Row] = []
        self._ended: list[int] = []  # of requests that the call completes: their numbers in the record
        self._how_many = 0
        self._tests = self._polling = False
        self._requests: dict[int, tuple[int, Row | None, int]] = {}  # by OTF2's: ours, a receive, when it was begun
        self._made = 0
        self._waited: int | None = None

    def take(self, event: Any) -> None:
        """Takes the next event of the rank. Refusal if it cannot be replayed."""
        self.events += 1
        act = _ACTS.get(type(event).__name__)
        if self.first is None:
            self.first = self._last = event.time
        if event.time < self._last and act is not None and self._depth == 0:
            raise Refusal(f"the times of rank {self.rank} decrease")
        if act is None:
            return
        if self._depth or act in (Calls._enter, Calls._leave, Calls._flush):
            act(self, event)
            return
        self._open(event.time, None)  # outside of MPI's regions: a call that takes no time
        act(self, event)
        self._close(event.time)

    def _ps(self, ticks: int) -> int:
        return (ticks * PS + self._defined.resolution // 2) // self._defined.resolution

    def _span(self, begin: int, end: int) -> int:
        """Returns the ps between two moments; sums of neighbouring spans have no rounding error."""
        assert self.first is not None
        return self._ps(end - self.first) - self._ps(begin - self.first)

    def _enter(self, event: Any) -> None:
        if event.region.paradigm not in (enums.Paradigm.MPI, enums.Paradigm.MEASUREMENT_SYSTEM):
            return
        if self._depth == 0:
            self._open(event.time, event.region)
        self._depth += 1

    def _leave(self, event: Any) -> None:
        if event.region.paradigm not in (enums.Paradigm.MPI, enums.Paradigm.MEASUREMENT_SYSTEM) or self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            self._waited = _attribute(event, records.WAITED)
            self._close(event.time)

    def _flush(self, event: Any) -> None:
        """Records that the measuring tool wrote its buffer: neither computing nor MPI."""
        if self._depth == 0 and event.stop_time >= event.time:
            self._put([Row(records.TOOL)], event.time, event.stop_time)

    def _open(self, time: int, region: Any) -> None:
        self._begin, self._region, self._pending, self._ended, self._how_many = time, region, [], [], 0
        self._tests = False
        self._number += 1

    def _close(self, end: int) -> None:
        if end < self._begin:
            raise Refusal(f"the times of rank {self.rank} decrease")
        name = self._region.name if self._region is not None else ""
        rows = make_exchange(self._pending) if name.startswith("MPI_Sendrecv") else self._pending
        if self._how_many:
            rows.append(Row(records.COMPLETE, 0, [self._how_many, *self._ended]))
        if not rows:
            rows = [self._describe_call_without_message(name)]
        self._put(rows, self._begin, end)
        self._region = None

    def _describe_call_without_message(self, name: str) -> Row:
        """A call without a message."""
        if self._region is not None and self._region.paradigm == enums.Paradigm.MEASUREMENT_SYSTEM:
            return Row(records.TOOL) if self._waited is None else Row(records.PREEMPTED, 0, [self._waited])
        if self._tests or name.startswith("MPI_Test"):
            return Row(records.POLLED, 0, [1])
        return Row(NAMED.get(name, records.CALL))

    def _put(self, rows: list[Row], begin: int, end: int) -> None:
        gap, duration = self._span(self._last, begin), self._span(begin, end)
        self._last = end
        polls = rows[0].kind == records.POLLED
        if polls and self._polling and gap < PATIENCE:
            before = self.rows[-1]
            before.numbers[0] += 1
            before.duration += gap + duration
            return
        self._polling = polls
        rows[0].gap, rows[0].duration = gap, duration
        self.rows += rows

    def _on(self, communicator: Any, partner: int | None = None) -> int:
        number = self._defined.number(communicator)
        if partner is not None and partner >= len(self._defined.ranks(number, self.rank)):
            raise Refusal(
                f"rank {self.rank} has a message with rank {partner} of '{communicator.name}', which has no such rank"
            )
        if number > SELF:
            self.used.add(number)
        if self.rank not in self._defined.ranks(number, self.rank):
            raise Refusal(f"rank {self.rank} communicates in '{communicator.name}', but it is not a member")
        return number

    def _bytes(self, size: int) -> int:
        if size > MOST_BYTES:
            raise Refusal(f"rank {self.rank} has a message of {size} B; the maximum is 2^50")
        return size

    def _tag(self, tag: int) -> int:
        if tag > LAST_TAG:
            raise Refusal(f"rank {self.rank} has a message with tag {tag}; they lie between 0 and 2^31 - 1")
        return tag

    def _request(self) -> int:
        self._made += 1
        return self._made - 1

    def _send(self, event: Any) -> None:
        on = self._on(event.communicator, event.receiver)
        self._pending.append(
            Row(records.SEND, on, [event.receiver, self._tag(event.msg_tag), self._bytes(event.msg_length)])
        )

    def _isend(self, event: Any) -> None:
        on, request = self._on(event.communicator, event.receiver), self._request()
        self._requests[event.request_id] = request, None, 0
        words = [event.receiver, self._tag(event.msg_tag), self._bytes(event.msg_length), request]
        self._pending.append(Row(records.ISEND, on, words))

    def _receive(self, event: Any) -> None:
        on = self._on(event.communicator, event.sender)
        self._pending.append(Row(records.RECEIVE, on, [event.sender, self._tag(event.msg_tag)]))

    def _irecv_request(self, event: Any) -> None:
        request = self._request()
        row = Row(records.IRECEIVE, 0, [records.ANY, records.ANY, request])
        self._requests[event.request_id] = request, row, 0
        self._pending.append(row)

    def _irecv(self, event: Any) -> None:
        """Completes a receive; its sender and tag also belong to the record of its begin."""
        request, row, _ = self._requests.pop(event.request_id, (0, None, 0))
        if row is None:
            self._receive(event)
            return
        row.communicator = self._on(event.communicator, event.sender)
        row.numbers[:2] = event.sender, self._tag(event.msg_tag)
        self._end(request, records.RECEIVED, event.sender, event.msg_tag)

    def _end(self, request: int, how: int, *more: int) -> None:
        self._how_many += 1
        self._ended += [request << 2 | how, *more]

    def _done(self, event: Any) -> None:
        request = self._requests.pop(event.request_id, None)
        if request is not None:
            self._end(request[0], records.PLAIN)

    def _cancelled(self, event: Any) -> None:
        request = self._requests.pop(event.request_id, None)
        if request is not None:
            self._end(request[0], records.CANCELLED)

    def _test(self, event: Any) -> None:
        self._tests = True

    def _collective(self, event: Any, kind: int = records.COLLECTIVE, row: Row | None = None, begun: int = 0) -> None:
        name = str(event.collective_op).rpartition(".")[2]
        if name not in sizes.NUMBERS:
            return  # what makes and frees communicators and windows
        number, several = sizes.NUMBERS[name]
        on = self._on(event.communicator)
        ranks = self._defined.ranks(on, self.rank)
        rooted = number in sizes.ROOTED
        if rooted and event.root >= len(ranks):
            raise Refusal(
                f"rank {self.rank} has a collective with the root {event.root}, which is not one of its ranks"
            )
        root = event.root if rooted else 0
        sent, received = self._bytes(event.size_sent), self._bytes(event.size_received)
        part = sizes.Part(len(ranks), ranks.index(self.rank), root, sent, received)
        request = row.numbers if row else []
        if row is None:
            row = Row(kind)
            self._pending.append(row)
        row.kind, row.communicator, row.numbers = kind + 2 * several, on, [number, root]
        given = _attribute(event, records.BYTES) if name == "ALLTOALLV" else None
        numbers = [int(one) for one in given.split()] if given else None
        self.together.append(
            (on, Together(begun=begun or self._number, row=row, name=name, part=part, given=numbers, request=request))
        )

    def _icollective_request(self, event: Any) -> None:
        request = self._request()
        row = Row(records.CALL, 0, [request])
        self._requests[event.request_id] = request, row, self._number
        self._pending.append(row)

    def _icollective(self, event: Any) -> None:
        request, row, begun = self._requests.pop(event.request_id, (0, None, 0))
        if row is None:
            return
        self._collective(event, records.ICOLLECTIVE, row, begun)
        self._end(request, records.PLAIN)

    def _window(self, event: Any) -> tuple[int, int] | None:
        window = self._defined.windows.get(id(event.win))
        if window is not None and window[1] > SELF:
            self.used.add(window[1])
        return window

    def _transfer(self, event: Any) -> None:
        window = self._window(event)
        if window is None:
            return  # of another paradigm
        if event.remote >= len(self._defined.ranks(window[1], self.rank)):
            raise Refusal(f"rank {self.rank} accesses rank {event.remote} of a window, which has no such rank")
        kind = records.PUT if type(event).__name__ == "RmaPut" else records.GET
        self._pending.append(Row(kind, window[1], [window[0], event.remote, self._bytes(event.bytes)]))

    def _fence(self, event: Any) -> None:
        window = self._window(event)
        if window is not None and event.collective_op == enums.CollectiveOp.BARRIER:
            self._pending.append(Row(records.FENCE, window[1], [window[0]]))

    def _parameter(self, event: Any) -> None:
        if event.parameter.name == records.LEVEL:
            self._pending.append(Row(records.REGION, 0, [event.value]))


Act = Callable[[Calls, Any], None]
_ACTS: dict[str, Act] = {
    "Enter": Calls._enter, "Leave": Calls._leave, "BufferFlush": Calls._flush, "MpiSend": Calls._send,
    "MpiIsend": Calls._isend, "MpiIsendComplete": Calls._done, "MpiRecv": Calls._receive, "MpiMrecv": Calls._receive,
    "MpiIrecvRequest": Calls._irecv_request, "MpiIrecv": Calls._irecv, "MpiImrecvRequest": Calls._irecv_request,
    "MpiImrecv": Calls._irecv, "MpiRequestTest": Calls._test, "MpiRequestCancelled": Calls._cancelled,
    "MpiCollectiveEnd": Calls._collective, "NonBlockingCollectiveRequest": Calls._icollective_request,
    "NonBlockingCollectiveComplete": Calls._icollective, "RmaPut": Calls._transfer, "RmaGet": Calls._transfer,
    "RmaCollectiveEnd": Calls._fence, "ParameterInt": Calls._parameter,
}  # fmt: skip
COMMUNICATION = frozenset(name for name in _ACTS if name.startswith(("Mpi", "NonBlocking")))
