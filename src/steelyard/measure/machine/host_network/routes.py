"""Reads the smallest retransmission time-outs that routes set from the kernel (netlink)."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator

# linux/rtnetlink.h: RTM_NEWROUTE, RTM_GETROUTE, RTN_UNICAST, RTA_OIF, RTA_METRICS, RTAX_RTO_MIN
_NEW_ROUTE, _GET_ROUTE, _UNICAST = 24, 26, 1
_OUT, _METRICS, _RTO_MIN = 4, 8, 13


def read_route_timeouts() -> dict[str, tuple[float, str]]:
    """Returns by interface the smallest time-out that a route sets (s), and on how many of its routes."""
    values: dict[str, list[int | None]] = {}
    with contextlib.suppress(OSError, struct.error):
        for interface, milliseconds in _list_routes():
            values.setdefault(interface, []).append(milliseconds)
    return {
        name: (min(given) / 1e3, f"rto_min of {len(given)} of {len(every)} routes")
        for name, every in values.items()
        if (given := [value for value in every if value is not None])
    }


def _list_routes() -> Iterator[tuple[str, int | None]]:
    """Yields (interface, rto_min in ms or None) of every unicast route of the main tables."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.settimeout(2.0)
        # nlmsghdr (length, type, NLM_F_REQUEST | NLM_F_DUMP, sequence, port) and an rtmsg of zeros: all families.
        kernel.send(struct.pack("IHHII", 28, _GET_ROUTE, 0x301, 1, 0) + bytes(12))
        while True:
            packet = kernel.recv(1 << 17)
            for kind, body in _split_messages(packet):
                if kind != _NEW_ROUTE:
                    return
                if body[7] == _UNICAST:  # rtm_type
                    yield from _read_route(body[12:])


def _split_messages(packet: bytes) -> Iterator[tuple[int, bytes]]:
    while len(packet) >= 16:
        length, kind = struct.unpack_from("IH", packet)
        yield kind, packet[16:length]
        packet = packet[(length + 3) & ~3 :]


def _read_route(body: bytes) -> Iterator[tuple[str, int | None]]:
    attributes = dict(_split_attributes(body))
    if _OUT in attributes:
        metrics = dict(_split_attributes(attributes.get(_METRICS, b"")))
        rto = struct.unpack("I", metrics[_RTO_MIN][:4])[0] if _RTO_MIN in metrics else None
        with contextlib.suppress(OSError):
            yield socket.if_indextoname(struct.unpack("I", attributes[_OUT])[0]), rto


def _split_attributes(body: bytes) -> Iterator[tuple[int, bytes]]:
    while len(body) >= 4:
        length, kind = struct.unpack_from("HH", body)
        if length < 4:
            return
        yield kind & 0x3FFF, body[4:length]
        body = body[(length + 3) & ~3 :]
