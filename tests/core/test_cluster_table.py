"""The table of a cluster: the published ones hold their printed numbers."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from steelyard.measure.machine.system_file import find_system, load_system
from steelyard.model import Cluster, Enclosure, Host, Interface, Machine, Network, Switch
from steelyard.show.command_line import cli
from steelyard.show.report.cluster_table import UNDESCRIBED, describe_hosts, list_notes, list_parts
from system_texts import expect_refused


def machine_of(path: Path) -> Machine:
    given_file = load_system(path)
    return replace(builders.machine(), enclosures=given_file.enclosures, cluster=given_file.cluster)


def test_the_educational_cluster_has_eight_nodes_on_one_switch() -> None:
    node, switch, server = list_parts(machine_of(find_system("celeron-cluster")))
    assert node == ("node", "8", "N[00-07]: Celeron at 601 MHz, 256 MB of SDRAM at 100 MHz", "")
    assert switch == ("Cisco 2924XL", "1", "for N[00-07]", "100 Mbit/s to each node")
    assert server[0].startswith("server of the cluster")
    assert server[1:] == ("1", "", "100 Mbit/s to Cisco 2924XL")


def test_the_prototype_has_its_blades_chassis_racks_and_links() -> None:
    core = "top-of-rack switch Nexus 5596UP"
    assert list_parts(machine_of(find_system("mont-blanc")))[1:] == (
        ("rack", "2", "540 nodes each", ""),
        ("chassis", "8", "135 nodes each; 4 in each rack", ""),
        ("blade", "72", "15 nodes each; 9 in each chassis", ""),
        ("blade switch", "72", "in each blade", f"1 Gbit/s to each node; 2 × 10 Gbit/s to {core}"),
        (core, "2", "in each rack", "4 × 40 Gbit/s to each other"),
        ("storage (Lustre, 9.6 TB)", "1", "", f"4 × 10 Gbit/s to {core}"),
    )


def test_the_units_of_a_switch_count_and_an_unknown_rate_is_named(tmp_path: Path) -> None:
    (tmp_path / "leaves.toml").write_text(
        "[enclosures]\nleaf = [{ hosts = 'n[1-1080]', each = 24 }]\n"
        "[[switches]]\nname = 'leaf switch'\neach = 'leaf'\nuplinks = [{ to = 'spine' }]\n"
        "[[switches]]\nname = 'spine'\nunits = 4\n"
    )
    assert list_parts(machine_of(tmp_path / "leaves.toml"))[1:] == (
        ("leaf", "45", "24 nodes each", ""),
        ("leaf switch", "45", "in each leaf", "link rate unknown to spine"),
        ("spine", "4", "4 work as one", ""),
    )


def test_hosts_with_another_link_rate_than_stated_are_named() -> None:
    celeron = machine_of(find_system("celeron-cluster"))
    names = [f"N{i:02}.lab.example" for i in range(8)]
    quick, slow = (Interface(name="eth0", kind="Ethernet", link_rate=rate) for rate in (1e8, 1e7))
    networks = (Network(hosts=tuple(names[:7]), interfaces=(quick,)), Network(hosts=("N07",), interfaces=(slow,)))
    hosts = tuple(Host(name, 1) for name in names)
    assert list_parts(replace(celeron, hosts=hosts, networks=networks))[0][1] == "8"
    assert list_notes(replace(celeron, hosts=hosts, networks=networks)) == (
        "The link rate of N07 is 10 Mbit/s, but the system file states 100 Mbit/s to each node.",
    )


def test_the_names_of_many_hosts_leave_out_the_one_that_is_missing() -> None:
    nodes = [f"mb-{i}" for i in range(1, 16) if i != 7]
    assert describe_hosts(nodes) == "mb-[1-6,8-15]"
    assert describe_hosts([f"{i * i}x{i}" for i in range(30)]) == "0x0 … 841x29"


def test_a_run_without_a_system_file_says_that_the_switches_are_unknown() -> None:
    machine = replace(builders.machine(), hosts=tuple(Host(f"host{i}", 1) for i in range(1, 5)))
    assert list_parts(machine) == (("node", "4", "host[1-4]", ""),)
    assert list_notes(machine) == (UNDESCRIBED,)


def test_a_machine_alone_has_no_cluster() -> None:
    assert list_parts(builders.machine()) == list_notes(builders.machine()) == ()


@given(st.integers(2, 60), st.lists(st.integers(1, 60), min_size=1, max_size=3))
def test_numbers_of_enclosures_multiply_to_the_nodes(count: int, sizes: list[int]) -> None:
    hosts = tuple(f"n{i}" for i in range(count))
    enclosures = tuple(
        Enclosure(f"kind{k}", hosts[i : i + size]) for k, size in enumerate(sizes) for i in range(0, count, size)
    )
    switches = (Switch(name="switch", each="kind0"),)
    rows = list_parts(replace(builders.machine(), enclosures=enclosures, cluster=Cluster(switches=switches)))
    numbers = {name: int(number) for name, number, *_ in rows}
    assert numbers["switch"] == numbers["kind0"]
    outer = ""
    for name, number, description, _ in rows[1:-1]:
        size, _, within = description.partition("; ")
        if " to " not in size:
            assert int(number) * int(size.split()[0]) == count
        if within:
            assert int(within.split()[0]) * numbers[outer] == int(number)
        outer = name


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("switches = 3", ("line 1, key 'switches'", "'3'", "[[switches]]")),
        ("[[switches]]\nnode_rate = 1e9", ("key 'switches[1].name'", "missing", "a text")),
        ("[[switches]]\nname = 'a'\nnode_rate = 1", ("line 3", "'1'", "1e9")),
        ("[[switches]]\nname = 'a'\neach = 'blade'", ("'blade'", "kind of 'enclosures'", "none")),
        ("[[switches]]\nname = 'a'\neach = ['q']", ("'['q']'", "kind of 'enclosures'")),
        ("[[switches]]\nname = 'a'\nrate = 1e9", ("'switches[1].rate'", "unknown", "node_rate")),
        ("[[switches]]\nname = 'a'\nunits = 0", ("'0'", "1 to 10000")),
        ("[[switches]]\nname = 'a'\n[[switches]]\nname = 'a'", ("Two tables", "'a'")),
        ("[[switches]]\nname = 'a'\nuplinks = [{ to = 'b' }]", ("'b'", "not a switch", "a")),
        ("[[switches]]\nname = 'a'\nhosts = 'n[1-'", ("'n[1-'",)),
        ("[[attached]]\nname = 'disk'\nto = 'a'", ("'a'", "not a switch", "no [[switches]]")),
        ("node = ''", ("key 'node'", "a text")),
        ("[enclosures]\nblade = [{ hosts = 'n[1-4]', each = 0 }]", ("'enclosures.blade'", "each = 15")),
    ],
)
def test_a_wrong_description_of_a_cluster_is_explained(tmp_path: Path, text: str, parts: tuple[str, ...]) -> None:
    expect_refused(tmp_path, text, parts)


def test_the_command_shows_the_cluster_of_a_system_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_and_explain(lambda: cli.app(["machine", "--system", "mont-blanc"])) == 0
    assert "1,080" in capsys.readouterr().out
