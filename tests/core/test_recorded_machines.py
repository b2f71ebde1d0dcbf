"""Recorded machines of many architectures and kernels, beside what lscpu and hwloc tell of them."""

import functools
import re
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folders import DATA
from recorded import Tree, described, read_machine
from steelyard.measure.benchmarks.axes import memory_policies
from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.model import Machine

FOLDER = DATA / "machines"
MACHINES = sorted(path.stem for path in FOLDER.iterdir())

# Where we tell something else than lscpu or hwloc, and why; docs/machine.md has the same table.
EXCEPTIONS = {
    # hwloc takes each half of a Bulldozer module for a core; the kernel and lscpu take the module, whose halves share an FPU.
    ("hwloc-64amd64-4s2n4ca2co", "cores"): "32",
    # hwloc keeps one of several nodes with the same processors, and with it an eighth of the memory.
    ("hwloc-8em64t-2s2ca2c-buggynuma", "nodes"): "0 DRAM 2096684K, 1 DRAM 2096128K, "
    + ", ".join(f"{node} DRAM 2097152K" for node in range(2, 8)),
    # A tree with wrong masks on purpose: hwloc drops the socket of a wrong mask, we believe the 9 right ones of its cores.
    ("hwloc-40intel64-4n10c+pci-conflicts", "sockets"): "4",
    ("hwloc-40intel64-4n10c+pci-conflicts", "caches"): "40 x L1d 32K, 40 x L1i 32K, 40 x L2 256K, 5 x L3 30720K",
    # hwloc's own file tells the part of MCDRAM that is a cache; the kernel tells nothing of it.
    ("hwloc-64intel64-fakeKNL-SNC4-hybrid", "caches"): "16 x L1d 32K, 16 x L1i 32K, 8 x L2 4096K",
}


def caches(machine: Machine) -> str:
    letters = {"data": "d", "instruction": "i"}
    counts = Counter((c.level, letters.get(c.kind, ""), c.size // 1024) for c in machine.caches)
    return ", ".join(f"{n} x L{level}{kind} {size}K" for (level, kind, size), n in sorted(counts.items())) or "-"


def megahertz(text: str) -> list[float]:
    found = re.findall(r"([\d.]+) ([GM])Hz", text)
    return sorted(float(number) * {"G": 1000, "M": 1}[prefix] for number, prefix in found)


def names(text: str) -> set[str]:
    return set(text.removeprefix("Arm ").split(" + "))


def sorted_list(text: str) -> list[str]:
    return sorted(text.split(", "))


def differences(machine: Machine, expected: dict[str, str]) -> Iterable[str]:
    online = [cpu for core in machine.cores for cpu in core.cpus]
    told = {
        "processors": str(len(set(online))),
        "cores": str(len(machine.cores)),
        "sockets": str(len({core.socket for core in machine.cores})),
        "threads": str(max((len(core.cpus) for core in machine.cores), default=0)),
        "hypervisor": str(machine.setting("hypervisor").value),
    }
    yield from (f"{key}: {told[key]}, not {value}" for key, value in expected.items() if told.get(key, value) != value)
    if expected.get("name", "-") != "-" and names(machine.processor) != names(expected["name"]):
        yield f"name: {machine.processor}, not {expected['name']}"
    if "caches" in expected and sorted_list(caches(machine)) != sorted_list(expected["caches"]):
        yield f"caches: {caches(machine)}, not {expected['caches']}"
    clock = megahertz(machine.setting("frequency_hardware_max").value or "")
    if "clock" in expected and clock != pytest.approx(megahertz(expected["clock"]), rel=5e-4):
        yield f"clock: {clock}, not {expected['clock']}"
    nodes = ", ".join(
        f"{n.number} {n.kind} {n.memory // 1024}K" for n in machine.nodes if n.kind not in ("none", "GPU")
    )
    count = str(len(machine.nodes))
    if expected.get("nodes", count) not in (
        count,
        nodes,
    ):  # lscpu tells their number only; hwloc leaves out those of GPUs
        yield f"nodes: {nodes}, not {expected['nodes']}"


@pytest.mark.parametrize("name", MACHINES)
def test_a_recorded_machine_is_described_as_by_lscpu_and_hwloc(name: str) -> None:
    tree, expected = read_machine((FOLDER / f"{name}.txt").read_text())
    changed = {key: EXCEPTIONS.get((name, key), value) for key, value in expected.items()}
    assert list(differences(described(tree), changed)) == []


def test_every_exception_still_differs_from_the_reference() -> None:
    for (name, key), value in EXCEPTIONS.items():
        _, expected = read_machine((FOLDER / f"{name}.txt").read_text())
        assert sorted_list(expected[key]) != sorted_list(value), (name, key)


def test_memory_of_gpus_is_left_out_of_the_main_memory() -> None:
    tree, _ = read_machine((FOLDER / "hwloc-nvidiagpunumanodes.txt").read_text())
    machine = described(tree)
    assert [node.number for node in main_nodes(machine.nodes)] == [0, 8]
    assert machine.memory == (129839104 + 133952000) * 1024


def test_memory_of_gpus_without_their_driver_is_left_out_by_its_number() -> None:
    tree, _ = read_machine((FOLDER / "field-M01-gpu-memory-nodes.txt").read_text())
    machine = described(tree)
    assert [node.kind for node in machine.nodes] == ["DRAM", "DRAM", "GPU", "GPU"]
    assert round(machine.memory / 2**30, 1) == 251.5
    assert memory_policies(machine) == ("local", "interleave")
    note = next(note for note in machine.notes if "GPU" in note)
    assert note.startswith("Memory nodes 250, 255 (the memory of a GPU) do not count as main memory")


def test_a_kernel_before_4_3_tells_governor_driver_and_clock() -> None:
    tree, _ = read_machine((FOLDER / "field-M03-cpufreq-old-kernel.txt").read_text())
    machine = described(tree)
    assert [machine.setting(name).value for name in ("governor", "frequency_max")] == ["ondemand", "1.996 GHz"]
    assert machine.setting("governor").source == "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"


@pytest.mark.parametrize(
    ("mount", "folder", "suffix"),
    [
        ("none /dev/cpuset cpuset rw 0 0", "/dev/cpuset", ("cpus", "mems")),
        ("cpuset /dev/cpuset cgroup rw,cpuset,noprefix 0 0", "/dev/cpuset", ("cpus", "mems")),
        ("none /cgroup/cpuset cgroup rw,cpuset 0 0", "/cgroup/cpuset", ("cpuset.cpus", "cpuset.mems")),
        ("none /cgroup cgroup2 rw 0 0", "/cgroup", ("cpuset.cpus.effective", "cpuset.mems.effective")),
    ],
)
def test_a_recorded_control_group_limits_processors_and_memory(
    mount: str, folder: str, suffix: tuple[str, str]
) -> None:
    tree, _ = read_machine((FOLDER / "hwloc-16amd64-8n2c.txt").read_text())
    group = dict(zip(suffix, ("0-6,12-15", "1-4"), strict=True))
    tree |= {"/proc/mounts": f"proc /proc proc rw 0 0\n{mount}", "/proc/self/cpuset": "/jobs/one"}
    tree |= {f"{folder}/jobs/one/{name}": text for name, text in group.items()}
    machine = described(tree)
    assert machine.cpus == (*range(7), *range(12, 16))
    assert (len(machine.cores), machine.memory) == (16, 4 * 8388608 * 1024)


@functools.cache
def tree_of(name: str) -> Tree:
    return read_machine((FOLDER / f"{name}.txt").read_text())[0]


SMALL = [name for name in MACHINES if len(tree_of(name)) < 400]


@given(st.sampled_from(SMALL), st.data())
@settings(max_examples=40)
def test_damaged_files_of_any_architecture_never_raise(name: str, data: st.DataObject) -> None:
    tree = tree_of(name)
    paths = data.draw(st.lists(st.sampled_from(sorted(tree)), min_size=1, max_size=12))
    texts = st.one_of(st.text(max_size=40), st.sampled_from(["-1", "0", "99999999999", "f" * 9000, "0-200", ","]))
    machine = described(tree | {path: data.draw(texts) for path in paths})
    assert machine.memory >= machine.memory_available >= 0
    assert len({cpu for core in machine.cores for cpu in core.cpus}) == sum(len(core.cpus) for core in machine.cores)
