"""Tests of what a machine tells of itself: on recorded kernel files, hostile tables, and the real machine."""

import contextlib
import functools
import os
import struct
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import report_fixture
from scripts import write_script
from steelyard.errors import UsageError
from steelyard.measure.machine import describe
from steelyard.measure.machine.cgroups import read_allowance
from steelyard.measure.machine.containers import read_container
from steelyard.measure.machine.cpulist import format_cpu_list, parse_cpu_list
from steelyard.measure.machine.files import KernelFiles
from steelyard.measure.machine.hwloc import read_hwloc
from steelyard.measure.machine.limits import bandwidth_limit, bandwidth_unknown, limits
from steelyard.measure.machine.memory_modules import channel_of, parse_modules
from steelyard.measure.machine.placement import place
from steelyard.measure.machine.processors import identify
from steelyard.measure.machine.system_file import find_system, load_system, shipped_systems
from steelyard.measure.machine.tools import find_tools, mpiexec_of
from steelyard.model import Cache, Core, Enclosure, Limit, Machine, MemoryModule, NumaNode, Setting
from steelyard.model.caches import cache_levels, reachable_cache
from steelyard.show.report import sentences
from steelyard.show.report.pages import machine as page
from system_texts import expect_refused

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
ARCH = "/proc/sys/kernel/arch"

DDR4 = 0x1A

Tree = dict[str, str | bytes]


def record(root: Path, tree: Tree) -> Path:
    """Writes a recorded tree of kernel files below `root`."""
    for name, content in tree.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else (content + "\n").encode())
    return root


def device(slot: str, bank: str, mebibytes: int, rate: int, array: int = 0x1000) -> bytes:
    """A structure of type 17 (SMBIOS 2.8), as the firmware lays it out."""
    body = struct.pack("<BBHHHHHH", 17, 40, 0x1100, array, 0xFFFE, 72, 64, mebibytes)
    body += struct.pack("<BBBBBHHBBBBB", 9, 0, 1, 2, DDR4, 0x80, rate, 0, 0, 0, 0, 0)
    body += struct.pack("<IHHHH", 0, rate, 1200, 1200, 1200)
    assert len(body) == 40
    # An empty string would end the structure: it is left out, as firmware does.
    return body + b"\0".join(text.encode() for text in (slot, bank) if text) + b"\0\0"


def array(handle: int, use: int) -> bytes:
    """A structure of type 16: what the modules of this array are for (3: system memory)."""
    return struct.pack("<BBHBBBIHH", 16, 15, handle, 3, use, 6, 1 << 25, 0xFFFE, 8) + b"\0\0"


def two_sockets() -> Tree:
    """Two sockets, each with two memory nodes (sub-NUMA clustering), four cores and SMT: 16 processors."""
    tree: Tree = {
        "/proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
        "model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz\nmicrocode\t: 0xd0003a5\n"
        "flags\t\t: fpu fma avx2 avx512f\n\nprocessor\t: 1\nmodel name\t: something else",
        "/proc/meminfo": "MemTotal: 268435456 kB\nMemFree: 200000000 kB\nMemAvailable: 250000000 kB\n"
        "SwapTotal: 8388608 kB\nSwapFree: 4194304 kB",
        "/proc/sys/kernel/hostname": "node042",
        "/proc/sys/kernel/osrelease": "5.14.0-362.el9.x86_64",
        "/proc/sys/kernel/numa_balancing": "1",
        "/proc/sys/kernel/arch": "x86_64",
        "/proc/loadavg": "1.25 0.50 0.25 1/900 4242",
        "/proc/self/status": "Name:\tpython\nCpus_allowed_list:\t0-15\nMems_allowed_list:\t0-3",
        f"{CPU}/online": "0-15",
        f"{CPU}/smt/active": "1",
        f"{CPU}/isolated": "",
        f"{CPU}/intel_pstate/no_turbo": "0",
        f"{CPU}/vulnerabilities/spectre_v1": "Mitigation: usercopy/swapgs barriers",
        f"{CPU}/vulnerabilities/mds": "Not affected",
        f"{CPU}/vulnerabilities/mmio_stale_data": "Vulnerable: no microcode",
        "/sys/class/dmi/id/sys_vendor": "Dell Inc.",
        "/sys/class/dmi/id/product_name": "PowerEdge C6520",
        "/sys/class/dmi/id/bios_version": "1.9.2",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
        "/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
        "/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
        "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "64",
        "/sys/firmware/dmi/tables/DMI": b"".join(
            device(f"P{socket + 1}-DIMM{letter}1", f"P{socket}_Node{socket}_Channel{number}_Dimm0", 16384, 3200)
            for socket in range(2)
            for number, letter in enumerate("ABCDEFGH")
        )
        + b"\x7f\x04\x00\x00\0\0",
    }
    distances = ("10 11 20 20", "11 10 20 20", "20 20 10 11", "20 20 11 10")
    for node in range(4):
        tree[f"{NODE}/node{node}/cpulist"] = f"{2 * node}-{2 * node + 1},{2 * node + 8}-{2 * node + 9}"
        tree[f"{NODE}/node{node}/distance"] = distances[node]
        tree[f"{NODE}/node{node}/meminfo"] = f"Node {node} MemTotal:       67108864 kB\nNode {node} MemFree: 1 kB"
    for cpu in range(16):
        core, socket = cpu % 8, cpu % 8 // 4
        tree[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = str(socket)
        tree[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = f"{core},{core + 8}"
        tree[f"{CPU}/cpufreq/policy{cpu}/scaling_governor"] = "powersave" if cpu >= 8 else "performance"
        tree[f"{CPU}/cpufreq/policy{cpu}/affected_cpus"] = str(cpu)
        tree[f"{CPU}/cpufreq/policy{cpu}/scaling_driver"] = "intel_pstate"
        tree[f"{CPU}/cpufreq/policy{cpu}/scaling_max_freq"] = "3200000"
        shared = f"{4 * socket}-{4 * socket + 3},{4 * socket + 8}-{4 * socket + 11}"
        for index, (level, kind, size, cpus) in enumerate(
            (
                (1, "Data", "48K", f"{core},{core + 8}"),
                (1, "Instruction", "32K", f"{core},{core + 8}"),
                (2, "Unified", "1280K", f"{core},{core + 8}"),
                (3, "Unified", "24M", shared),
            )
        ):
            folder = f"{CPU}/cpu{cpu}/cache/index{index}"
            tree |= {f"{folder}/level": str(level), f"{folder}/type": kind, f"{folder}/size": size}
            tree |= {f"{folder}/coherency_line_size": "64", f"{folder}/shared_cpu_list": cpus}
    return tree


def virtual_machine() -> Tree:
    """A guest: two processors, both versions of control groups, no firmware tables, memory told lazily."""
    tree: Tree = {
        "/proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 207\n"
        "model name : Intel(R) Xeon(R) Processor\nflags : fma hypervisor avx512f",
        "/proc/meminfo": "MemTotal:       24682416 kB\nMemFree: 23538620 kB\nMemAvailable:   24316948 kB\n"
        "SwapTotal: 0 kB\nSwapFree: 0 kB",
        "/proc/sys/kernel/hostname": "vm",
        "/proc/self/cgroup": "4:memory:/jobs/one\n1:cpu:/\n0::/",
        "/proc/self/mountinfo": "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw",
        "/sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes": "9223372036854771712",
        "/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes": str(8 * GIB),
        "/sys/fs/cgroup/memory/jobs/memory.usage_in_bytes": str(3 * GIB),
        "/sys/fs/cgroup/memory/jobs/memory.stat": f"cache 1\ntotal_inactive_file {GIB}",
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
        "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        f"{CPU}/online": "0-1",
        "/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock",
        f"{NODE}/node0/cpulist": "0-1",
        f"{NODE}/node0/distance": "10",
        f"{NODE}/node0/meminfo": "Node 0 MemTotal: 4678212 kB",
    }
    for cpu in range(2):
        tree[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = "0"
        tree[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = str(cpu)
    return tree


def board() -> Tree:
    """A board with four aarch64 cores: no memory nodes, no cache sizes, no firmware tables."""
    tree: Tree = {
        "/proc/cpuinfo": "processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
        "CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd0c\nCPU revision\t: 3",
        "/proc/meminfo": "MemTotal: 4000000 kB\nMemFree: 1000000 kB\nBuffers: 10 kB\nCached: 500000 kB",
        "/proc/sys/kernel/hostname": "board",
        "/sys/firmware/devicetree/base/model": "Some Board Rev 1.2\0",
        f"{CPU}/online": "0-3",
        f"{CPU}/cpufreq/policy0/scaling_governor": "ondemand",
        f"{CPU}/cpufreq/policy0/affected_cpus": "0 1 2 3",
    }
    for cpu in range(4):
        tree[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = "-1"
        tree[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = str(cpu)
        tree[f"{CPU}/cpu{cpu}/cache/index0/level"] = "1"
        tree[f"{CPU}/cpu{cpu}/cache/index0/type"] = "Data"
    return tree


def value(machine: Machine, name: str) -> str | None:
    return next(setting.value for setting in machine.settings if setting.name == name)


def reason(machine: Machine, name: str) -> str:
    return next(setting.reason for setting in machine.settings if setting.name == name)


# --------------------------------------------------------------------------- recorded machines


def test_two_sockets_with_clustering_are_described_whole(tmp_path: Path) -> None:
    machine = describe(record(tmp_path, two_sockets()))
    assert (machine.system, machine.host) == ("Dell Inc. PowerEdge C6520", "node042")
    assert machine.processor == "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"
    assert (machine.architecture, machine.vendor) == ("x86_64", "GenuineIntel")
    assert machine.cores[3] == Core(3, socket=0, node=1, cpus=(3, 11))
    assert [core.socket for core in machine.cores] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [core.node for core in machine.cores] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert machine.nodes[1] == NumaNode(1, (2, 3, 10, 11), 64 * GIB, (11, 10, 20, 20))
    assert machine.cpus == tuple(range(16))
    assert (machine.memory, machine.memory_available) == (256 * GIB, 250000000 * KIB)
    assert (machine.fma_width, machine.fma_units) == (8, 2)
    assert machine.cpu_quota is None


def test_every_cache_instance_is_listed_once(tmp_path: Path) -> None:
    machine = describe(record(tmp_path, two_sockets()))
    assert [(cache.level, cache.kind) for cache in machine.caches].count((2, "unified")) == 8
    third = [cache for cache in machine.caches if cache.level == 3]
    assert third == [
        Cache(3, "unified", 24 * MIB, 64, (0, 1, 2, 3, 8, 9, 10, 11), inclusive=False),
        Cache(3, "unified", 24 * MIB, 64, (4, 5, 6, 7, 12, 13, 14, 15), inclusive=False),
    ]


def test_settings_carry_their_source_and_their_differences(tmp_path: Path) -> None:
    machine = describe(record(tmp_path, two_sockets()))
    assert value(machine, "governor") == "performance (cpus 0-7), powersave (cpus 8-15)"
    assert value(machine, "frequency_max") == "3.20 GHz"
    assert value(machine, "turbo") == "on"
    assert value(machine, "smt") == "on"
    assert value(machine, "isolated_cpus") == "none"
    assert value(machine, "transparent_huge_pages") == "always"
    assert value(machine, "mitigations") == "mitigated: spectre_v1; vulnerable: mmio_stale_data"
    assert value(machine, "hypervisor") == "none"
    assert value(machine, "microcode") == "0xd0003a5"
    assert value(machine, "swap_used") == "4 GiB"
    assert value(machine, "load_average") == "1.25 0.50 0.25"
    assert value(machine, "huge_pages_1GiB") is None
    assert "hugepages-1048576kB" in reason(machine, "huge_pages_1GiB")
    assert all(setting.reason for setting in machine.settings if setting.value is None)
    assert len({setting.name for setting in machine.settings}) == len(machine.settings)


def test_the_memory_modules_give_the_ceiling_of_the_machine_and_of_a_node(tmp_path: Path) -> None:
    machine = describe(record(tmp_path, two_sockets()))
    assert len(machine.modules) == 16
    assert value(machine, "memory_modules") == str(len(machine.modules))
    assert machine.modules[0] == MemoryModule("P1-DIMMA1", 16 * GIB, "DDR4", 3.2e9, "processor 0 node 0 channel 0")
    whole = machine.limits["memory_bandwidth"]
    assert whole == Limit(16 * 3.2e9 * 8, "B/s", "16 channels × 3200 MT/s × 8 B (SMBIOS)")
    node = machine.limits["memory_bandwidth_node"]
    assert node.value == whole.value / 4
    assert "divided evenly by 4 memory nodes" in node.source
    assert "flops" not in machine.limits


def test_an_offline_processor_appears_nowhere(tmp_path: Path) -> None:
    tree = two_sockets() | {f"{CPU}/online": "0-14", "/proc/self/status": "Cpus_allowed_list: 0-15"}
    machine = describe(record(tmp_path, tree))
    assert machine.cores[7].cpus == (7,)
    parts: list[Any] = [*machine.cores, *machine.nodes, *machine.caches, machine]
    everywhere = [part.cpus for part in parts]
    assert not any(15 in cpus for cpus in everywhere)


def test_memory_of_nodes_that_are_not_allowed_does_not_count(tmp_path: Path) -> None:
    tree = two_sockets() | {"/proc/self/status": "Cpus_allowed_list: 4-7\nMems_allowed_list: 2-3"}
    machine = describe(record(tmp_path, tree))
    assert machine.cpus == (4, 5, 6, 7)
    assert machine.memory == 128 * GIB


def test_a_guest_is_described_within_its_control_groups(tmp_path: Path) -> None:
    machine = describe(record(tmp_path, virtual_machine()))
    assert machine.system == machine.host == "vm"
    assert machine.nodes == (NumaNode(0, (0, 1), 24682416 * KIB, (10,)),)
    assert machine.memory == 8 * GIB
    assert machine.memory_available == 6 * GIB  # 8 allowed, 3 used, of which 1 can be given back
    assert machine.cpu_quota is None
    assert value(machine, "hypervisor") == "KVM"
    assert value(machine, "control_groups") == "1 and 2"
    assert value(machine, "memory_limit") == f"{8 * GIB} B"
    assert value(machine, "swap") == "none"
    assert value(machine, "governor") is None
    assert machine.modules == ()
    assert "memory_bandwidth" not in machine.limits
    assert any("no /sys/firmware/dmi/tables/DMI" in note for note in machine.notes)
    assert value(machine, "memory_modules") is None


def test_a_board_without_nodes_and_cache_sizes_is_described(tmp_path: Path) -> None:
    machine = describe(record(tmp_path, board()))
    assert (machine.system, machine.processor, machine.vendor) == (
        "Some Board Rev 1.2",
        "Arm Neoverse N1",
        "Arm",
    )
    assert machine.architecture == "aarch64"
    assert [core.cpus for core in machine.cores] == [(0,), (1,), (2,), (3,)]
    assert {core.socket for core in machine.cores} == {0}
    assert machine.nodes == (NumaNode(0, (0, 1, 2, 3), 4000000 * KIB, (10,)),)
    assert machine.memory_available == 1500010 * KIB
    assert machine.caches == ()
    assert any("sizes of the caches" in note for note in machine.notes)
    assert (machine.fma_width, machine.fma_units) == (2, 2)
    assert value(machine, "governor") == "ondemand"
    assert value(machine, "hypervisor") is None
    assert reachable_cache(machine, machine.cpus) == 0


def test_an_empty_root_gives_reasons_and_no_figures(tmp_path: Path) -> None:
    machine = describe(tmp_path)
    assert (machine.cores, machine.nodes, machine.caches, machine.cpus, machine.modules) == (
        (),
        (),
        (),
        (),
        (),
    )
    assert machine.cpu_quota is None
    assert machine.fma_width is None
    assert machine.limits == {}
    assert all(setting.value is None and setting.reason for setting in machine.settings)
    for subject in ("processor", "memory is unknown", "memory modules", "flop/s", "compilers"):
        assert any(subject in note for note in machine.notes), subject


@given(
    st.dictionaries(
        st.sampled_from([*two_sockets(), *virtual_machine(), *board()]), st.binary(max_size=60), max_size=40
    )
)
@settings(max_examples=40)
def test_torn_kernel_files_never_raise(damage: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        machine = describe(record(Path(folder), virtual_machine() | damage))
    assert machine.memory >= 0


def test_the_real_machine_is_described() -> None:
    machine = describe()
    assert set(machine.cpus) == os.sched_getaffinity(0)
    assert {cpu for core in machine.cores for cpu in core.cpus} >= set(machine.cpus)
    assert 0 < machine.memory_available <= machine.memory
    assert machine.architecture == os.uname().machine
    assert all(setting.value is not None or setting.reason for setting in machine.settings)


def test_describing_needs_no_numerical_library() -> None:
    code = "import steelyard.measure.machine, sys; print(sorted({'numpy', 'scipy', 'rich'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


# --------------------------------------------------------------------------- lists of processors


@given(st.sets(st.integers(0, 5000)))
def test_a_cpu_list_reads_back_as_it_was_written(cpus: set[int]) -> None:
    assert parse_cpu_list(format_cpu_list(cpus)) == tuple(sorted(cpus))


@given(st.text(alphabet="0123456789-, x²", max_size=12))
def test_a_malformed_cpu_list_is_a_value_error_and_nothing_else(text: str) -> None:
    with contextlib.suppress(ValueError):
        cpus = parse_cpu_list(text)
        assert len(set(cpus)) == len(cpus)
        assert parse_cpu_list(format_cpu_list(cpus)) == tuple(sorted(cpus))


def test_a_cpu_list_keeps_the_order_in_which_it_is_written() -> None:
    assert parse_cpu_list(" 3,0-1,3 ") == (3, 0, 1)
    assert format_cpu_list((8, 0, 2, 1)) == "0-2,8"
    with pytest.raises(ValueError, match="descending"):
        parse_cpu_list("3-1")
    with pytest.raises(ValueError, match="beyond"):
        parse_cpu_list("0-999999999")


# --------------------------------------------------------------------------- memory modules


def test_modules_are_read_and_empty_slots_and_foreign_arrays_are_not() -> None:
    table = (
        array(0x1000, use=3)
        + array(0x2000, use=5)  # flash
        + device("DIMM_A1", "BANK 0", 8192, 2400)
        + device("DIMM_A2", "BANK 1", 0, 0)
        + device("FLASH", "", 16, 0, array=0x2000)
        + device("DIMM_B1", "BANK 2", 0xFFFF, 2400)
    )
    modules, unsized = parse_modules(table)
    assert modules == (MemoryModule("DIMM_A1", 8 * GIB, "DDR4", 2.4e9, "channel A"),)
    assert unsized == ("DIMM_B1",)


def test_a_large_module_uses_the_extended_size() -> None:
    table = bytearray(device("DIMM_A1", "", 0x7FFF, 3200))
    struct.pack_into("<I", table, 0x1C, 64 * 1024)
    assert parse_modules(bytes(table))[0][0].size == 64 * GIB


def test_the_configured_rate_counts_and_not_the_rated_one() -> None:
    table = bytearray(device("DIMM_A1", "", 8192, 3200))
    struct.pack_into("<H", table, 0x20, 2666)
    assert parse_modules(bytes(table))[0][0].rate == 2.666e9
    struct.pack_into("<HH", table, 0x20, 0, 0)
    struct.pack_into("<H", table, 0x15, 0)
    assert parse_modules(bytes(table))[0][0].rate is None


@given(st.binary(max_size=400))
def test_hostile_firmware_tables_never_raise(table: bytes) -> None:
    modules, _ = parse_modules(table)
    assert all(module.size > 0 for module in modules)


@given(st.integers(0, 400), st.integers(0, 255), st.integers(0, 400))
def test_a_torn_table_gives_the_modules_before_the_tear(cut: int, byte: int, at: int) -> None:
    table = bytearray(array(0x1000, 3) + b"".join(device(f"DIMM_{c}1", "", 4096, 2133) for c in "ABCD"))
    table[at % len(table)] = byte
    assert len(parse_modules(bytes(table[:cut]))[0]) <= 4


@pytest.mark.parametrize(
    ("slot", "bank", "channel"),
    [
        ("P1-DIMMA1", "P0_Node0_Channel0_Dimm0", "processor 0 node 0 channel 0"),
        ("CPU1_DIMM_B2", "NODE 0", "processor 1 node 0 channel B"),
        ("DIMM 0", "P0 CHANNEL A", "processor 0 channel A"),
        ("Controller1-ChannelA-DIMM0", "BANK 1", "controller 1 channel A"),
        ("DIMM_A2", "BANK 1", "channel A"),
        ("A1", "Not Specified", None),
        ("PROC 1 DIMM 3", "", None),
        ("DIMM 0", "", None),
    ],
)
def test_the_channel_is_recognised_in_the_makers_notations(slot: str, bank: str, channel: str | None) -> None:
    assert channel_of(slot, bank) == channel


def test_modules_that_only_root_may_read_are_known_to_be_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, table = KernelFiles.read_bytes, "/sys/firmware/dmi/tables/DMI"
    forbidden = (None, f"{table} may be read by root only")
    monkeypatch.setattr(KernelFiles, "read_bytes", lambda f, path: forbidden if path == table else read(f, path))
    machine = describe(record(tmp_path, two_sockets()))
    assert value(machine, "memory_modules") == "for root only"
    assert bandwidth_unknown(machine) == f"Only root may read the description of the memory modules ({table})."


# --------------------------------------------------------------------------- limits


def module(slot: str, channel: str | None = None, rate: float | None = 3.2e9, kind: str = "DDR4") -> MemoryModule:
    return MemoryModule(slot, 16 * GIB, kind, rate, channel)


def test_two_modules_of_a_channel_count_once_and_at_the_slower_rate() -> None:
    modules = (module("A1", "A"), module("A2", "A", 2.4e9), module("B1", "B"))
    limit, _ = bandwidth_limit(modules)
    assert limit.value == (2.4e9 + 3.2e9) * 8
    assert limit.source == "2 channels × 2400 and 3200 MT/s × 8 B (SMBIOS)"


def test_modules_without_channels_are_counted_and_the_source_says_so() -> None:
    limit, _ = bandwidth_limit((module("A1"), module("A2")))
    assert limit.value == 2 * 3.2e9 * 8
    assert "each counted as one channel" in limit.source
    assert "too high if modules share a channel" in limit.source


@pytest.mark.parametrize(
    ("modules", "part"),
    [
        ((), "no memory module"),
        ((module("A1", rate=None),), "rate of the module in A1"),
        ((module("A1", kind="LPDDR5"),), "'LPDDR5'"),
    ],
)
def test_a_limit_that_cannot_be_derived_is_absent_and_explained(modules: tuple[MemoryModule, ...], part: str) -> None:
    limit, why = bandwidth_limit(modules)
    assert limit is None
    assert part in why


def test_flops_follow_from_cores_clock_and_pipes(tmp_path: Path) -> None:
    machine = describe(record(tmp_path, two_sockets()))
    flops = limits(machine, 2.0e9)["flops"]
    assert flops.value == 8 * 2.0e9 * 8 * 2 * 2
    assert "8 cores × 2.00 GHz true clock" in flops.source
    assert limits(replace(machine, cpu_quota=1.5), 2.0e9)["flops"].value == 1.5 * 2.0e9 * 8 * 2 * 2
    assert "8 cores × " in limits(replace(machine, cpu_quota=8.0), 2.0e9)["flops"].source, "such a quota limits nothing"
    assert "1.5 cores (a control group's quota)" in limits(replace(machine, cpu_quota=1.5), 2.0e9)["flops"].source
    assert limits(replace(machine, cpus=(0, 8)), 2.0e9)["flops"].value == 2.0e9 * 8 * 2 * 2
    assert "flops" not in limits(replace(machine, fma_width=None), 2.0e9)


# --------------------------------------------------------------------------- system files


def test_every_shipped_system_file_is_valid_and_found_by_name() -> None:
    assert set(shipped_systems()) >= {"example", "poweredge-r730xd"}
    for name in shipped_systems():
        assert load_system(find_system(name)).name


def test_the_system_of_the_published_figures_has_their_theoretical_bandwidth(tmp_path: Path) -> None:
    machine = describe(record(tmp_path, virtual_machine()), find_system("poweredge-r730xd"))
    assert machine.system == "PowerEdge R730xd 2x E5-2697 v3"
    assert round(machine.limits["memory_bandwidth"].value / 1e9, 1) == 136.5
    assert "given by poweredge-r730xd.toml" in machine.limits["memory_bandwidth"].source
    assert any("Cluster-on-Die" in note for note in machine.notes)


def test_what_the_user_gives_replaces_what_is_derived(tmp_path: Path) -> None:
    given_file = tmp_path / "mine.toml"
    given_file.write_text("memory_bandwidth = 300e9\nflops = 2e12\nnotes = 'borrowed'\n")
    machine = describe(record(tmp_path / "root", two_sockets()), given_file)
    assert machine.limits["memory_bandwidth"] == Limit(300e9, "B/s", "given by mine.toml")
    assert machine.limits["memory_bandwidth_node"].value == 75e9
    assert limits(machine, 2.0e9)["flops"].value == 2e12
    assert machine.system == "Dell Inc. PowerEdge C6520"


def test_enclosures_have_their_hosts_written_out_the_smallest_kind_first(tmp_path: Path) -> None:
    given_file = tmp_path / "mine.toml"
    given_file.write_text('[enclosures]\nblade = ["n[1-2]", "n03,x"]\nchassis = ["n[1-2],n03"]\n')
    machine = describe(record(tmp_path / "root", two_sockets()), given_file)
    assert machine.enclosures == (
        Enclosure("blade", ("n1", "n2")),
        Enclosure("blade", ("n03", "x")),
        Enclosure("chassis", ("n1", "n2", "n03")),
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("enclosures = 15", ("key 'enclosures': '15'", "a list of lists of hosts")),
        ("[enclosures]\nblade = 'n1'", ("'enclosures.blade': 'n1'", "a list of lists of hosts")),
        ("[enclosures]\nblade = ['n[1-']", ("line 2, key 'enclosures.blade'", "'n[1-'")),
        ("[enclosures]\nblade = ['n[1-3]', 'n3']", ("'n3' is in two enclosures of the kind 'blade'",)),
        ("flop = 1e12", ("unknown key 'flop'", "Did you mean 'flops'?")),
        ("memory_bandwidth = 136.5", ("memory_bandwidth = '136.5'", "136.5e9")),
        ("memory_channels = 8", ("'memory_channels' without 'memory_rate'", "2133e6")),
        ("memory_channels = 0\nmemory_rate = 2133e6", ("memory_channels = '0'", "whole number")),
        ("memory_channels = 8\nmemory_rate = 2133", ("memory_rate = '2133'", "2133e6")),
        ("memory_channels = 8\nmemory_rate = 2e9\nmemory_bandwidth = 1e11", ("twice",)),
        ("flops = true", ("flops = 'True'",)),
        ("flops = nan", ("flops = 'nan'",)),
        ("name = 7", ("name = '7'", "a text")),
        ("notes = [1]", ("notes = '[1]'", "list of texts")),
        ("name = ", ("not a valid TOML file",)),
        ("price_per_node = 500", ("price_per_node = 500 without a currency", "currency = 'EUR'")),
        ("price_per_kwh = -1\ncurrency = 'EUR'", ("price_per_kwh = '-1'", "a number")),
        ("cores_per_node = 1.5", ("cores_per_node = '1.5'", "a whole number")),
        ("rack_units_per_enclosure = 7", ("'rack_units_per_enclosure' without 'nodes_per_enclosure'",)),
        ("currency = 7", ("currency = '7'", "a text such as 'EUR'")),
    ],
)
def test_a_wrong_system_file_is_explained(tmp_path: Path, text: str, parts: tuple[str, ...]) -> None:
    expect_refused(tmp_path, text, parts)


def test_a_system_that_does_not_exist_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'poweredge-r730xd'"):
        find_system("poweredge-r730")
    with pytest.raises(UsageError, match="cannot be read"):
        load_system(find_system(str(tmp_path / "absent.toml")))


# --------------------------------------------------------------------------- control groups


def test_the_least_quota_and_limit_up_the_hierarchy_count(tmp_path: Path) -> None:
    tree: Tree = {
        "/proc/self/cgroup": "0::/a/b/c",
        "/proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate",
        "/sys/fs/cgroup/a/b/c/cpu.max": "max 100000",
        "/sys/fs/cgroup/a/b/cpu.max": "250000 100000",
        "/sys/fs/cgroup/a/cpu.max": "400000 100000",
        "/sys/fs/cgroup/a/b/c/memory.max": str(4 * GIB),
        "/sys/fs/cgroup/a/memory.high": str(2 * GIB),
        "/sys/fs/cgroup/a/memory.max": "max",
        "/sys/fs/cgroup/a/memory.current": str(GIB),
        "/sys/fs/cgroup/a/b/c/cpuset.cpus.effective": "0-3",
    }
    allowance = read_allowance(KernelFiles(record(tmp_path, tree)))
    assert (allowance.version, allowance.cpu_quota) == ("2", 2.5)
    assert allowance.cpu_quota_path == "/sys/fs/cgroup/a/b/cpu.max"
    assert (allowance.memory_limit, allowance.memory_left) == (2 * GIB, GIB)
    assert allowance.memory_limit_path == "/sys/fs/cgroup/a/memory.high"
    assert allowance.cpus == (0, 1, 2, 3)


def test_a_container_of_version_one_sees_its_group_as_the_top(tmp_path: Path) -> None:
    tree: Tree = {
        "/proc/self/cgroup": "3:cpu,cpuacct:/docker/1234\n2:memory:/docker/1234",
        "/proc/self/mountinfo": "50 1 0:29 /docker/1234 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
        "51 1 0:30 /docker/1234 /sys/fs/cgroup/memory ro shared:9 - cgroup cgroup rw,memory",
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000",
        "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": str(512 * MIB),
    }
    allowance = read_allowance(KernelFiles(record(tmp_path, tree)))
    assert (allowance.version, allowance.cpu_quota, allowance.memory_limit) == ("1", 0.5, 512 * MIB)


def in_namespaces(root: Path, **numbers: int) -> KernelFiles:
    """The files of a process in these namespaces; those of the host otherwise."""
    folder = root / "proc/self/ns"
    folder.mkdir(parents=True, exist_ok=True)
    host = {"pid": 4026531836, "user": 4026531837, "cgroup": 4026531835, "ipc": 4026531839, "uts": 4026531838}
    for kind, number in {**host, **numbers}.items():
        (folder / kind).symlink_to(f"{kind}:[{number}]")
    return KernelFiles(root)


@pytest.mark.parametrize(
    ("tree", "spaces", "name"),
    [
        ({}, {}, "none"),
        ({"/.dockerenv": ""}, {"pid": 4026532200}, "Docker"),
        ({"/.dockerenv": ""}, {}, "none"),  # a virtual machine whose disk was made of an image
        ({"/.dockerenv": ""}, {"uts": 4026532200}, "Docker"),  # with --pid host
        ({"/run/.containerenv": 'engine="podman-4.3.1"'}, {"user": 4026532200}, "Podman"),
        ({"/.singularity.d/runscript": ""}, {}, "Apptainer"),
        ({"/run/systemd/container": "systemd-nspawn\n"}, {"pid": 4026532200}, "systemd-nspawn"),
        ({}, {"uts": 4026532200}, "none"),  # a service with ProtectHostname
        ({}, {"pid": 4026532200}, "unnamed"),
        ({}, {"user": 4026532200}, "unnamed"),
    ],
)
def test_a_container_is_known_by_its_files_and_namespaces(
    tree: Tree, spaces: dict[str, int], name: str, tmp_path: Path
) -> None:
    assert read_container(in_namespaces(record(tmp_path, tree), **spaces), None).value == name


def test_the_namespaces_of_wsl_are_no_container(tmp_path: Path) -> None:
    files = in_namespaces(tmp_path, pid=4026532200)
    assert read_container(files, "WSL2").value == "none"
    assert read_container(files, "KVM").value == "unnamed"
    assert read_container(KernelFiles(tmp_path / "absent"), None).value is None


@pytest.mark.parametrize(("name", "words"), [("Docker", "a container (Docker) on a machine"), ("none", "a machine")])
def test_the_first_line_of_the_screen_and_the_facts_name_the_container(name: str, words: str) -> None:
    full = report_fixture.evaluation()
    machine = replace(full.run.machine, settings=(Setting("container", name, "/.dockerenv"),))
    evaluation = replace(full, run=replace(full.run, machine=machine))
    assert f"is {words} with " in sentences.machine(evaluation)
    assert ("Container" in dict(page.data(evaluation).facts)) == (name != "none")


# --------------------------------------------------------------------------- processors


def xeon(model: int, name: str = "Intel(R) Xeon(R) Platinum", flags: str = "fma avx2 avx512f") -> dict[str, str]:
    return {
        "vendor_id": "GenuineIntel",
        "cpu family": "6",
        "model": str(model),
        "model name": name,
        "flags": flags,
    }


def amd(family: int, model: int, flags: str = "fma avx2 avx512f") -> dict[str, str]:
    return {"vendor_id": "AuthenticAMD", "cpu family": str(family), "model": str(model), "flags": flags}


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        (xeon(0x8F), (8, 2)),
        (xeon(0xCF), (8, 2)),
        (xeon(0x55, "Intel(R) Xeon(R) Platinum 8160 CPU"), (8, 2)),
        (xeon(0x55, "Intel(R) Xeon(R) Silver 4110 CPU"), (8, 1)),
        (xeon(0x55, "Intel(R) Xeon(R) Gold 5122 CPU"), (8, 2)),
        (xeon(0x55, "Intel(R) Xeon(R) D-2141I CPU"), (None, None)),
        (xeon(0x8F, flags="fma avx2"), (4, 2)),
        (xeon(0x8C), (8, 1)),
        (xeon(0x3F, flags="fma avx2"), (4, 2)),
        (xeon(0x97, flags="fma avx2"), (None, None)),
        (xeon(0x2D, flags="avx"), (None, None)),
        (amd(0x17, 0x31, "fma avx2"), (4, 2)),
        (amd(0x17, 0x01, "fma avx2"), (4, 1)),
        (amd(0x19, 0x01, "fma avx2"), (4, 2)),
        (amd(0x19, 0x11), (8, 1)),
        (amd(0x19, 0x11, "fma avx2"), (4, 2)),
        (amd(0x1A, 0x02), (8, 2)),
        (amd(0x30, 0x02), (None, None)),
        ({"CPU implementer": "0x41", "CPU part": "0xd40"}, (4, 2)),
        ({"CPU implementer": "0x41", "CPU part": "0xd4f"}, (2, 4)),
        ({"CPU implementer": "0x41", "CPU part": "0xd08"}, (None, None)),
        ({"CPU implementer": "0x99", "CPU part": "zero"}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_the_multiply_add_pipes_are_known_or_said_to_be_unknown(
    cpuinfo: dict[str, str], expected: tuple[int | None, int | None]
) -> None:
    processor = identify(cpuinfo)
    assert (processor.fma_width, processor.fma_units) == expected
    assert bool(processor.reason) == (expected[0] is None)


def test_the_third_level_repeats_the_second_on_some_families_only() -> None:
    assert identify(xeon(0x6A)).inclusive_l3 is False
    assert identify(xeon(0x3F)).inclusive_l3 is True
    assert identify(xeon(0x97)).inclusive_l3 is None
    assert identify(amd(0x19, 1)).inclusive_l3 is False
    assert identify({"CPU implementer": "0x41", "CPU part": "0xd0c"}).inclusive_l3 is None


# --------------------------------------------------------------------------- caches and placement


def test_reachable_cache_counts_each_instance_that_the_processors_reach(tmp_path: Path) -> None:
    machine = describe(record(tmp_path, two_sockets()))
    second, third = 1280 * KIB, 24 * MIB
    assert reachable_cache(machine, (0,)) == third + second
    assert reachable_cache(machine, (0, 8)) == third + second
    assert reachable_cache(machine, (0, 1, 4)) == 2 * third + 3 * second
    assert reachable_cache(machine, ()) == 0
    inclusive = tuple(replace(cache, inclusive=True) if cache.level == 3 else cache for cache in machine.caches)
    assert reachable_cache(replace(machine, caches=inclusive), (0, 1)) == third
    no_third = tuple(cache for cache in machine.caches if cache.level < 3)
    assert reachable_cache(replace(machine, caches=no_third), (0, 1)) == 2 * second


def test_the_levels_of_a_processor_leave_instructions_out(tmp_path: Path) -> None:
    machine = describe(record(tmp_path, two_sockets()))
    assert [(cache.level, cache.size) for cache in cache_levels(machine, 9)] == [
        (1, 48 * KIB),
        (2, 1280 * KIB),
        (3, 24 * MIB),
    ]


def test_compact_fills_neighbours_and_scatter_alternates_between_sockets(tmp_path: Path) -> None:
    machine = describe(record(tmp_path, two_sockets()))
    assert place(machine, 4, "none") is None
    assert place(machine, 9, "compact") == (0, 1, 2, 3, 4, 5, 6, 7, 8)
    assert place(machine, 9, "scatter") == (0, 4, 2, 6, 1, 5, 3, 7, 8)
    assert place(machine, 2, "5,0-3") == (5, 0)
    partial = replace(machine, cpus=(2, 9, 10, 12))
    assert place(partial, 4, "compact") == (9, 2, 12, 10)


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 5)),
    st.integers(1, 2),
    st.data(),
    st.sampled_from(["compact", "scatter"]),
)
def test_placed_threads_have_different_and_allowed_processors(
    shape: tuple[int, int, int], threads_a_core: int, data: st.DataObject, pinning: str
) -> None:
    sockets, nodes, cores = shape
    count = sockets * nodes * cores
    built = tuple(
        Core(i, i // (nodes * cores), i // cores, tuple(i + count * layer for layer in range(threads_a_core)))
        for i in range(count)
    )
    every = [cpu for core in built for cpu in core.cpus] + [9999]  # one whose core is not known
    allowed = tuple(sorted(data.draw(st.sets(st.sampled_from(every), min_size=1))))
    threads = data.draw(st.integers(1, len(allowed)))
    placed = place(replace(describe_nothing(), cores=built, cpus=allowed), threads, pinning)
    assert placed is not None
    assert len(placed) == len(set(placed)) == threads
    assert set(placed) <= set(allowed)
    usable = sum(1 for core in built if set(core.cpus) & set(allowed)) + (9999 in allowed)
    occupied = {cpu % count if cpu != 9999 else cpu for cpu in placed}
    assert len(occupied) == min(threads, usable)


@functools.cache
def describe_nothing() -> Machine:
    with tempfile.TemporaryDirectory() as folder:
        return describe(Path(folder))


@pytest.mark.parametrize(
    ("threads", "pinning", "parts"),
    [
        (17, "compact", ("threads=17", "16 processors", "0-15")),
        (17, "none", ("threads=17",)),
        (0, "compact", ("threads=0",)),
        (2, "compct", ("'compct'", "Did you mean 'compact'?")),
        (2, "spread", ("'spread'", "compact, none, scatter")),
        (3, "0,1", ("names 2 different", "threads=3")),
        (2, "0,0", ("names 1 different",)),
        (2, "0,99", ("may not use: 99", "0-15")),
        (2, "0;1", ("'0;1'", "'0,2-3'")),
    ],
)
def test_an_impossible_placement_is_explained(
    tmp_path: Path, threads: int, pinning: str, parts: tuple[str, ...]
) -> None:
    machine = describe(record(tmp_path, two_sockets()))
    with pytest.raises(UsageError) as caught:
        place(machine, threads, pinning)
    for part in parts:
        assert part in str(caught.value)


# --------------------------------------------------------------------------- hwloc

HWLOC = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
 <object type="Machine" os_index="0" cpuset="0x0000000f">
  <object type="Package" os_index="0" cpuset="0x00000003">
   <object type="NUMANode" os_index="0" cpuset="0x00000003" local_memory="536870912"/>
   <object type="L3Cache" cpuset="0x00000003" cache_size="16777216" depth="3" cache_type="0">
    <info name="Inclusive" value="1"/>
    <object type="L1Cache" cpuset="0x00000001" cache_size="32768" depth="1" cache_type="1">
     <object type="Core" os_index="0" cpuset="0x1"><object type="PU" os_index="0" cpuset="0x1"/></object>
    </object>
    <object type="Core" os_index="1" cpuset="0x2"><object type="PU" os_index="1" cpuset="0x2"/></object>
   </object>
  </object>
  <object type="Package" os_index="1" cpuset="0x0000000c">
   <object type="NUMANode" os_index="1" cpuset="0x0000000c" local_memory="268435456"/>
   <object type="Core" os_index="0" cpuset="0x4"><object type="PU" os_index="2" cpuset="0x4"/></object>
   <object type="Core" os_index="1" cpuset="0x8"><object type="PU" os_index="3" cpuset="0x8"/></object>
  </object>
 </object>
 <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
  <indexes length="4">0 1 </indexes>
  <u64values length="12">10 21 21 10 </u64values>
 </distances2>
</topology>
"""


def test_a_topology_of_hwloc_is_read() -> None:
    cores, nodes, caches = read_hwloc(HWLOC)
    assert cores == (Core(0, 0, 0, (0,)), Core(1, 0, 0, (1,)), Core(2, 1, 1, (2,)), Core(3, 1, 1, (3,)))
    assert nodes == (NumaNode(0, (0, 1), 512 * MIB, (10, 21)), NumaNode(1, (2, 3), 256 * MIB, (21, 10)))
    assert caches == (
        Cache(1, "data", 32 * KIB, 64, (0,)),
        Cache(3, "unified", 16 * MIB, 64, (0, 1), inclusive=True),
    )


def test_sets_of_more_than_32_processors_have_their_words_in_order() -> None:
    text = '<topology><object type="Core" os_index="0" cpuset="0x00000001,,0x80000001"/></topology>'
    assert read_hwloc(text)[0][0].cpus == (0, 31, 64)
    with pytest.raises(ValueError, match="many"):
        read_hwloc(text.replace("0x80000001", "many"))


@pytest.mark.parametrize("text", ["", "<topology>", '<t><object type="NUMANode" os_index="x" cpuset=""/></t>'])
def test_a_malformed_topology_of_hwloc_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"hwloc|invalid"):
        read_hwloc(text)


# --------------------------------------------------------------------------- tools


def test_each_compiler_is_listed_once_under_its_plainest_name(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    real = write_script(one / "g++-12", "echo 'g++ (Debian) 12.2.0'; echo more")
    (one / "g++").symlink_to(real)
    (one / "c++").symlink_to(real)
    write_script(one / "g++-9", "echo 'g++ 9.5.0'")
    write_script(one / "clang++-19", "echo 'clang version 19.1.0'")
    write_script(one / "clang++-14", "exit 1")
    write_script(one / "gcc", "echo not asked for")
    write_script(two / "g++", "echo 'g++ 7, hidden by the first folder'")
    (two / "icpx").write_text("no program")
    compilers, mpis, _ = find_tools(f"{one}{os.pathsep}{two}{os.pathsep}/nonexistent")
    assert [(tool.name, tool.version) for tool in compilers] == [
        ("g++", "g++ (Debian) 12.2.0"),
        ("g++-9", "g++ 9.5.0"),
        ("clang++-19", "clang version 19.1.0"),
    ]
    assert compilers[0].path == str(one / "g++")
    assert mpis == ()


def test_who_needs_any_compiler_asks_one_kind_alone(tmp_path: Path) -> None:
    write_script(tmp_path / "g++", "echo 'g++ 4.8.5'")
    write_script(tmp_path / "g++-11", "echo 'g++ 11.2.1'")
    write_script(tmp_path / "clang++", f"touch {tmp_path}/asked; echo 'clang version 19.1.0'")
    write_script(tmp_path / "mpicxx", f"touch {tmp_path}/asked")
    compilers, mpis, _ = find_tools(str(tmp_path), mpis=False)
    assert ([tool.name for tool in compilers], mpis) == (["g++", "g++-11"], ())
    assert not (tmp_path / "asked").exists()
    for name in ("g++", "g++-11"):
        write_script(tmp_path / name, "exit 1")
    assert [tool.name for tool in find_tools(str(tmp_path), mpis=False)[0]] == ["clang++"]


def test_compilers_behind_a_cache_are_told_apart(tmp_path: Path) -> None:
    mask = write_script(tmp_path / "ccache", 'echo "$(basename "$0") behind a cache"')
    (tmp_path / "g++").symlink_to(mask)
    (tmp_path / "clang++").symlink_to(mask)
    compilers, _, _ = find_tools(str(tmp_path) + os.pathsep + os.environ["PATH"])
    versions = {tool.name: tool.version for tool in compilers}
    assert versions["g++"] == "g++ behind a cache"
    assert versions["clang++"] == "clang++ behind a cache"


def test_mpi_flavours_are_recognised_with_their_starters(tmp_path: Path) -> None:
    openmpi, mpich = tmp_path / "o", tmp_path / "m"
    # Each finds <mpi.h> when it is asked to preprocess (-E); a third has lost its headers.
    write_script(
        openmpi / "mpicxx", '[ "$1" = --showme:version ] && echo "mpicxx: Open MPI 5.0.11 (Language: C++)"; exit 0'
    )
    write_script(tmp_path / "x" / "mpicxx.x", '[ "$1" = --showme:version ] && echo "mpicxx: Open MPI 4.1.4" || exit 1')
    write_script(openmpi / "mpiexec", "true")
    write_script(
        mpich / "mpicxx.mpich",
        '[ "$1" = -v ] && echo "mpicxx for MPICH version 4.0.2" || echo "c++: unrecognized option" >&2',
    )
    write_script(mpich / "mpiexec.mpich", "true")
    write_script(mpich / "mpiexec", "true")
    path = os.pathsep.join([str(openmpi), str(mpich), str(tmp_path / "x"), os.environ["PATH"]])
    mpis = [tool for tool in find_tools(path)[1] if tool.path.startswith(str(tmp_path))]
    assert [(tool.name, tool.version) for tool in mpis] == [("openmpi", "5.0.11"), ("mpich", "4.0.2")]
    assert [mpiexec_of(tool) for tool in mpis] == [str(openmpi / "mpiexec"), str(mpich / "mpiexec.mpich")]
    (openmpi / "mpiexec").unlink()
    assert mpiexec_of(mpis[0]) is None


@pytest.mark.parametrize(
    ("tree", "emulation"),
    [
        (
            {"/proc/cpuinfo": "CPU implementer : 0x41\nCPU architecture: 8\nCPU part : 0xd0c", ARCH: "x86_64"},
            "x86_64 programs on aarch64",
        ),
        ({"/proc/cpuinfo": "vendor_id : GenuineIntel\nflags : lm", ARCH: "aarch64"}, "aarch64 programs on x86_64"),
        (
            {"/proc/cpuinfo": "vendor_id : VirtualApple\nmodel name : VirtualApple @ 2.50GHz"},
            "VirtualApple VirtualApple @ 2.50GHz",
        ),
        ({"/proc/cpuinfo": "vendor_id : GenuineIntel\nflags : lm", ARCH: "x86_64"}, "none"),
        ({"/proc/cpuinfo": "vendor_id : GenuineIntel\nflags : lm", ARCH: "i686"}, "none"),  # 32-bit programs
        ({"/proc/cpuinfo": "CPU implementer : 0x41\nCPU architecture: 8", ARCH: "armv8l"}, "none"),
        ({ARCH: "x86_64"}, "none"),
        ({"/proc/cpuinfo": "CPU implementer : 0x41\nCPU architecture: 8"}, None),  # of which programs nothing is known
    ],
)
def test_programs_of_another_architecture_than_the_processor_are_emulated(tmp_path, tree, emulation) -> None:
    machine = describe(record(tmp_path, tree))
    assert value(machine, "emulation") == emulation
    if emulation in (None, "none"):
        assert not any("emulat" in note for note in machine.notes)
    else:
        (note,) = (note for note in machine.notes if "emulat" in note)
        assert note.endswith("All figures are those of the emulator.")


HYBRID = {"/sys/devices/cpu_core/cpus": "0-3", "/sys/devices/cpu_atom/cpus": "4-7"}
CAPACITIES = {f"/sys/devices/system/cpu/cpu{n}/cpu_capacity": str(1024 if n < 2 else 446) for n in range(8)}


@pytest.mark.parametrize(
    ("tree", "kinds"),
    [
        (HYBRID, ((0, 1, 2, 3), (4, 5, 6, 7))),
        (
            {**HYBRID, "/sys/devices/cpu_atom/cpus": "4", "/sys/devices/cpu_lowpower/cpus": "6-7"},
            ((0, 1, 2, 3), (4,), (6, 7)),
        ),
        (CAPACITIES, ((0, 1), (2, 3, 4, 5, 6, 7))),
        (dict.fromkeys(CAPACITIES, "1024"), ()),
        ({"/sys/devices/cpu_core/cpus": "0-7"}, ()),
        ({}, ()),
    ],
)
def test_the_kinds_of_cores_are_those_of_all_processors_of_the_machine(tmp_path, tree, kinds) -> None:
    online = {"/sys/devices/system/cpu/online": "0-7", "/proc/self/status": "Cpus_allowed_list:\t4-7"}
    machine = describe(record(tmp_path, {**online, **tree}))
    assert machine.core_kinds == kinds


ARM = {"/proc/cpuinfo": "Features : fp asimd"}
VIRTIO = {"/sys/bus/virtio/devices/virtio0/vendor": "0x1af4"}


@pytest.mark.parametrize(
    ("maker", "product", "more", "hypervisor"),
    [
        ("Amazon EC2", "c7g.metal", {}, "none"),
        ("Amazon EC2", "c7g.large", {}, "KVM (Amazon EC2)"),
        ("Hetzner", "vServer", VIRTIO, "unnamed"),
        ("Parallels International GmbH.", "Parallels ARM Virtual Machine", {}, "Parallels"),
        ("Apple Inc.", "Apple Virtualization Generic Platform", VIRTIO, "Apple Virtualization"),
        ("GIGABYTE", "R272-P30-JG", {}, "none"),
        ("Example", "DPU host", {**VIRTIO, "/sys/devices/system/cpu/cpufreq/policy0/scaling_driver": "cppc"}, "none"),
    ],
)
def test_an_arm_machine_is_a_guest_only_with_a_proof(tmp_path, maker, product, more, hypervisor) -> None:
    names = {"/sys/class/dmi/id/sys_vendor": maker, "/sys/class/dmi/id/product_name": product}
    assert value(describe(record(tmp_path, {**ARM, **names, **more})), "hypervisor") == hypervisor


def test_the_kernel_of_windows_is_told_from_other_hypervisors(tmp_path) -> None:
    tree = {"/proc/sys/kernel/osrelease": "5.15.90.1-microsoft-standard-WSL2", "/proc/cpuinfo": "flags : hypervisor"}
    assert value(describe(record(tmp_path, tree)), "hypervisor") == "WSL2"
