"""The network of hosts: what the kernel's files say, what other hosts answer, and which differences a comparison lists."""

import base64
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import builders
from steelyard.compare import surroundings
from steelyard.measure.launch.host_networks import read_answers
from steelyard.measure.machine import host_network
from steelyard.measure.machine.host_network import program, routes
from steelyard.measure.machine.network import list_facts, make_network, read_networks
from steelyard.model import Host, Interface, Machine, Network, Setting
from steelyard.model.plain import from_plain, to_plain
from steelyard.show.report.pages.machine import network_tables

NET = "sys/class/net"


def record(root: Path, name: str, driver: str = "", **files: object) -> None:
    """Records the files of an interface below the root."""
    folder = root / NET / name
    given = {"flags": "0x1003", "type": 1, "mtu": 1500, "operstate": "up", **files}
    folder.mkdir(parents=True)
    for file, content in given.items():
        (folder / file).write_text(f"{content}\n")
    if driver:
        (folder / "device").mkdir()
        (folder / "device" / "driver").symlink_to(f"/sys/bus/pci/drivers/{driver}")


def interfaces(root: Path) -> dict[str, Interface]:
    (network,) = read_networks(root, "host")
    return {interface.name: interface for interface in network.interfaces}


def test_an_adapter_has_its_driver_rate_duplex_and_mtu(tmp_path: Path) -> None:
    record(tmp_path, "eth0", "r8169", speed=1000, duplex="full", mtu=9000)
    (eth0,) = interfaces(tmp_path).values()
    assert (eth0.kind, eth0.driver, eth0.link_rate, eth0.duplex, eth0.mtu) == ("Ethernet", "r8169", 1e9, "full", 9000)
    assert (eth0.rto_min, "link_rate" in eth0.reasons) == (0.2, False)


@pytest.mark.parametrize(
    ("driver", "speed", "reason"),
    [
        ("virtio_net", -1, "the driver virtio_net of a virtual machine states no link rate"),
        ("vmxnet3", 10000, "its driver vmxnet3 states 10000 Mbit/s for every link"),
        ("r8169", "", "the driver r8169 states no link rate"),
        ("e1000", 4294967295, "the driver e1000 states no link rate"),
    ],
)
def test_a_rate_that_no_link_has_is_unknown(tmp_path: Path, driver: str, speed: object, reason: str) -> None:
    record(tmp_path, "eth0", driver, speed=speed, duplex="unknown")
    (eth0,) = interfaces(tmp_path).values()
    assert (eth0.link_rate, eth0.duplex) == (None, None)
    assert eth0.reasons["link_rate"].endswith(reason)


def test_interfaces_that_carry_nothing_are_left_out(tmp_path: Path) -> None:
    record(tmp_path, "lo", type=772, mtu=65536, operstate="unknown")
    record(tmp_path, "eth1", "igb", speed=1000, operstate="down")
    record(tmp_path, "eth2", "igb", speed=1000, flags="0x1002", operstate="unknown")
    record(tmp_path, "docker0")
    record(tmp_path, "eth0", "igb", speed=1000)
    assert list(interfaces(tmp_path)) == ["eth0"]


def test_an_infiniband_port_has_its_rate_without_an_interface_of_ip(tmp_path: Path) -> None:
    port = tmp_path / "sys/class/infiniband/mlx5_0/ports/1"
    port.mkdir(parents=True)
    for name, text in {"state": "4: ACTIVE", "link_layer": "InfiniBand", "rate": "200 Gb/sec (4X HDR)"}.items():
        (port / name).write_text(text)
    (found,) = interfaces(tmp_path).values()
    assert (found.name, found.kind, found.link_rate) == ("mlx5_0/1", "InfiniBand", 200e9)


def test_the_time_out_of_the_kernel_is_read_where_it_has_a_setting(tmp_path: Path) -> None:
    record(tmp_path, "eth0", "r8169", speed=1000)
    ipv4 = tmp_path / "proc/sys/net/ipv4"
    ipv4.mkdir(parents=True)
    (ipv4 / "tcp_rto_min_us").write_text("5000\n")
    (ipv4 / "tcp_rmem").write_text("4096\t131072\t6291456\n")
    (network,) = read_networks(tmp_path, "host")
    assert (network.interfaces[0].rto_min, network.interfaces[0].rto_source) == (
        0.005,
        "/proc/sys/net/ipv4/tcp_rto_min_us",
    )
    settings = {setting.name: setting for setting in network.settings}
    assert settings["tcp_rmem"].value == "4096 131072 6291456"
    assert (settings["tcp_ecn"].value, settings["tcp_ecn"].reason) == (None, "there is no such file here")


def test_files_of_a_machine_without_a_network_describe_none(tmp_path: Path) -> None:
    assert read_networks(tmp_path, "host") == ()


def test_hidden_interfaces_are_unknown_and_not_absent(tmp_path: Path) -> None:
    record(tmp_path, "eth0")
    assert host_network.describe(str(tmp_path))["reason"] == ""
    assert host_network.describe(str(tmp_path / "hidden"))["reason"].startswith("there is no /sys/class/net here")


def test_this_machine_is_described_without_an_error() -> None:
    network = make_network("here", host_network.describe())
    assert {setting.name for setting in network.settings} >= {
        "tcp_congestion_control",
        "tcp_rmem",
        "tcp_wmem",
        "tcp_ecn",
    }
    assert all(interface.mtu for interface in network.interfaces if "/" not in interface.name)
    assert from_plain(Network, to_plain(network)) == network


def test_a_damaged_file_of_the_kernel_is_no_error(tmp_path: Path) -> None:
    record(tmp_path, "eth0", "igb", speed="fast", mtu="-1", flags="none", duplex="\x1b[2J", operstate="?" * 9999)
    (eth0,) = interfaces(tmp_path).values()
    assert (eth0.link_rate, eth0.mtu, eth0.duplex) == (None, None, None)


# --------------------------------------------------------------------------- the answers of hosts

HOSTS = tuple(Host(f"n{i}", 4) for i in (1, 2, 3))


def plain(mtu: int = 1500) -> dict[str, Any]:
    return {"interfaces": [{"name": "eth0", "kind": "Ethernet", "mtu": mtu}], "settings": []}


def line(rank: int, content: object) -> str:
    packed = base64.b64encode(zlib.compress(json.dumps(content).encode())).decode()
    return f"{program.MARK} {rank} {packed}"


def test_equal_hosts_are_described_once_and_a_different_one_beside_them() -> None:
    output = "\n".join(["a warning of the launcher", line(2, plain()), line(0, plain()), line(1, plain(9000))])
    networks = read_answers(output, HOSTS)
    assert [(n.hosts, n.interfaces[0].mtu) for n in networks] == [(("n1", "n3"), 1500), (("n2",), 9000)]


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (line(0, plain()), "the host did not answer"),
        (f"{line(0, plain())}\n{program.MARK}-missing", "no Python 3.8 or later was found on the host"),
        (f"{line(0, plain())}\n{program.MARK} 1 AAAA\n{program.MARK} x y", "the host did not answer"),
        (f"{line(0, plain())}\n{line(1, {'interfaces': 3})}", "the answer of the host cannot be read"),
    ],
)
def test_a_host_without_a_usable_answer_has_the_reason(output: str, reason: str) -> None:
    described, *others = read_answers(output, HOSTS)
    assert described.hosts == ("n1",)
    assert any(reason in network.reason for network in others)
    assert {host for network in others for host in network.hosts} == {"n2", "n3"}


def test_the_line_of_a_host_is_read_back_and_no_launcher_splits_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PMI_RANK", "7")
    program.main()
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert len(printed) < 4096
    rank, description = program.unpack(printed)
    assert rank == 7
    assert description["settings"] == host_network.describe()["settings"]


def test_text_of_a_host_cannot_act_on_the_terminal() -> None:
    (network,) = read_answers(line(0, {"interfaces": [{"name": "\x1b[2J", "kind": "k"}]}), HOSTS[:1])
    assert network.interfaces[0].name == "\\x1b[2J"


# --------------------------------------------------------------------------- comparisons and tables


def with_network(*hosts: str, **changed: Any) -> Network:
    fields = {"name": "eth0", "kind": "Ethernet", "driver": "r8169", "link_rate": 1e9, "mtu": 1500, "rto_min": 0.2}
    settings = (Setting("tcp_congestion_control", changed.pop("congestion", "cubic"), "/proc"),)
    return Network(hosts=hosts or ("n1",), interfaces=(Interface(**{**fields, **changed}),), settings=settings)


def machine(*networks: Network) -> Machine:
    return replace(builders.machine(), networks=networks)


def differences(a: Machine, b: Machine) -> dict[str, tuple[str, str]]:
    run_a, run_b = (replace(builders.evaluation([]).run, machine=side) for side in (a, b))
    return {d.name: (d.a, d.b) for d in surroundings.find_differences(run_a, run_b) if d.group == surroundings.NETWORK}


def test_a_comparison_lists_what_differs_in_the_network() -> None:
    tuned = machine(with_network(mtu=9000, rto_min=0.005, congestion="bbr"))
    assert differences(machine(with_network()), tuned) == {
        "network MTU": ("1500 B", "9000 B"),
        "smallest retransmission time-out": ("200 ms", "5 ms"),
        "tcp_congestion_control": ("cubic", "bbr"),
    }


def test_one_host_of_many_that_differs_is_a_difference() -> None:
    whole = machine(with_network("n1", "n2", "n3"))
    mixed = machine(with_network("n1", "n3"), with_network("n2", link_rate=1e8))
    assert differences(whole, mixed) == {"network link rate": ("1 Gbit/s", "1 Gbit/s / 100 Mbit/s")}


def test_a_run_that_describes_no_network_differs_in_nothing() -> None:
    assert list_facts(machine()) == {}
    assert differences(machine(), machine(with_network())) == {}


def test_the_tables_name_hosts_only_where_they_differ() -> None:
    many = tuple(f"n{i}" for i in range(1, 16))
    alike = [with_network(*many)]
    assert network_tables.list_settings(alike) == (("", "tcp_congestion_control", "cubic"),)
    assert network_tables.list_interfaces(alike)[0][:5] == (
        "n[1-15] (15 hosts)",
        "eth0",
        "Ethernet",
        "r8169",
        "1 Gbit/s",
    )
    mixed = [with_network("n1"), with_network("n2", congestion="bbr")]
    assert network_tables.list_settings(mixed) == (
        ("n1", "tcp_congestion_control", "cubic"),
        ("n2", "tcp_congestion_control", "bbr"),
    )


def test_an_unknown_network_is_said_with_its_reason() -> None:
    notes = network_tables.list_notes([Network(hosts=("n1", "n2"), reason="the host did not answer")])
    assert notes == ("The network of n[1-2] is unknown: the host did not answer.",)


# The kernel's answer of a host with two routes, 10.8.0.0/24 and 10.9.0.0/24 with rto_min 5ms, and one local address.
ROUTES = (
    "3400000018000200010000009932000002180000fe03fd010000000008000f00fe000000080001000a080000080004000100000048000000"
    "18000200010000009932000002180000fe03fd010000000008000f00fe000000080001000a09000014000800080001000020000008000d00"
    "0500000008000400010000003c00000018000200010000009932000002080000ff02fe020000000008000f00ff000000080001007f000000"
    "080007007f0000010800040001000000"
)


def test_the_routes_of_a_recorded_answer_have_their_time_outs() -> None:
    messages = list(routes._split_messages(bytes.fromhex(ROUTES)))
    assert [kind for kind, _ in messages] == [24, 24, 24]
    found = [entry for _, body in messages if body[7] == 1 for entry in routes._read_route(body[12:])]
    assert found == [("lo", None), ("lo", 5)]
