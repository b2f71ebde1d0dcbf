"""Describes the network of the host on which it runs. Every host of a run loads this package alone, as a program.

So it uses only the standard library and no other module of Steelyard. The kernel's files in /sys and /proc have most facts,
`ethtool` and `routes` ask the running kernel for the others.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
import struct
from collections.abc import Iterator
from typing import Any

from . import ethtool, routes

MOST = 16  # interfaces of a host that are described
KERNEL_TIMEOUT = 0.2  # s, TCP_RTO_MIN of Linux (include/net/tcp.h: HZ / 5)
_NET = "/sys/class/net"
_FABRIC = "/sys/class/infiniband"
_LOOPBACK, _IPOIB = "772", "32"  # ARPHRD_LOOPBACK, ARPHRD_INFINIBAND
_UP = 0x1  # IFF_UP
# Drivers that state one rate for every link, whatever carries it.
_INVENTED = ("veth", "tun", "vmxnet3", "dummy")
_SETTINGS = {
    "tcp_congestion_control": "ipv4/tcp_congestion_control",
    "tcp_rmem": "ipv4/tcp_rmem",
    "tcp_wmem": "ipv4/tcp_wmem",
    "rmem_max": "core/rmem_max",
    "wmem_max": "core/wmem_max",
    "tcp_ecn": "ipv4/tcp_ecn",
    "tcp_sack": "ipv4/tcp_sack",
    "tcp_timestamps": "ipv4/tcp_timestamps",
    "tcp_window_scaling": "ipv4/tcp_window_scaling",
    "tcp_slow_start_after_idle": "ipv4/tcp_slow_start_after_idle",
    "tcp_autocorking": "ipv4/tcp_autocorking",
    "tcp_mtu_probing": "ipv4/tcp_mtu_probing",
    "tcp_limit_output_bytes": "ipv4/tcp_limit_output_bytes",
    "default_qdisc": "core/default_qdisc",
    "busy_poll": "core/busy_poll",
    "busy_read": "core/busy_read",
    "netdev_max_backlog": "core/netdev_max_backlog",
}
_SIOCGIFADDR = 0x8915


def describe(root: str = "/") -> dict[str, Any]:
    """Returns the fields of `model.Network` but the hosts. No fact raises an error: `reasons` say why one is missing.

    With a `root` other than / only the recorded files below it are read.
    """
    files = _Files(root)
    of_kernel = _read_kernel_timeout(files)
    of_routes = routes.read_route_timeouts() if files.live else {}
    interfaces = [_describe(files, name, of_routes.get(name, of_kernel)) for name in _choose_interfaces(files)]
    hidden = "" if files.exists(_NET) else f"there is no {_NET} here: not in this kernel, or hidden by a container"
    return {
        "interfaces": [*interfaces, *_describe_fabric_ports(files)][:MOST],
        "settings": list(_list_settings(files)),
        "reason": hidden,
    }


class _Files:
    """The kernel's files below a root."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self.live = not self._root

    def text(self, path: str) -> str | None:
        try:
            with open(self._root + path, encoding="utf-8", errors="replace") as file:
                return file.read(1 << 16).strip()
        except OSError:
            return None

    def reason(self, path: str) -> str:
        try:
            with open(self._root + path, "rb") as file:
                file.read(1)
        except OSError as error:
            return "there is no such file here" if isinstance(error, FileNotFoundError) else str(error.strerror)
        return ""

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(self._root + folder))
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        return os.path.exists(self._root + path)

    def target(self, path: str) -> str:
        """Returns the last part of what the link points to; "" for no link."""
        try:
            return os.path.basename(os.readlink(self._root + path))
        except OSError:
            return ""


def _choose_interfaces(files: _Files) -> list[str]:
    """Returns the interfaces that are up and can carry messages: hardware first, then others that have an address."""
    hardware, others = [], []
    for name in files.names(_NET):
        folder = f"{_NET}/{name}"
        flags = files.text(f"{folder}/flags") or ""
        off = re.fullmatch(r"0x[0-9a-f]{1,8}", flags) and not int(flags, 16) & _UP
        down = off or files.text(f"{folder}/operstate") == "down"
        if down or files.text(f"{folder}/type") in (None, _LOOPBACK):
            continue
        if files.exists(f"{folder}/device"):
            hardware.append(name)
        elif files.exists(f"{folder}/bonding") or (files.live and _has_address(files, name)):
            others.append(name)
    return [*hardware, *others]


def _has_address(files: _Files, name: str) -> bool:
    """Returns whether the interface has an IPv4 address, or an IPv6 address that others than its neighbours can use."""
    lines = [line.split() for line in (files.text("/proc/net/if_inet6") or "").splitlines()]
    if any(len(words) == 6 and words[5] == name and words[3] != "20" for words in lines):  # scope 20: link-local
        return True
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
            fcntl.ioctl(opened, _SIOCGIFADDR, struct.pack("16s24x", name.encode()))
    except OSError:
        return False
    return True


def _describe(files: _Files, name: str, timeout: tuple[float, str]) -> dict[str, Any]:
    folder = f"{_NET}/{name}"
    reasons: dict[str, str] = {}
    driver, firmware = _name_driver(files, name)
    rate, why = _read_rate(files, folder, driver)
    if rate is None:
        reasons["link_rate"] = why
    duplex = files.text(f"{folder}/duplex")
    asked = ethtool.ask_features(name) if files.live else {"reason": "only a running system can report it"}
    if "reason" in asked:
        reasons["offloads"] = reasons["interrupts"] = asked.pop("reason")
    elif not asked["interrupts"]:
        reasons["interrupts"] = f"the driver {driver or 'of the interface'} does not report it"
    mtu = files.text(f"{folder}/mtu") or ""
    return {
        "name": name,
        "kind": _name_kind(files, folder),
        "driver": driver or None,
        "firmware": firmware,
        "link_rate": rate,
        "duplex": duplex if duplex in ("full", "half") else None,
        "mtu": int(mtu) if mtu.isdecimal() else None,
        **asked,
        "rto_min": timeout[0],
        "rto_source": timeout[1],
        "part_of": files.target(f"{folder}/master"),
        "reasons": reasons,
    }


def _name_kind(files: _Files, folder: str) -> str:
    if files.text(f"{folder}/type") == _IPOIB:
        return "IP over InfiniBand"
    events = dict(line.partition("=")[::2] for line in (files.text(f"{folder}/uevent") or "").splitlines())
    if kind := events.get("DEVTYPE"):
        return {"wlan": "wireless"}.get(kind, kind)
    return "Ethernet" if files.exists(f"{folder}/device") else "virtual"


def _name_driver(files: _Files, name: str) -> tuple[str, str]:
    """Returns (driver, version of its firmware). Interfaces without a device have a driver, too: veth, bridge."""
    of_device = files.target(f"{_NET}/{name}/device/driver")
    driver, firmware = ethtool.ask_driver(name) if files.live else ("", "")
    return of_device or driver, firmware


def _read_rate(files: _Files, folder: str, driver: str) -> tuple[float | None, str]:
    """Returns (bit/s, "") or (None, reason). A virtual link has no rate of its own, although some drivers state one."""
    text = files.text(f"{folder}/speed")
    mbit = int(text) if text and re.fullmatch(r"-?\d{1,9}", text) else -1
    if driver in _INVENTED:
        stated = f"states {mbit} Mbit/s for every link" if mbit > 0 else "states no link rate"
        return None, f"the interface is virtual, and its driver {driver} {stated}"
    if mbit <= 0 or mbit == 0xFFFFFFFF:
        of = f"the driver {driver}" if driver else "the interface"
        guest = " of a virtual machine" if driver.startswith(("virtio", "xen", "ena", "gve", "vif")) else ""
        return None, f"{of}{guest} states no link rate"
    return mbit * 1e6, ""


def _read_kernel_timeout(files: _Files) -> tuple[float, str]:
    path = "/proc/sys/net/ipv4/tcp_rto_min_us"  # since Linux 6.11
    text = files.text(path) or ""
    if text.isdecimal() and len(text) < 20:
        return int(text) / 1e6, path
    return KERNEL_TIMEOUT, "the value of every Linux kernel without another setting"


def _describe_fabric_ports(files: _Files) -> Iterator[dict[str, Any]]:
    """Yields the active ports of InfiniBand and Omni-Path adapters, which may have no interface of IP."""
    for device in files.names(_FABRIC):
        for port in files.names(f"{_FABRIC}/{device}/ports"):
            folder = f"{_FABRIC}/{device}/ports/{port}"
            active = "ACTIVE" in (files.text(f"{folder}/state") or "")
            if not active or files.text(f"{folder}/link_layer") == "Ethernet":
                continue
            rate = re.match(r"([\d.]+) Gb/sec", files.text(f"{folder}/rate") or "")
            yield {
                "name": f"{device}/{port}",
                "kind": files.text(f"{folder}/link_layer") or "InfiniBand",
                "driver": files.target(f"{_FABRIC}/{device}/device/driver") or None,
                "firmware": files.text(f"{_FABRIC}/{device}/fw_ver") or "",
                "link_rate": float(rate[1]) * 1e9 if rate else None,
                "reasons": {} if rate else {"link_rate": "the adapter states no link rate"},
            }


def _list_settings(files: _Files) -> Iterator[dict[str, Any]]:
    for name, path in _SETTINGS.items():
        source = f"/proc/sys/net/{path}"
        text = files.text(source)
        value = None if text is None else " ".join(text.split())
        yield {"name": name, "value": value, "source": source, "reason": files.reason(source) if text is None else ""}
