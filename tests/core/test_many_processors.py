"""Machines with more than 1,024 processors, of two kinds of cores, and guests that tell no topology."""

import subprocess

import pytest

from folders import ROOT
from native import linked
from recorded import Tree, described
from steelyard.measure.machine.cpulist import format_cpu_list, parse_cpu_list, readable_cpu_mask
from steelyard.measure.machine.placement import place
from steelyard.model import Machine

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"


def mask(cpus: list[int]) -> str:
    """The kernel's form of a mask: words of 32 bits, the highest first."""
    digits = f"{sum(1 << cpu for cpu in cpus):x}"
    digits = digits.zfill(-(-len(digits) // 8) * 8)
    return ",".join(digits[at : at + 8] for at in range(0, len(digits), 8))


def large(sockets: int, cores: int) -> Tree:
    """A machine with two threads a core, numbered as Linux does: first one thread of every core, then the others."""
    half = sockets * cores
    tree = {f"{CPU}/online": f"0-{2 * half - 1}", "/proc/meminfo": f"MemTotal: {sockets << 30} kB"}
    tree["/proc/cpuinfo"] = "processor : 0\nvendor_id : GenuineIntel\nmodel name : Intel(R) Xeon(R) Platinum 8490H"
    for socket in range(sockets):
        first = socket * cores
        package = [*range(first, first + cores), *range(half + first, half + first + cores)]
        tree[f"{NODE}/node{socket}/cpumap"] = mask(package)
        tree[f"{NODE}/node{socket}/distance"] = " ".join("10" if socket == other else "21" for other in range(sockets))
        tree[f"{NODE}/node{socket}/meminfo"] = f"Node {socket} MemTotal: {1 << 30} kB"
        for core in range(first, first + cores):
            pair = mask([core, half + core])
            for cpu in (core, half + core):
                topology, cache = f"{CPU}/cpu{cpu}/topology", f"{CPU}/cpu{cpu}/cache"
                tree |= {f"{topology}/physical_package_id": str(socket), f"{topology}/thread_siblings": pair}
                tree |= {f"{topology}/core_siblings": mask(package), f"{cache}/index0/shared_cpu_map": pair}
                tree |= {
                    f"{cache}/index0/level": "2",
                    f"{cache}/index0/type": "Unified",
                    f"{cache}/index0/size": "2048K",
                }
    return tree


def test_two_thousand_processors_have_their_sockets_cores_and_caches() -> None:
    machine = described(large(sockets=16, cores=64))
    assert len(machine.cpus) == 2048
    assert (len(machine.cores), {len(core.cpus) for core in machine.cores}) == (1024, {2})
    assert machine.cores[-1].cpus == (1023, 2047)
    assert sorted({core.socket for core in machine.cores}) == list(range(16))
    assert [len(node.cpus) for node in machine.nodes] == [128] * 16
    assert (len(machine.caches), machine.caches[-1].cpus) == (1024, (1023, 2047))
    assert place(machine, 2048, "compact") is not None
    assert place(machine, 2, "1500,2047") == (1500, 2047)


def test_a_mask_reads_as_the_list_of_the_same_processors() -> None:
    for cpus in ([0], [31, 32], [0, 63, 64, 1500], list(range(1792))):
        assert readable_cpu_mask(mask(cpus)) == tuple(cpus) == parse_cpu_list(format_cpu_list(cpus))
    assert readable_cpu_mask("00000000,00000000") == ()
    assert readable_cpu_mask("0x0000000f") == (0, 1, 2, 3)
    for text in ("", "0-3", "g", "00000001,", "0000000000000001", "1" + ",00000000" * 4096, None):
        assert readable_cpu_mask(text) is None


# A kernel for 4,096 processors: it refuses a set that is smaller than its own, as sched_getaffinity(2) says.
KERNEL = r"""
#include "processor_set.h"
#include <cerrno>
#include <cstdio>
#include <cstring>

static unsigned char allowed[512], pinned[512];
extern "C" int sched_getaffinity(pid_t, std::size_t size, cpu_set_t* set) noexcept {
  if (size < sizeof allowed) return errno = EINVAL, -1;
  std::memset(set, 0, size);
  std::memcpy(set, allowed, sizeof allowed);
  return 0;
}
extern "C" int sched_setaffinity(pid_t, std::size_t size, const cpu_set_t* set) noexcept {
  std::memset(pinned, 0, sizeof pinned);
  std::memcpy(pinned, set, size < sizeof pinned ? size : sizeof pinned);
  for (unsigned char byte : pinned)
    if (byte) return 0;
  return errno = EINVAL, -1;
}
int main() {
  for (int cpu : {3, 1023, 1024, 1500, 4095}) allowed[cpu / 8] |= 1 << cpu % 8;
  for (int cpu : steelyard::ProcessorSet::of_thread().list()) std::printf("%d ", cpu);
  steelyard::ProcessorSet one, none, beyond;
  one.add(1500);
  beyond.add(-1), beyond.add(1 << 20);
  std::printf("| %d", one.pin());
  for (int cpu = 0; cpu < 4096; ++cpu)
    if (pinned[cpu / 8] >> cpu % 8 & 1) std::printf(" %d", cpu);
  std::printf(" | %d %d", none.pin(), beyond.pin());
}
"""


def test_the_programs_pin_to_processors_beyond_1024(here: Machine) -> None:
    answer = subprocess.run([linked(here, KERNEL)], capture_output=True, text=True, check=True).stdout
    assert answer == "3 1023 1024 1500 4095 | 1 1500 | 0 0"


def test_no_program_of_ours_keeps_processors_in_a_set_of_fixed_size() -> None:
    source = ROOT / "src" / "steelyard"
    files = [path for path in source.rglob("*") if path.suffix in (".cpp", ".h") and path.name != "processor_set.h"]
    assert [path.name for path in files if "cpu_set_t" in path.read_text()] == []


def hybrid() -> Tree:
    """Intel's Core i7-1370P, as hwloc's tests list it: six cores of two threads, and eight small ones in groups of four."""
    tree = {f"{CPU}/online": "0-19", f"{CPU}/cpufreq/policy0/cpuinfo_max_freq": "5000000"}
    tree["/proc/cpuinfo"] = (
        "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 186\n"
        "model name : 13th Gen Intel(R) Core(TM) i7-1370P\nflags : lm pae fma avx2"
    )
    for cpu in range(20):
        core = f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}" if cpu < 12 else str(cpu)
        group = core if cpu < 12 else f"{12 + (cpu - 12) // 4 * 4}-{15 + (cpu - 12) // 4 * 4}"
        big = cpu < 12
        tree |= {f"{CPU}/cpu{cpu}/topology/{name}": value for name, value in (
            ("physical_package_id", "0"), ("core_siblings_list", "0-19"), ("thread_siblings_list", core))}  # fmt: skip
        for index, (level, kind, size, cpus) in enumerate((
            ("1", "Data", "48K" if big else "32K", core), ("1", "Instruction", "32K" if big else "64K", core),
            ("2", "Unified", "1280K" if big else "2048K", group), ("3", "Unified", "24576K", "0-19"))):  # fmt: skip
            folder = f"{CPU}/cpu{cpu}/cache/index{index}"
            tree |= {f"{folder}/level": level, f"{folder}/type": kind, f"{folder}/size": size}
            tree[f"{folder}/shared_cpu_list"] = cpus
    return tree


def test_cores_of_two_kinds_keep_their_threads_and_caches() -> None:
    machine = described(hybrid())
    assert (len(machine.cores), len(machine.cpus), len({core.socket for core in machine.cores})) == (14, 20, 1)
    assert [len(core.cpus) for core in machine.cores] == [2] * 6 + [1] * 8
    second = [(cache.size >> 10, len(cache.cpus)) for cache in machine.caches if cache.level == 2]
    assert second == [(1280, 2)] * 6 + [(2048, 4)] * 2
    assert machine.fma_width is None
    assert any("two kinds" in note for note in machine.notes)


def test_clusters_of_an_arm_board_are_one_socket_by_its_device_tree() -> None:
    tree = {f"{CPU}/online": "0-7", "/proc/cpuinfo": "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd03"}
    for cpu in range(8):
        tree[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = str(cpu // 4)
        tree[f"{CPU}/cpu{cpu}/topology/core_siblings_list"] = "0-3" if cpu < 4 else "4-7"
        tree[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = str(cpu)
    assert len({core.socket for core in described(tree).cores}) == 2
    clusters = {f"/sys/firmware/devicetree/base/cpus/cpu-map/cluster{n}/core0/cpu": "" for n in (0, 1)}
    assert {core.socket for core in described(tree | clusters).cores} == {0}
    sockets = {f"/sys/firmware/devicetree/base/cpus/cpu-map/socket{n}/cluster0/core0/cpu": "" for n in (0, 1)}
    assert {core.socket for core in described(tree | sockets).cores} == {0, 1}
    # Big and little cores are never in two sockets.
    mixed = {"/proc/cpuinfo": tree["/proc/cpuinfo"] + "\n\nprocessor : 4\nCPU implementer : 0x41\nCPU part : 0xd08"}
    machine = described(tree | mixed)
    assert {core.socket for core in machine.cores} == {0}
    assert (machine.processor, machine.vendor) == ("Arm Cortex-A53 + Cortex-A72", "Arm")


def test_a_guest_without_topology_has_a_core_for_each_processor() -> None:
    text = "\n\n".join(f"processor : {cpu}\nvendor_id : AuthenticAMD\nmodel name : AMD EPYC 7763" for cpu in range(3))
    machine = described({"/proc/cpuinfo": text})
    assert [core.cpus for core in machine.cores] == [(0,), (1,), (2,)]
    assert ({core.socket for core in machine.cores}, machine.processor) == ({0}, "AMD EPYC 7763")
    assert any("counts each hardware thread as a core" in note for note in machine.notes)


def test_siblings_beyond_the_package_do_not_join_sockets() -> None:
    tree = {f"{CPU}/online": "0-3", "/proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel"}
    for cpu in range(4):
        tree[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = str(cpu // 2)
        tree[f"{CPU}/cpu{cpu}/topology/core_siblings_list"] = "0-3"
        tree[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = str(cpu)
    assert [core.socket for core in described(tree).cores] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("cpuinfo", "name", "architecture"),
    [
        ("vendor_id : GenuineIntel\nmodel name : Pentium III\nflags : fpu pse pae", "Pentium III", "i686"),
        ("vendor_id : AuthenticAMD\nmodel name : AMD EPYC\nflags : fpu pse pae lm", "AMD EPYC", "x86_64"),
        ("cpu : POWER10, altivec supported\nrevision : 2.0 (pvr 0080 0200)", "POWER10, altivec supported", "ppc64"),
        ("cpu : PPC970MP, altivec supported\nrevision : 1.1 (pvr 0044 0101)", "PPC970MP, altivec supported", "ppc64"),
        ("cpu : e500v2\nrevision : 5.1 (pvr 8021 1051)", "e500v2", "ppc"),
        ("CPU Family : Loongson-64bit\nModel Name : Loongson-3C5000", "Loongson-3C5000", "loongarch64"),
        ("system type : lemote-3a\ncpu model : ICT Loongson-3 V0.9 FPU V0.1", "ICT Loongson-3 V0.9 FPU V0.1", "mips"),
        ("cpu : Alpha\ncpu model : EV67", "EV67", "alpha"),
        ("cpu family : PA-RISC 2.0\ncpu : PA8900 (Shortfin)", "PA8900 (Shortfin)", "parisc"),
        ("processor : 0\nhart : 0\nisa : rv64imafdcv\nuarch : thead,c910", "thead,c910", "riscv64"),
        ("cpu : UltraSparc T5 (Niagara5)\ntype : sun4v", "UltraSparc T5 (Niagara5)", "sparc64"),
        ("vendor_id : IBM/S390\nprocessor 0: version = 00,  identification = 1,  machine = 8561", "IBM/S390 8561", "s390x"),
        ("vendor : GenuineIntel\narch : IA-64\nfamily : Itanium 2", "Itanium 2", "ia64"),
        ("Processor : ARMv6\nCPU implementer : 0x41\nCPU architecture: 7\nCPU part : 0xb76", "Arm ARM1176", "armv7l"),
        ("CPU implementer : 0x48\nCPU architecture: 8\nCPU part : 0xfff", "implementer 0x48 part 0xfff", "aarch64"),
        ("CPU implementer : 0x6d\nCPU architecture: 8\nCPU part : 0xd49", "Microsoft Azure Cobalt 100", "aarch64"),
        ("CPU implementer : 0x61\nCPU part : 0x022\nCPU part : 0x023", "Apple Icestorm (M1) + Firestorm (M1)", "aarch64"),
    ],
)  # fmt: skip
def test_the_name_and_the_architecture_stand_under_each_architectures_own_keys(
    cpuinfo: str, name: str, architecture: str
) -> None:
    machine = described({"/proc/cpuinfo": cpuinfo})
    assert (machine.processor, machine.architecture) == (name, architecture)
