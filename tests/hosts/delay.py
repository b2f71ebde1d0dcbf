"""Holds every packet that the kernel hands over in its netfilter queue 0 for a while: delay.py SECONDS.

The packets stay in the kernel; only their numbers come here, and go back with a verdict when it is time. It says
`ready`, and ends, with all packets released, when its input ends.
"""

import contextlib
import os
import select
import socket
import struct
import sys
import time
from collections import deque

# Numbers of Linux: asm-generic/socket.h, linux/netlink.h, linux/netfilter/nfnetlink.h and nfnetlink_queue.h.
NETLINK_NETFILTER = 12
SO_RCVBUFFORCE = 33
SOL_NETLINK, NETLINK_NO_ENOBUFS = 270, 5
NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 1, 4, 2
QUEUE = 3 << 8  # the subsystem's part of a message's type
PACKET, CONFIG, VERDICT_BATCH = QUEUE | 0, QUEUE | 2, QUEUE | 3
CFG_CMD, CFG_PARAMS, CFG_QUEUE_MAXLEN, CFG_MASK, CFG_FLAGS = 1, 2, 3, 4, 5
BIND, COPY_META, F_GSO = 1, 1, 1 << 2
PACKET_HEADER, VERDICT_HEADER = 1, 2
NF_ACCEPT = 1
HEADER = struct.Struct("=IHHII")  # length, type, flags, sequence, port
ATTRIBUTE = struct.Struct("=HH")  # length, kind

LONGEST_QUEUE = 1 << 16  # packets; more than any window holds
BUFFER = 16 << 20  # bytes of notices that may wait


def message(kind: int, flags: int, *attributes: tuple[int, bytes]) -> bytes:
    """A netlink message to queue 0."""
    body = struct.pack("=BB", socket.AF_UNSPEC, 0) + struct.pack("!H", 0)
    for number, content in attributes:
        body += ATTRIBUTE.pack(ATTRIBUTE.size + len(content), number) + content + bytes(-len(content) % 4)
    return HEADER.pack(HEADER.size + len(body), kind, flags | NLM_F_REQUEST, 0, 0) + body


def messages(data: bytes) -> list[tuple[int, bytes]]:
    """Types and contents of the netlink messages in `data`."""
    found, at = [], 0
    while at + HEADER.size <= len(data):
        length, kind, *_ = HEADER.unpack_from(data, at)
        found.append((kind, data[at + HEADER.size : at + length]))
        at += (length + 3) & ~3
    return found


def packet(content: bytes) -> int:
    """The number of the packet that a notice is about."""
    at = 4  # behind the header of netfilter's own
    while True:
        length, kind = ATTRIBUTE.unpack_from(content, at)
        if kind == PACKET_HEADER:
            return int(struct.unpack_from("!I", content, at + ATTRIBUTE.size)[0])
        at += (length + 3) & ~3


def opened() -> socket.socket:
    """A socket that gets a notice of each packet in queue 0. OSError where the kernel has no such queue."""
    queue = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
    queue.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    queue.setsockopt(SOL_NETLINK, NETLINK_NO_ENOBUFS, 1)
    queue.bind((0, 0))
    for attributes in (
        [(CFG_CMD, struct.pack("!BxH", BIND, 0))],
        [
            (CFG_PARAMS, struct.pack("!IB", 0, COPY_META)),
            (CFG_QUEUE_MAXLEN, struct.pack("!I", LONGEST_QUEUE)),
            # Large packets stay whole, as they travel between namespaces.
            (CFG_FLAGS, struct.pack("!I", F_GSO)),
            (CFG_MASK, struct.pack("!I", F_GSO)),
        ],
    ):
        queue.send(message(CONFIG, NLM_F_ACK, *attributes))
        for kind, content in messages(queue.recv(1 << 16)):
            code = struct.unpack_from("=i", content)[0] if kind == NLMSG_ERROR else 0
            if code:
                raise OSError(-code, os.strerror(-code))
    return queue


def release(queue: socket.socket, last: int) -> None:
    """Lets all packets go on, up to the number `last`."""
    queue.send(message(VERDICT_BATCH, 0, (VERDICT_HEADER, struct.pack("!II", NF_ACCEPT, last))))


def hold(queue: socket.socket, seconds: float) -> None:
    """Until the input ends."""
    waiting: deque[tuple[float, int]] = deque()  # when the packet may go, and its number
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        ready, _, _ = select.select([queue, sys.stdin], [], [], left)
        now = time.monotonic()
        if queue in ready:
            for kind, content in messages(queue.recv(1 << 20)):
                if kind == PACKET:
                    waiting.append((now + seconds, packet(content)))
        last = None
        while waiting and waiting[0][0] <= time.monotonic():
            last = waiting.popleft()[1]
        if sys.stdin in ready and waiting:
            last = waiting[-1][1]
        if last is not None:
            release(queue, last)
        if sys.stdin in ready:
            return


def main() -> None:
    """Opens the queue and holds what comes."""
    queue = opened()
    # Before everything else: ranks that wait for a message in a loop would leave this process no processor.
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    print("ready", flush=True)
    hold(queue, float(sys.argv[1]))


if __name__ == "__main__":
    main()
