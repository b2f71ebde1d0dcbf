"""Hosts that a user names are asked before anything is built: a wrong name costs seconds, and no run."""

import os
import socket
import time
from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.measure.launch import reachable, scheduler
from steelyard.measure.launch.reachable import expect_reachable, find_trouble
from steelyard.model import Host

HOSTS = (Host("node1", 4), Host("nohost", 2))


@pytest.fixture(autouse=True)
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ssh with settings for some hosts, and a network in which few names have addresses and one host answers."""
    (tmp_path / "ssh").write_text(
        """#!/bin/sh
[ "$1" = -G ] || exit 9
case $2 in
alias) echo "hostname node1"; echo "port 2222" ;;
behind) echo "hostname unknown"; echo "port 22"; echo "proxyjump login" ;;
*) echo "hostname $2"; echo "port 22"; echo "proxycommand none" ;;
esac
"""
    )
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    addresses = {
        "node1": "203.0.113.1",
        "down": "203.0.113.2",
        "mine": "127.0.0.1",
        "closed": "203.0.113.3",
        "slow": "203.0.113.9",
    }
    for name in reachable.AGENTS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(scheduler, "find_allocation", lambda: None)

    def getaddrinfo(name: str, port: int, **more: object) -> list[tuple[object, ...]]:
        if name not in addresses:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (addresses[name], port))]

    class Connected:
        def close(self) -> None:
            pass

    def create_connection(place: tuple[str, int], seconds: float) -> Connected:
        if place[0] == "slow":
            time.sleep(1)
        if place[0] == "down":
            raise OSError(113, "No route to host")
        if place[0] == "closed":
            raise ConnectionRefusedError(111, "Connection refused")
        return Connected()

    monkeypatch.setattr(reachable, "_is_own", lambda address: address.startswith("127."))
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(socket, "create_connection", create_connection)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("node1", ""),
        ("mine", ""),  # no ssh is needed
        ("alias", ""),  # a name of ~/.ssh/config alone
        ("behind", ""),  # reached through another host
        ("nohost", "has no address"),
        ("down", "No route to host"),
        ("closed", "at port 22 by ssh (Connection refused)"),
    ],
)
def test_what_stands_against_a_host_is_said(name: str, why: str) -> None:
    assert (why in find_trouble(name)) if why else find_trouble(name) == ""


def test_a_host_without_an_address_is_refused_by_its_name() -> None:
    with pytest.raises(UsageError, match=r"^'nohost' \(given by --hosts\) has no address.*'ssh nohost true' must work"):
        expect_reachable(HOSTS, "mpiexec", ())
    assert UsageError.exit_code == 2


def test_many_hosts_are_asked_at_once_and_named_together(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"^'x0', 'x1', 'x2' and 97 more \(given by --hosts\) has no address"):
        expect_reachable([*(Host(f"x{n}", 1) for n in range(100)), HOSTS[0]], "mpiexec", ())
    monkeypatch.setattr(reachable, "SECONDS", -0.4)
    with pytest.raises(UsageError, match="'slow' .* did not answer"):
        expect_reachable([Host("slow", 1)], "mpiexec", ())


def test_an_address_of_ipv6_needs_a_name() -> None:
    with pytest.raises(UsageError, match="do not accept the IPv6 address 'fe80::1'.*/etc/hosts"):
        expect_reachable([Host("fe80::1", 2)], "mpiexec", ())


def test_hosts_that_are_reached_in_another_way_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    expect_reachable(HOSTS, "srun", ())
    expect_reachable(HOSTS, "mpiexec", ("--mca", "plm_rsh_agent", "mine"))
    expect_reachable((), "mpiexec", ())
    monkeypatch.setenv("HYDRA_LAUNCHER_EXEC", "/opt/agent")
    expect_reachable(HOSTS, "mpiexec", ())
