"""The drawing of a cluster: the published ones hold their printed numbers, and any system file gives boxes side by side."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import builders
from steelyard.command_line import cli
from steelyard.machine import hostlist
from steelyard.machine.system_file import find_system, load_system
from steelyard.model import Host, Interface, Machine, Network
from steelyard.report import cluster_drawing
from steelyard.report.cluster_tree import build_tree, describe_hosts, walk
from system_texts import expect_refused

SVG = "{http://www.w3.org/2000/svg}"


def machine_of(path: Path) -> Machine:
    given_file = load_system(path)
    fields = {"system": given_file.name or "bench", "enclosures": given_file.enclosures, "cluster": given_file.cluster}
    return replace(builders.machine(), **fields)


def drawn(machine: Machine) -> ET.Element:
    drawing = cluster_drawing.draw(machine)
    assert drawing
    return ET.fromstring(drawing.svg)


def words(root: ET.Element) -> str:
    """All text of the drawing, in its order."""
    return " ".join(text.text or "" for text in root.iter(f"{SVG}text"))


def boxes(root: ET.Element) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of each box."""
    sides = [[float(box.attrib[name]) for name in ("x", "y", "width", "height")] for box in root.iter(f"{SVG}rect")]
    return [(x, y, x + width, y + height) for x, y, width, height in sides]


def expect_nested(found: list[tuple[float, float, float, float]]) -> None:
    for i, a in enumerate(found):
        for b in found[:i]:
            apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            within = b[0] <= a[0] and b[1] <= a[1] and a[2] <= b[2] and a[3] <= b[3]  # a later box is in an earlier one
            assert apart or within, (a, b)


def test_the_educational_cluster_has_eight_nodes_on_one_switch() -> None:
    root = drawn(machine_of(find_system("celeron-cluster")))
    text = words(root)
    for part in ("8 nodes", "Cisco 2924XL", "100 Mbit/s to each node", "Celeron at 601 MHz", "server of the cluster"):
        assert part in text, part
    assert [name for name in re.findall(r"N\d\d", text) if name] == [f"N{i:02}" for i in range(8)]
    expect_nested(boxes(root))


def test_the_prototype_has_its_blades_chassis_racks_and_links() -> None:
    machine = machine_of(find_system("mont-blanc"))
    root = drawn(machine)
    text = words(root)
    for part in (
        "1,080 nodes",
        "2 × rack: 540 nodes each",
        "4 × chassis: 135 nodes each",
        "9 × blade: 15 nodes each",
        "15 nodes",
        "1 Gbit/s to each node",
        "2 × 10 Gbit/s from each blade switch",
        "4 × 40 Gbit/s to each other",
        "4 × 10 Gbit/s to top-of-rack switch",
    ):
        assert part in text, part
    assert len(list(root.iter(f"{SVG}rect"))) < 40
    expect_nested(boxes(root))
    tree = build_tree(machine)
    assert tree
    assert [(g.kind, g.count, g.size) for g in walk(tree[0])] == [
        ("", 1, 1080),
        ("rack", 2, 540),
        ("chassis", 4, 135),
        ("blade", 9, 15),
    ]


def test_many_nodes_on_equal_switches_are_folded(tmp_path: Path) -> None:
    switches = "".join(f"[[switches]]\nname = 'leaf {i}'\nhosts = 'n[{24 * i + 1}-{24 * i + 24}]'\n" for i in range(3))
    (tmp_path / "leaves.toml").write_text(
        "[enclosures]\nleaf = [{ hosts = 'n[1-1080]', each = 24 }]\n"
        "[[switches]]\nname = 'leaf switch'\neach = 'leaf'\nnode_rate = 100e9\nuplinks = [{ to = 'spine', rate = 400e9 }]\n"
        "[[switches]]\nname = 'spine'\nunits = 4\n"
    )
    text = words(drawn(machine_of(tmp_path / "leaves.toml")))
    for part in (
        "45 × leaf: 24 nodes each",
        "4 × spine",
        "400 Gbit/s from each leaf switch",
        "100 Gbit/s to each node",
    ):
        assert part in text, part
    (tmp_path / "switches.toml").write_text(switches)
    assert "leaf 0" in words(drawn(machine_of(tmp_path / "switches.toml")))


def interface(**changed: object) -> Interface:
    return Interface(**{"name": "eth0", "kind": "Ethernet", "driver": "r8169", "mtu": 1500, "rto_min": 0.2, **changed})


def test_the_nodes_of_a_run_show_what_their_hosts_report() -> None:
    celeron = machine_of(find_system("celeron-cluster"))
    alike = Network(
        hosts=tuple(f"N{i:02}.lab.example" for i in range(7)), interfaces=(interface(link_rate=1e8, duplex="full"),)
    )
    slow = Network(hosts=("N07",), interfaces=(interface(link_rate=1e7, rto_min=0.005),))
    hosts = tuple(Host(name, 1) for network in (alike, slow) for name in network.hosts)
    text = words(drawn(replace(celeron, hosts=hosts, networks=(alike, slow))))
    for part in (
        "7 nodes",
        "eth0: r8169, 100 Mbit/s, full",
        "MTU 1500",
        "RTO minimum 200 ms",
        "1 node",
        "10 Mbit/s",
        "5 ms",
    ):
        assert part in text, part
    assert text.count("the system file states 100 Mbit/s") == 1


def test_the_names_of_many_hosts_leave_out_the_one_that_is_missing() -> None:
    nodes = [f"mb-{i}" for i in range(1, 16) if i != 7]
    assert describe_hosts(nodes) == "mb-[1-6,8-15]"
    assert describe_hosts([f"{i * i}x{i}" for i in range(30)]) == "0x0 … 841x29"


@given(hosts=st.lists(st.from_regex(r"[a-z][a-z-]{0,3}[0-9]{0,4}", fullmatch=True), unique=True, max_size=30))
def test_a_short_list_of_hosts_is_read_back(hosts: list[str]) -> None:
    assert list(hostlist.expand(hostlist.compress(hosts))) == hosts


def test_a_run_without_a_system_file_says_that_the_switches_are_unknown() -> None:
    hosts = tuple(f"host{i}" for i in range(1, 5))
    network = Network(hosts=hosts, interfaces=(interface(driver="veth", link_rate=None),))
    machine = replace(builders.machine(), hosts=tuple(Host(h, 1) for h in hosts), networks=(network,))
    text = words(drawn(machine))
    for part in ("4 nodes", "not described in a system file", "eth0: veth, link rate unknown", "host4"):
        assert part in text, part


def test_a_machine_alone_has_no_cluster() -> None:
    assert cluster_drawing.draw(builders.machine()) is None


def test_readers_without_eyes_get_a_title_and_all_words() -> None:
    root = drawn(machine_of(find_system("mont-blanc")))
    assert root.attrib["role"] == "img"
    title, described = (root.find(f"{SVG}{name}") for name in ("title", "desc"))
    assert root.attrib["aria-labelledby"].split() == [title.attrib["id"], described.attrib["id"]]
    assert title.text == "Cluster Mont-Blanc system: 1,080 nodes"
    assert "9 × blade: 15 nodes each; 2 × 10 Gbit/s from each blade switch; blade switch" not in title.text
    assert "9 × blade: 15 nodes each" in described.text


def test_enclosures_that_cross_each_other_are_named_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "crossing.toml").write_text("[enclosures]\nblade = ['n[1-4]']\nrow = ['n[3-8]']\n")
    drawing = cluster_drawing.draw(machine_of(tmp_path / "crossing.toml"))
    assert drawing.omitted == (
        "The blade of n[1-4] is not drawn, because it has only a part of the hosts of the row of n[3-8].",
    )
    assert "8 nodes" in words(ET.fromstring(drawing.svg))


WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="'\\", exclude_categories=["C", "Z"]), min_size=1, max_size=60
)
RATES = st.sampled_from(["", "rate = 1e9, ", "rate = 25e9, "])


@st.composite
def system_files(draw: st.DrawFn) -> str:
    """A valid system file: up to three kinds of enclosures, aligned or not, with switches in and beside them."""
    count = draw(st.integers(2, 400))
    kinds = draw(st.lists(st.sampled_from(["blade", "chassis", "rack", "row"]), max_size=3, unique=True))
    lines = [f"node = '{draw(WORDS)}'", "[enclosures]"]
    lines += [f"{kind} = [{{ hosts = 'n[1-{count}]', each = {draw(st.integers(1, count))} }}]" for kind in kinds]
    names = [f"{draw(WORDS)} {i}" for i in range(draw(st.integers(0, 4)))]
    for name in names:
        lines += ["[[switches]]", f"name = '{name}'", f"units = {draw(st.integers(1, 4))}"]
        where = draw(st.sampled_from(["", "hosts", *kinds]))
        first = draw(st.integers(1, count))
        if where == "hosts":
            lines.append(f"hosts = 'n[{first}-{draw(st.integers(first, count))}]'")
        elif where:
            lines.append(f"each = '{where}'")
        links = [f"{{ {draw(RATES)}to = '{draw(st.sampled_from(names))}' }}" for _ in range(draw(st.integers(0, 2)))]
        lines.append(f"uplinks = [{', '.join(links)}]")
    if names and draw(st.booleans()):
        lines += ["[[attached]]", f"name = '{draw(WORDS)}'", f"to = '{draw(st.sampled_from(names))}'"]
    return "\n".join(lines)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=system_files())
def test_any_system_file_gives_boxes_side_by_side_or_in_each_other(tmp_path: Path, text: str) -> None:
    path = tmp_path / "any.toml"
    path.write_text(text, encoding="utf-8")
    machine = machine_of(path)
    if build_tree(machine) is None:
        assert cluster_drawing.draw(machine) is None
        return
    root = drawn(machine)
    found = boxes(root)
    expect_nested(found)
    width, height = (float(root.attrib[name]) for name in ("width", "height"))
    assert all(x >= 0 and y >= 0 and right <= width and bottom <= height for x, y, right, bottom in found)
    assert len(found) < 400


# --------------------------------------------------------------------------- the file and the command


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


def test_the_command_draws_the_cluster_of_a_system_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cluster.svg"
    assert cli.run_and_explain(lambda: cli.app(["machine", "--system", "mont-blanc", "--cluster", str(file)])) == 0
    assert "1,080 nodes" in words(ET.parse(file).getroot())
    assert cli.run_and_explain(lambda: cli.app(["machine", "--cluster", str(file)])) == 2
    assert "Name a system file" in capsys.readouterr().err
