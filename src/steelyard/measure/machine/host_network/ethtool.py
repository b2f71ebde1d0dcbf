"""Asks the kernel's ethtool interface, without the program of that name, for what no file has."""

from __future__ import annotations

import array
import contextlib
import fcntl
import socket
import struct
from typing import Any

# linux/ethtool.h: SIOCETHTOOL, and the number of each question.
_SIOCETHTOOL = 0x8946
_DRIVER, _COALESCING, _PAUSE, _FLAGS = 0x03, 0x0E, 0x12, 0x25
_OFFLOADS = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}
_LRO = 1 << 15  # ETH_FLAG_LRO
# Places of the 32-bit numbers of struct ethtool_coalesce.
_MODERATION = {"rx_usecs": 1, "rx_frames": 2, "tx_usecs": 5, "tx_frames": 6, "adaptive_rx": 10, "adaptive_tx": 11}


def ask_driver(name: str) -> tuple[str, str]:
    """Returns the driver of an interface and the version of the adapter's firmware; "" for what the kernel does not report."""
    try:
        answer = _ask_ethtool(name, _DRIVER, 196)  # struct ethtool_drvinfo
    except OSError:
        return "", ""
    driver, firmware = (answer[at : at + 32].split(b"\0")[0].decode("ascii", "replace") for at in (4, 68))
    return driver, "" if firmware == "N/A" else firmware


def ask_features(name: str) -> dict[str, Any]:
    """Returns offloads, interrupt moderation and flow control by the kernel's ethtool interface, or the reason."""
    offloads: dict[str, bool] = {}
    for offload, question in _OFFLOADS.items():
        with contextlib.suppress(OSError):
            offloads[offload] = bool(_ask_numbers(name, question, 2)[1])
    try:
        offloads["lro"] = bool(_ask_numbers(name, _FLAGS, 2)[1] & _LRO)
    except OSError as error:
        return {"reason": f"the kernel does not report it ({error.strerror})"}
    interrupts, pause = {}, None
    with contextlib.suppress(OSError):
        numbers = _ask_numbers(name, _COALESCING, 23)
        interrupts = {word: numbers[place] for word, place in _MODERATION.items()}
    with contextlib.suppress(OSError):
        _, _, receive, send = _ask_numbers(name, _PAUSE, 4)
        pause = {(0, 0): "off", (1, 0): "receive", (0, 1): "send", (1, 1): "on"}[bool(receive), bool(send)]
    return {"offloads": offloads, "interrupts": interrupts, "flow_control": pause}


def _ask_numbers(name: str, question: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"{count}I", _ask_ethtool(name, question, 4 * count))


def _ask_ethtool(name: str, question: int, size: int) -> bytes:
    """Asks the kernel one question about an interface. OSError if it has no answer."""
    data = array.array("B", struct.pack("I", question).ljust(size, b"\0"))
    request = struct.pack("16sP16x", name.encode(), data.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        fcntl.ioctl(opened, _SIOCETHTOOL, request)
    return data.tobytes()
