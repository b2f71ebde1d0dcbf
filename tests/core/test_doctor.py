"""Tests of the doctor: each rule sees what spoils a measurement, says why, and names a command to paste."""

from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.judge.findings.doctor import Advice, examine
from steelyard.measure.machine import describe
from steelyard.measure.machine.memory_modules import FOR_ROOT
from steelyard.model import Core, Machine, MemoryModule, NumaNode, Setting, Tool

GIB = 1 << 30
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

QUIET = {
    "governor": "performance",
    "frequency_driver": "intel_pstate",
    "frequency_max": "3.20 GHz",
    "frequency_hardware_max": "3.20 GHz",
    "turbo": "off",
    "smt": "off",
    "isolated_cpus": "none",
    "hypervisor": "none",
    "emulation": "none",
    "mitigations": "none needed",
    "clock_source": "tsc",
    "clock_sources_offered": "tsc hpet",
    "transparent_huge_pages": "madvise",
    "huge_pages_2MiB": "1024",
    "numa_balancing": "off",
    "swap_used": "none",
    "perf_event_paranoid": "1",
    "address_randomisation": "2",
    "load_average": "0.05 0.10 0.20",
    "cpu_quota": "none",
    "memory_limit": "none",
    "online_cpus": "0-7",
    "container": "none",
    "distribution": "Debian GNU/Linux 12 (bookworm)",
}


def module(slot: str, channel: str | None, gibibytes: int = 16) -> MemoryModule:
    return MemoryModule(slot, gibibytes * GIB, "DDR4", 3.2e9, channel)


def quiet_machine(**changed: str | None) -> Machine:
    """A machine with nothing to complain about, but for the settings given: value, or "value @ source"."""
    settings = []
    for name, value in (QUIET | changed).items():
        told, _, source = (value or "").partition(" @ ")
        settings.append(Setting(name, None, source, "hidden") if value is None else Setting(name, told, source))
    return Machine(
        system="quiet",
        host="quiet",
        processor="any",
        vendor="any",
        architecture="x86_64",
        cores=tuple(Core(i, i // 4, i // 4, (i,)) for i in range(8)),
        nodes=tuple(NumaNode(i, tuple(range(4 * i, 4 * i + 4)), 32 * GIB, (10, 21)) for i in range(2)),
        caches=(),
        cpus=tuple(range(8)),
        cpu_quota=None,
        memory=64 * GIB,
        memory_available=60 * GIB,
        modules=tuple(module(f"DIMM_{letter}1", f"channel {letter}") for letter in "ABCD"),
        fma_width=8,
        fma_units=2,
        settings=tuple(settings),
        compilers=(Tool("g++", "/usr/bin/g++", "g++ 12.2.0"),),
        mpis=(),
        mpi_settings=(),
    )


def advice(machine: Machine, name: str) -> Advice:
    return next(found for found in examine(machine) if found.name == name)


def test_nothing_is_found_on_a_quiet_machine() -> None:
    assert {found.level for found in examine(quiet_machine())} == {"fine"}


@pytest.mark.parametrize(
    ("name", "changed", "level", "command"),
    [
        (
            "governor",
            {"governor": "powersave", "frequency_driver": "acpi-cpufreq"},
            "serious",
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        ),
        (
            "governor",
            {"governor": "performance (cpus 0-3), powersave (cpus 4-7)"},
            "notice",
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        ),
        (
            "frequency limit",
            {"frequency_max": "2.00 GHz"},
            "notice",
            "for c in /sys/devices/system/cpu/cpu*/cpufreq; do sudo cp $c/cpuinfo_max_freq $c/scaling_max_freq; done",
        ),
        ("turbo", {"turbo": "on @ /x/no_turbo"}, "notice", "echo 1 | sudo tee /x/no_turbo"),
        ("turbo", {"turbo": "on @ /x/boost"}, "notice", "echo 0 | sudo tee /x/boost"),
        ("smt", {"smt": "on"}, "notice", "echo off | sudo tee /sys/devices/system/cpu/smt/control"),
        (
            "transparent huge pages",
            {"transparent_huge_pages": "never @ /thp"},
            "notice",
            "echo madvise | sudo tee /thp",
        ),
        ("reserved huge pages", {"huge_pages_2MiB": "0 @ /nr"}, "notice", "echo 1024 | sudo tee /nr"),
        ("numa balancing", {"numa_balancing": "on"}, "serious", "sudo sysctl kernel.numa_balancing=0"),
        ("swap", {"swap_used": "2.00 GiB"}, "notice", "sudo swapoff -a && sudo swapon -a"),
        (
            "performance counters",
            {"perf_event_paranoid": "4"},
            "notice",
            "sudo sysctl kernel.perf_event_paranoid=2",
        ),
        ("clock source", {"clock_source": f"hpet @ {CLOCK}"}, "serious", f"echo tsc | sudo tee {CLOCK}"),
        ("clock source", {"clock_source": f"kvm-clock @ {CLOCK}"}, "notice", f"echo tsc | sudo tee {CLOCK}"),
        (
            "clock source",
            {"clock_source": "hpet", "clock_sources_offered": "hpet acpi_pm"},
            "serious",
            "sudo dmesg | grep -i tsc",
        ),
        ("mitigations", {"mitigations": "mitigated: spectre_v2"}, "notice", ""),
        ("hypervisor", {"hypervisor": "KVM"}, "notice", ""),
        ("hypervisor", {"hypervisor": "WSL2"}, "notice", ""),
        ("emulation", {"emulation": "x86_64 programs on aarch64"}, "serious", ""),
        ("load", {"load_average": "0.90 0.10 0.00"}, "notice", "top -o %CPU"),
        ("load", {"load_average": "4.00 0.10 0.00"}, "serious", "top -o %CPU"),
        ("isolated processors", {"isolated_cpus": "6-7"}, "notice", ""),
    ],
)
def test_a_setting_that_spoils_is_named_with_the_command_that_changes_it(
    name: str, changed: dict[str, str | None], level: str, command: str
) -> None:
    found = advice(quiet_machine(**changed), name)
    assert (found.level, found.command) == (level, command)
    assert found.remedy
    told = next(iter(changed.values())) or ""
    assert found.root == ("sudo" in command or name == "mitigations")
    if name not in ("smt", "turbo", "reserved huge pages"):
        shown = told.partition(" @ ")[0].split(" ")[0].lower()
        assert shown.rstrip("0123456789").rstrip(".") in found.seen.lower()


@pytest.mark.parametrize(
    "name",
    [
        "governor", "turbo", "smt", "transparent_huge_pages", "huge_pages_2MiB", "numa_balancing",
        "swap_used", "perf_event_paranoid", "clock_source", "mitigations", "hypervisor", "emulation",
        "load_average", "isolated_cpus", "cpu_quota", "memory_limit", "online_cpus",
        "address_randomisation", "frequency_max",
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_unknown_and_never_fine(name: str) -> None:
    found = [one for one in examine(quiet_machine(**{name: None})) if one.level != "fine"]
    assert [one.level for one in found] == ["unknown"]
    assert "hidden" in found[0].seen


def test_a_quota_is_serious_and_lifted_in_the_file_that_sets_it() -> None:
    path = "/sys/fs/cgroup/jobs/cpu.max"
    machine = replace(quiet_machine(cpu_quota=f"1.5 cores @ {path}"), cpu_quota=1.5)
    found = advice(machine, "processor quota")
    assert (found.level, found.command) == ("serious", f"echo max | sudo tee {path}")
    assert "to that of 1.5 of " in found.seen
    assert "at most 1 of" in found.remedy
    old = replace(quiet_machine(cpu_quota="1.5 cores @ /g/cpu.cfs_quota_us"), cpu_quota=1.5)
    assert advice(old, "processor quota").command == "echo -1 | sudo tee /g/cpu.cfs_quota_us"


def test_a_memory_limit_is_shown_in_bytes_that_people_read() -> None:
    found = advice(quiet_machine(memory_limit=f"{8 * GIB} B @ /g/memory.max"), "memory limit")
    assert (found.level, found.command) == ("notice", "echo max | sudo tee /g/memory.max")
    assert "8 GiB" in found.seen


@pytest.mark.parametrize("limit", [64 * GIB, 65 * GIB, 4096 * GIB])
def test_a_memory_limit_that_is_not_below_the_memory_is_fine(limit: int) -> None:
    machine = quiet_machine(memory_limit=f"{limit} B @ /g/memory.max")
    assert advice(machine, "memory limit").level == "fine"
    assert advice(replace(machine, memory=48 * GIB, nodes=()), "memory limit").level == "fine"
    lower = quiet_machine(memory_limit=f"{limit // 128} B @ /g/memory.max")
    assert advice(replace(lower, memory=limit // 128), "memory limit").level == "notice"


def test_a_quota_of_as_many_processors_as_there_are_is_fine() -> None:
    machine = quiet_machine(cpu_quota="8 cores @ /g/cpu.max")
    levels = [advice(replace(machine, cpu_quota=q), "processor quota").level for q in (7.5, 8.0, 64.0)]
    assert levels == ["serious", "fine", "fine"]


@pytest.mark.parametrize(
    ("processors", "average", "level"),
    [
        (256, 0.62, "fine"), (1024, 3.07, "fine"), (256, 2.9, "notice"), (256, 130.0, "serious"), (2, 0.29, "fine"),
        (2, 0.31, "notice"), (1, 1.0, "serious"),
    ],
)  # fmt: skip
def test_a_load_average_is_judged_by_the_number_of_processors(processors: int, average: float, level: str) -> None:
    cores = tuple(Core(i, 0, 0, (i,)) for i in range(processors))
    machine = replace(quiet_machine(load_average=f"{average:.2f} 0 0"), cores=cores, cpus=(0,))
    assert advice(machine, "load").level == level
    assert f"on {processors} processor{'s' * (processors > 1)}." in advice(machine, "load").seen


def test_a_part_of_the_processors_is_told_from_the_whole() -> None:
    found = advice(replace(quiet_machine(), cpus=(0, 1, 2)), "allowed processors")
    assert found.level == "notice"
    assert "3 of 8 processors (0-2)" in found.seen


def test_isolated_processors_out_of_reach_are_reached_by_taskset() -> None:
    machine = replace(quiet_machine(isolated_cpus="6-7"), cpus=(0, 1, 2, 3, 4, 5))
    found = advice(machine, "isolated processors")
    assert found.command == "taskset -c 0-7 steelyard run"
    assert "may use none of them" in found.seen


def test_balancing_matters_only_with_several_nodes() -> None:
    machine = quiet_machine(numa_balancing="on")
    assert advice(replace(machine, nodes=machine.nodes[:1]), "numa balancing").level == "fine"


def test_memory_on_one_channel_is_serious_and_uneven_channels_are_noticed() -> None:
    machine = quiet_machine()
    one = replace(machine, modules=(module("DIMM_A1", "channel A"), module("DIMM_A2", "channel A")))
    assert advice(one, "memory channels").level == "serious"
    assert advice(replace(machine, modules=(module("A1", None),)), "memory channels").level == "serious"
    uneven = replace(machine, modules=(module("DIMM_A1", "channel A", 32), module("DIMM_B1", "channel B", 16)))
    assert advice(uneven, "memory channels").level == "notice"
    unnamed = replace(machine, modules=(module("A1", None), module("A2", None)))
    assert advice(unnamed, "memory channels").seen.startswith("2 modules (")


def test_modules_that_only_root_can_read_are_unknown() -> None:
    known = Setting("memory_modules", FOR_ROOT, "/sys/firmware/dmi/tables/DMI")
    quiet = quiet_machine()
    found = advice(replace(quiet, modules=(), settings=(*quiet.settings, known)), "memory channels")
    assert (found.level, found.root) == ("unknown", True)
    assert found.command == 'sudo "$(command -v steelyard)" doctor'
    bare = advice(replace(quiet_machine(), modules=()), "memory channels")
    assert (bare.level, bare.command) == ("unknown", "")


@pytest.mark.parametrize(
    ("container", "seen"),
    [("Docker", "runs in a container (Docker)."), ("unnamed", "runs in a container."), ("none", "does not run in a")],
)
def test_a_container_is_named_with_what_it_hides(container: str, seen: str) -> None:
    found = advice(replace(quiet_machine(container=container), modules=()), "container")
    assert seen in found.seen
    assert found.level == ("fine" if container == "none" else "notice")
    assert ("The memory modules are hidden" in found.seen) == (container != "none")


@pytest.mark.parametrize(
    ("distribution", "command"),
    [
        ("Debian GNU/Linux 12 (bookworm)", "sudo apt-get install g++"),
        ("Rocky Linux 9.4 (Blue Onyx)", "sudo dnf install gcc-c++"),
        ("openSUSE Leap 15.6", "sudo zypper install gcc-c++"),
        ("Alpine Linux v3.22", "sudo apk add g++"),
        ("Arch Linux", "sudo pacman -S gcc"),
        ("Something of our own", ""),
    ],
)
def test_a_missing_compiler_is_serious_with_the_install_command(distribution: str, command: str) -> None:
    found = advice(replace(quiet_machine(distribution=distribution), compilers=()), "compiler")
    assert (found.level, found.command, found.root) == ("serious", command, bool(command))
    assert "g++" in found.remedy


def test_serious_advice_comes_first_and_every_name_once() -> None:
    machine = replace(quiet_machine(turbo="on", numa_balancing="on", governor=None), compilers=())
    levels = [found.level for found in examine(machine)]
    assert levels == sorted(levels, key=["serious", "notice", "unknown", "fine"].index)
    assert levels[:2] == ["serious", "serious"]
    names = [found.name for found in examine(machine)]
    assert len(names) == len(set(names))


def test_a_machine_that_tells_nothing_is_examined_without_a_claim(tmp_path: Path) -> None:
    found = {one.name: one.level for one in examine(describe(tmp_path))}
    assert found.pop("compiler") == "serious"
    assert set(found.values()) == {"unknown"}


def test_the_real_machine_is_examined_in_whole_sentences() -> None:
    for found in examine(describe()):
        assert found.seen.endswith((".", ")"))
        assert found.why.endswith(".")
        assert not found.command.startswith("sudo") or found.root
