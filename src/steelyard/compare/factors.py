"""The factors of a comparison: conditions that change together by nature, so that they count as one possible cause."""

import re
from dataclasses import dataclass
from typing import Literal, get_args

from steelyard.compare.surroundings import NETWORK

Group = Literal["machine", "setting", "toolchain", "MPI", "kernel", "firmware", "version", "case"]
GROUPS: tuple[Group, ...] = get_args(Group)  # in the order in which they are listed


@dataclass(frozen=True, slots=True)
class Nature:
    """A factor, and the conditions and parameters of cases that belong to it; the first one names its value.

    `follows` names the factors that bring a change of this one along: if one of them differs, this one is a part of it.
    `is_fixed`: a part of the machine, so no run changes it. A factor without `is_root` is never a cause of its own.
    """

    name: str
    group: Group
    conditions: tuple[str, ...]
    follows: tuple[str, ...] = ()
    is_fixed: bool = False
    is_root: bool = True


HARDWARE = ("processor", "hypervisor")
SHARES = (
    "processor", "number of cores", "number of usable processors", "SMT setting", "sub-NUMA clustering", "memory nodes",
)  # fmt: skip

NATURES = (
    Nature("processor", "machine", ("processor", "architecture"), is_fixed=True),
    Nature("hypervisor", "machine", ("hypervisor",), is_fixed=True),
    Nature("system model", "machine", ("product",), HARDWARE, is_fixed=True),
    Nature("number of cores", "machine", ("cores", "sockets"), ("processor",), is_fixed=True),
    Nature("cache sizes", "machine", (), ("processor", "sub-NUMA clustering"), is_fixed=True),
    Nature("memory", "machine", ("memory modules", "memory", "memory_limit"), is_fixed=True),
    Nature("memory nodes", "machine", ("memory nodes",), ("processor", "number of cores", "sub-NUMA clustering")),
    Nature("network", "machine", (), is_fixed=True),
    Nature("number of usable processors", "machine", ("processors that may be used", "processor quota", "cpu_quota")),
    Nature(
        "page size", "setting",
        ("page_size", "transparent_huge_pages", "transparent_huge_pages_defrag", "huge_pages_2MiB", "huge_pages_1GiB"),
    ),
    Nature("governor", "setting", ("governor", "energy_preference")),
    Nature(
        "clock range", "setting", ("frequency_max", "frequency_min", "frequency_nominal", "frequency_hardware_max"),
        (*HARDWARE, "turbo setting", "governor"),
    ),
    Nature("power management", "setting", ("idle_driver", "frequency_driver"), (*HARDWARE, "kernel")),
    Nature("clock source", "setting", ("clock_source",), (*HARDWARE, "kernel")),
    Nature("isolation of processors", "setting", ("isolated_cpus", "tickless_cpus")),
    Nature("migration of memory", "setting", ("numa_balancing", "zone_reclaim")),
    Nature("mitigations", "setting", ("mitigations",), (*HARDWARE, "kernel", "firmware version")),
    Nature("address randomisation", "setting", ("address_randomisation",)),
    Nature("compiler", "toolchain", ("toolchain",)),
    Nature("MPI", "MPI", ("mpi",)),
    Nature("configuration of the MPI", "MPI", ("configuration of the MPI",), ("MPI",)),
    Nature("launcher", "MPI", ("launcher", "launcher options")),
    Nature("kernel", "kernel", ("kernel",)),
    Nature("operating system", "kernel", ("distribution", "libc")),
    Nature("turbo setting", "firmware", ("turbo",)),
    Nature("SMT setting", "firmware", ("smt",)),
    Nature("sub-NUMA clustering", "firmware", ("sub_numa_clustering",)),
    Nature("firmware version", "firmware", ("firmware", "microcode"), (*HARDWARE, "system model")),
    Nature("version of Steelyard", "version", ("steelyard",)),
    # Conditions that follow from the machine, and are no causes of their own.
    Nature("number of threads", "case", ("threads", "ranks", "ranks_per_node"), SHARES),
    Nature("placement", "case", ("placement", "pinning", "memory_policy", "partner", "mapping"), (*SHARES, "number of threads")),
    Nature("vectors", "case", ("vectors", "vector_width"), ("processor",)),
    Nature("limits and instances", "machine", ("online_cpus",), (*SHARES, "cache sizes", "memory"), is_root=False),
)  # fmt: skip
BY_NAME = {nature.name: nature for nature in NATURES}
BY_CONDITION = {condition: nature for nature in NATURES for condition in nature.conditions}

# Conditions that change from run to run, or cannot change a result.
WITHOUT_EFFECT = (
    "system", "host", "swap", "overcommit", "perf_event_paranoid", "performance_counters", "python", "clock_sources_offered",
    "control_groups",
)  # fmt: skip
GROUPS_WITHOUT_EFFECT = ("toolchain", "plan")  # of the installed compilers and MPIs, cases have the used ones
ONLY_WITH_MEMORY_NODES = "migration of memory"

# Words of the kernel's command line: without effect on results, and those of a factor.
HARMLESS = re.compile(
    r"BOOT_IMAGE|root\w*|initrd|r[ow]|quiet|splash|rhgb|console|earlyprintk|rd\..*|resume|crashkernel|panic|reboot|"
    r"loglevel|vt\..*|net\.ifnames|biosdevname|systemd\..*|LANG|init|rdinit|-*"
)
OPTIONS = {
    **dict.fromkeys(("isolcpus", "nohz_full", "rcu_nocbs"), "isolation of processors"),
    **dict.fromkeys(("mitigations", "nopti"), "mitigations"),
    **dict.fromkeys(("transparent_hugepage", "hugepages", "hugepagesz", "default_hugepagesz"), "page size"),
    "numa_balancing": "migration of memory",
    "nosmt": "SMT setting",
    **dict.fromkeys(("clocksource", "tsc"), "clock source"),
    **dict.fromkeys(("idle", "intel_idle.max_cstate", "processor.max_cstate"), "power management"),
    **dict.fromkeys(("intel_pstate", "amd_pstate"), "power management"),
    "norandmaps": "address randomisation",
    **dict.fromkeys(("maxcpus", "nr_cpus"), "number of cores"),
    "mem": "memory",
}


def find_nature(group: str, condition: str) -> Nature | None:
    """Returns the factor to which a condition of a run belongs; None if it cannot change a result.

    A condition that no factor names is a factor of its own.
    """
    if condition.startswith("variant "):  # two variants of one name with different meanings
        return Nature(condition, "case", (condition,))
    if group == NETWORK:
        return BY_NAME["network"]
    if group in GROUPS_WITHOUT_EFFECT or condition in WITHOUT_EFFECT:
        return None
    if condition.startswith("limit of "):
        return BY_NAME["limits and instances"]
    known: Group = next((name for name in GROUPS if name == group), "setting")
    return BY_CONDITION.get(condition) or Nature(condition.replace("_", " "), known, (condition,))


def find_option_nature(word: str) -> Nature | None:
    """Returns the factor to which an option of the kernel's command line belongs ("isolcpus=1-3"); None if it has no effect."""
    name = word.partition("=")[0]
    if HARMLESS.fullmatch(name):
        return None
    return BY_NAME[OPTIONS[name]] if name in OPTIONS else Nature("kernel options", "kernel", ())
