"""The hosts that a user names: lists as people and programs write them, and files of launchers and schedulers."""

from pathlib import Path

import pytest

from steelyard.errors import UsageError
from steelyard.measure.launch import site
from steelyard.measure.launch.hosts import read_hosts
from steelyard.model import Host


def hosts(**slots: int) -> tuple[Host, ...]:
    return tuple(Host(name, count) for name, count in slots.items())


def numbered(name: str, numbers: range, slots: int, digits: int = 1) -> tuple[Host, ...]:
    return tuple(Host(f"{name}{number:0{digits}}", slots) for number in numbers)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("node[01-04]:8", numbered("node", range(1, 5), 8, 2)),  # Slurm, pdsh, ClusterShell
        ("node[1-3]", numbered("node", range(1, 4), 1)),
        ("node[1-2,5]:2,login", (Host("node1", 2), Host("node2", 2), Host("node5", 2), Host("login", 1))),
        ("node[0-6/2]", (Host("node0", 1), Host("node2", 1), Host("node4", 1), Host("node6", 1))),
        ("r[1-2]c[1-2].ib:4", tuple(Host(f"r{r}c{c}.ib", 4) for r in (1, 2) for c in (1, 2))),
        ("a:4, b:4", hosts(a=4, b=4)),
        ("a:4,b:4,", hosts(a=4, b=4)),
        ("a,,b", hosts(a=1, b=1)),
        ("a:007", hosts(a=7)),
        ("[fe80::1]:4,[2001:db8::2]", (Host("fe80::1", 4), Host("2001:db8::2", 1))),
        ("2001:db8::1:4", (Host("2001:db8::1:4", 1),)),  # an address as it stands, no slots
        ("[fe80::1%eth0]:2,n", (Host("fe80::1%eth0", 2), Host("n", 1))),
        ("10.0.0.1:2,10.0.0.[2-3]:2", (Host("10.0.0.1", 2), Host("10.0.0.2", 2), Host("10.0.0.3", 2))),
    ],
)
def test_a_list_of_hosts_is_read_as_people_write_it(words: str, expected: tuple[Host, ...]) -> None:
    assert site.hosts(words) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node1\nnode1\nnode2\nnode2\nnode2\n", hosts(node1=2, node2=3)),  # PBS_NODEFILE, LSB_DJOB_HOSTFILE
        (
            "# mine\n\nnode1 slots=4 max_slots=8\nnode2 slots = 2 # old\nnode3\n",
            hosts(node1=4, node2=2, node3=1),
        ),  # Open MPI
        ("node1 max-slots=8\r\nnode2\tcpu=2\r\n", hosts(node1=1, node2=2)),
        ("donner:2     # ranks 0 and 1\nfoo:3\nshakey:2 binding=user:0,1\n", hosts(donner=2, foo=3, shakey=2)),  # Hydra
        ("node1:4 ifname=eth1\nnode[02-03]:4\n", hosts(node1=4, node02=4, node03=4)),
        ("node1 8 all.q@node1 UNDEFINED\nnode2 4 all.q@node2 UNDEFINED\n", hosts(node1=8, node2=4)),  # Grid Engine
        ("node[1-2]\nnode[2-3]", hosts(node1=1, node2=2, node3=1)),
        ("node1:2,node2:2\nnode3", hosts(node1=2, node2=2, node3=1)),
        ("node1, node2\n", hosts(node1=1, node2=1)),
        ("[2001:db8::1]:4\n2001:db8::2\n", (Host("2001:db8::1", 4), Host("2001:db8::2", 1))),
    ],
)
def test_a_file_of_hosts_is_read_in_each_launcher_s_form(
    text: str, expected: tuple[Host, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my hosts").write_text(text)
    assert site.hosts(str(tmp_path / "my hosts")) == expected
    monkeypatch.chdir(tmp_path)
    assert site.hosts("my hosts") == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("# none\n\n", ("names no host", "node1:4")),
        ("node1\nuser@node2\n", ("'user@node2'", "line 2")),
        ("127.0.0.1 localhost\n", ("'localhost'", "line 1")),  # /etc/hosts
        ("node1 slots=99999\n", ("99999", "1 to 4096")),
        ("node1\n" * 5000, ("5000", "1 to 4096")),
        ("node[1-\n", ("'node[1-'", "line 1")),
        ("node1:0\n", ("'node1:0'",)),
        ("-x\n", ("'-x'",)),
    ],
)
def test_a_file_without_hosts_is_refused_with_its_line(text: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(text)
    with pytest.raises(UsageError) as refused:
        read_hosts(str(tmp_path / "hosts"))
    assert all(part in str(refused.value) for part in (*parts, str(tmp_path / "hosts"))), str(refused.value)


def test_a_file_of_hosts_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing' \(given by --hosts\) cannot be read: No such file"):
        read_hosts(str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_hosts(f"{tmp_path}/")
    (tmp_path / "large").write_bytes(b"n\n" * (1 << 20))
    with pytest.raises(UsageError, match="longer than 1024 KiB"):
        read_hosts(str(tmp_path / "large"))
