"""Kinds of memory nodes on machines made after public listings of numactl, lscpu and the kernel's documentation."""

from dataclasses import dataclass, field, replace

import pytest

import report_fixture
from recorded import Tree, described
from steelyard.compare import surroundings
from steelyard.measure.benchmarks.axes import memory_policies
from steelyard.measure.benchmarks.memory import placement
from steelyard.measure.benchmarks.memory.nodes import memory_nodes, placements
from steelyard.measure.launch.local import environment
from steelyard.measure.machine.hwloc import read_hwloc
from steelyard.measure.machine.memory_nodes import main_nodes
from steelyard.model import Limit, Machine, NumaNode, Result, Value, Verdict
from steelyard.show.report import sentences
from steelyard.show.report.pages import machine as page

NODE = "/sys/devices/system/node"
KMEM = "/sys/bus/dax/drivers/kmem"
INTEL = "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 143\nmodel name : Intel(R) Xeon(R) Platinum 8480+"
MAX = INTEL.replace("Platinum 8480+", "CPU Max 9470C")
PHI = INTEL.replace("143", "87").replace("Platinum 8480+", "Phi(TM) CPU 7250")
GRACE = "processor : 0\nCPU implementer : 0x41\nCPU architecture: 8\nCPU part : 0xd4f"
A64FX = "processor : 0\nCPU implementer : 0x46\nCPU architecture: 8\nCPU part : 0x001"
POWER = "processor : 0\ncpu : POWER9, altivec supported"
ITANIUM = "processor : 0\nvendor : GenuineIntel\narch : IA-64\nmodel name : Madison"


@dataclass(frozen=True)
class Case:
    """A machine: its distances, the gibibytes of each node, which of them have a processor, and other files."""

    cpuinfo: str
    distances: tuple[str, ...]
    gibibytes: tuple[int, ...]
    near: tuple[int, ...]  # positions of the nodes with processors
    kinds: str
    main: tuple[int, ...]  # numbers
    files: Tree = field(default_factory=dict)
    numbers: tuple[int, ...] = ()

    def tree(self) -> Tree:
        numbers = self.numbers or tuple(range(len(self.distances)))
        tree = {"/proc/cpuinfo": self.cpuinfo, "/sys/devices/system/cpu/online": f"0-{len(self.near) - 1}"}
        tree["/proc/meminfo"] = (
            f"MemTotal: {sum(self.gibibytes) << 20} kB\nMemAvailable: {sum(self.gibibytes) << 20} kB"
        )
        for place, (number, distance, size) in enumerate(zip(numbers, self.distances, self.gibibytes, strict=True)):
            folder = f"{NODE}/node{number}"
            tree[f"{folder}/cpulist"] = str(self.near.index(place)) if place in self.near else ""
            tree[f"{folder}/distance"] = distance
            lines = [f"Node {number} {name}: {size << 20} kB" for name in ("MemTotal", "MemFree")]
            tree[f"{folder}/meminfo"] = "\n".join(lines)
        return tree | self.files


def speeds(*megabytes: int) -> Tree:
    return {f"{NODE}/node{n}/access0/initiators/read_bandwidth": str(speed) for n, speed in enumerate(megabytes)}


def kmem(device: str, node: int, parents: str) -> Tree:
    return {f"{KMEM}/{device}": f"-> ../../../../devices/{parents}/{device}", f"{KMEM}/{device}/target_node": str(node)}


FLAT = ("10 21 13 23", "21 10 23 13", "13 23 10 23", "23 13 23 10")  # Xeon Max, as Aurora's guide shows it
CXL = ("10 21 14 24", "21 10 24 14", "14 24 10 26", "24 14 26 10")  # two expanders, each at a socket
GH200 = ("10 80 80 80", "80 10 255 255", "80 255 10 255", "80 255 255 10")
NVIDIA = "/proc/driver/nvidia/gpus/0009:01:00.0"
ROOT = "platform/ACPI0017:00/root0/decoder0.0/region0/dax_region0"

CASES = {
    "gh200-driver": Case(
        GRACE,
        GH200,
        (480, 96, 0, 0),
        (0,),
        "DRAM GPU none none",
        (0,),
        {f"{NVIDIA}/numa_status": "Node: 1\nStatus: online"},
    ),
    "gh200-hotplug": Case(
        GRACE,
        GH200,
        (480, 96, 0, 0),
        (0,),
        "DRAM GPU none none",
        (0,),
        {f"{NVIDIA}/information": "", f"{NODE}/has_normal_memory": "0"},
    ),
    "gh200-bare": Case(GRACE, GH200, (480, 96, 0, 0), (0,), "DRAM unknown none none", (0,)),
    "power9-one-gpu": Case(POWER, ("10 80", "80 10"), (256, 16), (0,), "DRAM GPU", (0,), numbers=(0, 255)),
    "power9-device-tree": Case(
        POWER,
        ("10 40", "40 10"),
        (256, 16),
        (0,),
        "DRAM GPU",
        (0,),
        {
            "/sys/firmware/devicetree/base/memory@6000000000000/compatible": "ibm,coherent-device-memory\0",
            "/sys/firmware/devicetree/base/memory@6000000000000/ibm,associativity": "\0\0\0\4" + "\0\0\0\x11" * 4,
        },
        numbers=(0, 17),
    ),
    "power-partition-high-number": Case(
        POWER,
        ("10 40", "40 10"),
        (64, 64),
        (0,),
        "DRAM DRAM",
        (0, 252),
        {f"{NODE}/has_normal_memory": "0,252"},
        numbers=(0, 252),
    ),
    "power-partition-dram-without-processors": Case(POWER, ("10 40", "40 10"), (64, 64), (1,), "DRAM DRAM", (0, 1)),
    "xeon-max-flat-hmat": Case(
        INTEL, FLAT, (512, 512, 64, 64), (0, 1), "DRAM DRAM HBM HBM", (0, 1), speeds(131072, 131072, 409600, 409600)
    ),
    "xeon-max-flat-name": Case(MAX, FLAT, (512, 512, 64, 64), (0, 1), "DRAM DRAM HBM HBM", (0, 1)),
    "xeon-phi-flat": Case(PHI, ("10 31", "31 10"), (96, 16), (0,), "DRAM HBM", (0,)),
    "hbm-faster-tier": Case(
        INTEL,
        FLAT,
        (512, 512, 64, 64),
        (0, 1),
        "DRAM DRAM HBM HBM",
        (0, 1),
        {f"/sys/devices/virtual/memory_tiering/memory_tier{t}/nodelist": n for t, n in ((2, "2-3"), (4, "0-1"))},
    ),
    "a64fx": Case(A64FX, ("10 20", "20 10"), (8, 8), (0, 1), "HBM HBM", (0, 1)),
    "cxl-region": Case(
        INTEL,
        CXL,
        (512, 512, 128, 128),
        (0, 1),
        "DRAM DRAM CXL CXL",
        (0, 1),
        kmem("dax0.0", 2, ROOT) | kmem("dax1.0", 3, ROOT),
    ),
    "cxl-firmware": Case(
        INTEL,
        CXL,
        (512, 512, 128, 128),
        (0, 1),
        "DRAM DRAM CXL CXL",
        (0, 1),
        {"/sys/bus/cxl/devices/mem0/serial": "1", "/sys/bus/cxl/devices/root0/uport": "1"},
    ),
    "slow-without-a-name": Case(
        INTEL,
        CXL,
        (512, 512, 128, 128),
        (0, 1),
        "DRAM DRAM unknown unknown",
        (0, 1),
        speeds(200000, 200000, 30000, 30000),
    ),
    "slow-beside-gpus": Case(
        INTEL,
        (*CXL[:1], "14 10"),
        (512, 128),
        (0,),
        "DRAM unknown",
        (0,),
        speeds(200000, 30000) | {f"{NVIDIA}/information": ""},
    ),
    "optane": Case(
        INTEL,
        ("10 21 17 28", "21 10 28 17", "17 28 10 28", "28 17 28 10"),
        (192, 192, 756, 756),
        (0, 1),
        "DRAM DRAM persistent persistent",
        (0, 1),
        kmem("dax0.0", 2, "LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region0/dax0.1")
        | kmem("dax1.0", 3, "LNXSYSTM:00/LNXSYBUS:00/ACPI0012:00/ndbus0/region1/dax1.1"),
    ),
    "specific-purpose-hbm": Case(
        INTEL,
        FLAT,
        (512, 512, 64, 64),
        (0, 1),
        "DRAM DRAM HBM HBM",
        (0, 1),
        speeds(131072, 131072, 409600, 409600)
        | kmem("dax0.0", 2, "platform/hmem.0")
        | kmem("dax1.0", 3, "platform/hmem.1"),
    ),
    "sgi-memory-only": Case(
        ITANIUM, ("10 17 14", "17 10 14", "14 14 10"), (8, 8, 8), (0, 1), "DRAM DRAM DRAM", (0, 1, 2)
    ),
    "guest-memory-only": Case(INTEL, ("10 20", "20 10"), (4, 4), (0,), "DRAM DRAM", (0, 1)),
    "nothing-but-gpus": Case(POWER, ("10 80", "80 10"), (0, 16), (0,), "none GPU", (255,), numbers=(0, 255)),
    "epyc-one-node-empty": Case(INTEL, ("10 12", "12 10"), (64, 0), (0, 1), "DRAM none", (0,)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_kind_of_each_node_decides_what_is_main_memory(case: Case) -> None:
    machine = described(case.tree())
    assert " ".join(node.kind for node in machine.nodes) == case.kinds
    main = memory_nodes(machine)
    assert tuple(node.number for node in main) == case.main
    assert machine.memory == machine.memory_available == sum(node.memory for node in main)
    assert ("interleave" in memory_policies(machine)) == (len(case.main) > 1)
    assert environment(machine)["STEELYARD_NODES"].replace("-", ",").split(",")[0] == str(case.main[0])
    assert {place.memory_policy for place in placements(machine)} <= {"local", *(f"bind:{n}" for n in case.main)}


def test_notes_name_the_nodes_that_are_left_out_and_how_to_measure_them() -> None:
    notes = described(CASES["cxl-region"].tree()).notes
    assert (
        "Memory nodes 2, 3 (memory of a CXL device) do not count as main memory. "
        "Steelyard measures such a node only with --set memory_policy=bind:NODE." in notes
    )
    lonely = described(CASES["sgi-memory-only"].tree()).notes
    assert (
        "Memory node 2 (without processors) counts as DRAM, because no file of the kernel gives another kind." in lonely
    )


def test_a_node_that_is_not_allowed_does_not_count_and_a_gpu_never_does() -> None:
    case = CASES["cxl-region"]
    tree = case.tree() | {"/proc/self/status": "Cpus_allowed_list: 0-1\nMems_allowed_list: 0,2"}
    assert described(tree).memory == 512 << 30


def test_nodes_of_runs_before_kinds_existed_are_dram() -> None:
    nodes = (NumaNode(0, (0,), 1, (10, 20)), NumaNode(1, (), 1, (20, 10)))
    assert main_nodes(nodes) == nodes


def with_gpu(machine: Machine) -> Machine:
    """The machine with the memory of a GPU as a node of its own."""
    near = tuple(replace(node, distances=(*node.distances, 80)) for node in machine.nodes)
    return replace(machine, nodes=(*near, NumaNode(255, (), 16 << 30, (80, 80, 10), "GPU")))


def test_the_report_lists_every_node_with_its_kind_and_its_use() -> None:
    full = report_fixture.evaluation()
    evaluation = replace(full, run=replace(full.run, machine=with_gpu(full.run.machine)))
    assert page.data(evaluation).memories == (
        ("0", "DRAM", "16 GiB", "0-1", "main memory"),
        ("1", "DRAM", "16 GiB", "2-3", "main memory"),
        ("255", "GPU", "16 GiB", "none", "only with memory_policy=bind:255"),
    )
    assert "2 NUMA nodes" in sentences.machine(evaluation)
    differing = {d.name: (d.a, d.b) for d in surroundings.find_differences(full.run, evaluation.run)}
    assert differing["memory nodes"] == ("2", "2 DRAM, 1 GPU")


def bandwidth(pinning: str, policy: str) -> Result:
    value = {"bandwidth": Value(1e11, "B/s", 1e11, 1e11, "none")}
    parameters = {"pinning": pinning, "memory_policy": policy, "threads": 2}
    return Result(
        benchmark="memory.placement",
        kernel="triad",
        parameters=parameters,
        records=(),
        metrics=value,
        verdict=Verdict("CLEAN"),
    )


def test_a_gpu_node_has_a_column_where_it_was_measured_and_no_limit(two_sockets: Machine) -> None:
    machine = replace(with_gpu(two_sockets), limits={"memory_bandwidth": Limit(2e11, "B/s", "modules")})
    near, far = bandwidth("0-1", "bind:0"), bandwidth("0-1", "bind:255")
    assert placement.figures((near,), machine)[0].columns == ("0", "1")
    assert placement.figures((near, far), machine)[0].columns == ("0", "1", "255")
    assert placement.limit("bandwidth", near, machine) == Limit(1e11, "B/s", "1 of 2 memory nodes of modules")
    assert placement.limit("bandwidth", far, machine) is None


def test_a_node_that_cannot_be_read_is_named_and_an_empty_one_is_not() -> None:
    tree = CASES["sgi-memory-only"].tree()
    torn = {f"{NODE}/node1/cpulist": "0-", f"{NODE}/node1/cpumap": "xyz"}
    assert not any("could not read all files" in note for note in described(tree).notes)
    assert any("could not read all files of memory node 1 " in note for note in described(tree | torn).notes)


def test_the_kinds_of_hwloc_are_kept() -> None:
    kinds = (("", "1"), ("HBM", "1"), ("MCDRAM", "1"), ("GPUMemory", "1"), ("CXL-DRAM", "1"), ("NVM", "1"), ("", "0"))
    objects = "".join(
        f'<object type="NUMANode" os_index="{n}" local_memory="{size}" subtype="{kind}" cpuset="0x0"/>'
        for n, (kind, size) in enumerate(kinds)
    )
    _, nodes, _ = read_hwloc(f"<topology>{objects}</topology>")
    assert [node.kind for node in nodes] == ["DRAM", "HBM", "HBM", "GPU", "CXL", "persistent", "none"]
