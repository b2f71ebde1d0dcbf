"""The cause of differences: one factor that differs is named, several are called confounded, on recorded machines."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import pytest

from builders import chase, evaluation, message, triad
from folders import DATA
from recorded import described, read_machine
from steelyard.compare.cause import Cause, find_cause, find_cause_of_runs
from steelyard.compare.factors import NATURES
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import Side, SideRun
from steelyard.compare.surroundings import list_facts
from steelyard.model import Evaluation, Machine, MemoryModule, Result, Scalar, Setting

FOLDER = DATA / "machines"
NAMES = sorted(path.stem for path in FOLDER.iterdir())
CASES = (triad(1e10), triad(2e10, threads=2), chase(1e-7), message(1e-6, 8))
VERSIONS = {"steelyard": "0.1.0", "python": "3.11.7", "kernel": "6.1.0-13-amd64"}


@cache
def recorded_machine(name: str) -> Machine:
    """A recorded machine with the settings that a running system has, so that each may differ."""
    tree, _ = read_machine((FOLDER / f"{name}.txt").read_text())
    machine = described(tree)
    known = {
        "kernel": VERSIONS["kernel"], "microcode": "0x100", "firmware": "1.2", "product": "Example 100",
        "distribution": "Debian 12", "libc": "glibc 2.36", "turbo": "on", "smt": "off", "governor": "performance",
        "transparent_huge_pages": "madvise", "huge_pages_2MiB": "0", "numa_balancing": "off", "mitigations": "none needed",
        "clock_source": "tsc", "isolated_cpus": "none", "address_randomisation": "2", "frequency_max": "3.00 GHz",
        "kernel_command_line": "BOOT_IMAGE=/vmlinuz-6.1.0-13 root=/dev/sda1 ro quiet", "load_average": "0.1 0.1 0.1",
        "hypervisor": "none", "idle_driver": "acpi_idle", "huge_pages_2MiB_free": "0", "swap_used": "none",
    }  # fmt: skip
    modules = (MemoryModule("A1", 16 << 30, "DDR4", 3.2e9),)
    return with_settings(replace(machine, modules=modules, host="node-1"), **known)


def with_settings(machine: Machine, **values: str) -> Machine:
    others = [s for s in machine.settings if s.name not in values]
    return replace(machine, settings=(*others, *(Setting(name, value, "/") for name, value in values.items())))


@dataclass(frozen=True)
class Conditions:
    machine: Machine
    versions: Mapping[str, str] = field(default_factory=lambda: VERSIONS)
    parameters: Mapping[str, Scalar] = field(default_factory=dict)

    def evaluated(self, name: str) -> Evaluation:
        results = [replace(r, parameters={**r.parameters, **self._of(r)}) for r in CASES]
        return evaluation(results, self.machine, versions=self.versions, id=name)

    def _of(self, result: Result) -> Mapping[str, Scalar]:
        return {k: v for k, v in self.parameters.items() if k == "toolchain" or k in result.parameters}

    def set(self, **values: str) -> "Conditions":
        return replace(self, machine=with_settings(self.machine, **values))


def fewer_processors(c: Conditions) -> Conditions:
    few = c.machine.cpus[: max(1, len(c.machine.cpus) // 2)]
    return replace(c, machine=replace(c.machine, cpus=few))


def without_smt(c: Conditions) -> Conditions:
    cores = tuple(replace(core, cpus=core.cpus[:1]) for core in c.machine.cores)
    cpus = tuple(cpu for core in cores for cpu in core.cpus)
    online = f"{cpus[0]}-{cpus[-1]}, without SMT"
    return replace(c, machine=replace(c.machine, cores=cores, cpus=cpus)).set(smt="on", online_cpus=online)


def clustered(c: Conditions) -> Conditions:
    half = max((x.size for x in c.machine.caches if x.level == 3), default=2) // 2
    caches = tuple(replace(x, size=half) if x.level == 3 else x for x in c.machine.caches)
    nodes = (*c.machine.nodes, replace(c.machine.nodes[-1], number=99))
    clustering = "2 memory nodes in a socket, split again"
    return replace(c, machine=replace(c.machine, nodes=nodes, caches=caches)).set(sub_numa_clustering=clustering)


def another_processor(c: Conditions) -> Conditions:
    cores = (*c.machine.cores, replace(c.machine.cores[-1], number=999, cpus=(999,)))
    caches = tuple(replace(x, size=2 * x.size) for x in c.machine.caches)
    other = replace(c.machine, processor="Example 9000", cores=cores, caches=caches, cpus=(*c.machine.cpus, 999))
    return replace(c, machine=other).set(
        microcode="0x900", firmware="9", mitigations="mitigated: x", frequency_max="9 GHz"
    )


def other_kernel(c: Conditions) -> Conditions:
    newer = "6.12.0-1-amd64"
    line = f"BOOT_IMAGE=/vmlinuz-{newer} root=/dev/sdb1 ro"
    changed = c.set(kernel=newer, kernel_command_line=line, mitigations="mitigated: new", idle_driver="haltpoll")
    return replace(changed, versions={**c.versions, "kernel": newer})


def isolated(c: Conditions) -> Conditions:
    line = "BOOT_IMAGE=/vmlinuz-6.1.0-13 root=/dev/sda1 ro quiet isolcpus=1"
    return c.set(isolated_cpus="1", kernel_command_line=line)


def modules(c: Conditions) -> Conditions:
    faster = (MemoryModule("A1", 32 << 30, "DDR5", 4.8e9),)
    return replace(c, machine=replace(c.machine, modules=faster, memory=2 * c.machine.memory + (1 << 30)))


def parameter(**values: Scalar) -> Callable[[Conditions], Conditions]:
    return lambda c: replace(c, parameters={**c.parameters, **values})


CHANGES: dict[str, Callable[[Conditions], Conditions]] = {
    "processor": another_processor,
    "memory": modules,
    "number of usable processors": fewer_processors,
    "page size": parameter(page_size="huge"),
    "governor": lambda c: c.set(governor="powersave"),
    "clock range": lambda c: c.set(frequency_max="2.00 GHz"),
    "clock source": lambda c: c.set(clock_source="hpet"),
    "isolation of processors": isolated,
    "mitigations": lambda c: c.set(mitigations="vulnerable: meltdown", kernel_command_line="ro mitigations=off"),
    "address randomisation": lambda c: c.set(address_randomisation="0"),
    "compiler": parameter(toolchain="clang-14.0.6"),
    "MPI": parameter(mpi="mpich-5.0.2"),
    "kernel": other_kernel,
    "kernel options": lambda c: c.set(kernel_command_line="ro iommu=pt"),
    "operating system": lambda c: c.set(distribution="Debian 13", libc="glibc 2.41"),
    "turbo setting": lambda c: c.set(turbo="off", frequency_max="2.00 GHz"),
    "SMT setting": without_smt,
    "sub-NUMA clustering": clustered,
    "firmware version": lambda c: c.set(firmware="1.3", microcode="0x101"),
    "version of Steelyard": lambda c: replace(c, versions={**c.versions, "steelyard": "0.2.0"}),
}


def fleeting(c: Conditions, chance: random.Random) -> Conditions:
    """What differs between any two runs, and the name of the host."""
    changed = c.set(
        load_average=f"{chance.random():.2f} 0 0", swap_used="8 MiB", huge_pages_2MiB_free=f"{chance.randrange(9)}"
    )
    return replace(changed, machine=replace(changed.machine, host=f"node-{chance.randrange(99)}", memory_available=1))


def compared(machine: str, *names: str, seed: int = 1) -> Cause:
    chance = random.Random(seed)
    a = Conditions(recorded_machine(machine))
    b = fleeting(a, chance)
    for name in names:
        b = CHANGES[name](b)
    return find_cause_of_runs(
        *((a.evaluated("a"), b.evaluated("b")) if chance.random() < 0.5 else (b.evaluated("a"), a.evaluated("b")))
    )


def test_a_usual_value_that_the_other_run_does_not_have_is_no_difference() -> None:
    a = Conditions(recorded_machine(NAMES[0]))
    b = parameter(page_size="default", memory_policy="local", transport="default")(a)
    kept = [a.evaluated("a"), replace(a, parameters={**a.parameters, "page_size": "huge"}).evaluated("a")]
    causes = [find_cause_of_runs(one, b.evaluated("b")) for one in kept]
    assert [[f.name for f in cause.factors] for cause in causes] == [[], ["page size"]]


@pytest.mark.parametrize(("place", "name"), [*enumerate(CHANGES)])
def test_one_factor_that_differs_is_named_as_the_cause(place: int, name: str) -> None:
    cause = compared(NAMES[2 * place % len(NAMES)], name, seed=place)
    assert (cause.kind, [f.name for f in cause.factors]) == ("one", [name])
    verb = "are" if name in ("mitigations", "kernel options") else "is"
    assert cause.sentence.startswith(f"The {name} {verb} the only condition that differs: ")


@pytest.mark.parametrize("seed", range(20))
def test_two_factors_that_differ_are_called_confounded(seed: int) -> None:
    """Pairs of which one brings the other along by nature are one factor, as the table says."""
    chance = random.Random(seed)
    follows = {n.name: n.follows for n in NATURES}
    while True:
        pair = chance.sample(sorted(CHANGES), 2)
        if not any(x in follows.get(y, ()) for x, y in (pair, pair[::-1])) and "mitigations" not in pair:
            break
    cause = compared(chance.choice(NAMES), *pair, seed=seed)
    assert (cause.kind, {f.name for f in cause.factors}) == ("confounded", set(pair))
    assert cause.sentence.startswith("2 conditions differ, so their effects are confounded: ")
    assert cause.remedy


@pytest.mark.parametrize("name", NAMES)
def test_what_differs_between_any_two_runs_is_no_cause(name: str) -> None:
    cause = compared(name)
    assert (cause.kind, cause.factors) == ("none", ())
    assert cause.sentence == "No condition differs that matters for what both sides measured."


def test_two_recorded_machines_differ_in_their_processor_first() -> None:
    a, b = (Conditions(recorded_machine(n)) for n in ("lscpu-x86_64-epyc_7451", "hwloc-40intel64-4n10c+pci-conflicts"))
    cause = find_cause_of_runs(a.evaluated("a"), b.evaluated("b"))
    assert cause.factors[0].name == "processor"
    assert {d.name for d in cause.factors[0].conditions} >= {"processor", "cores", "sockets"}


# --------------------------------------------------------------------------- in words

HERE = NAMES[0]


def test_the_run_that_separates_two_factors_is_named_with_its_option() -> None:
    cause = compared(HERE, "compiler", "kernel", seed=3)
    (compiler,) = (f for f in cause.factors if f.name == "compiler")
    assert cause.remedy == (f"A further run of b with the compiler of a (--toolchain {compiler.a}) separates them.")


def test_parts_of_machines_cannot_be_separated_by_a_run() -> None:
    cause = compared(HERE, "processor", "memory")
    assert cause.remedy == "They are parts of the machines, so no further run of a or b separates them."
    more = compared(HERE, "processor", "memory", "compiler")
    assert "separates its effect. No run separates the processor and the memory" in more.remedy
    three = compared(HERE, "MPI", "governor", "compiler").remedy
    assert three.startswith("2 further runs of b separate them: each has one more condition of a, first the compiler")


def test_an_mpi_matters_only_for_benchmarks_that_use_it() -> None:
    a = Conditions(recorded_machine(HERE))
    old, new = as_side("old", a), as_side("new", CHANGES["MPI"](a))
    assert find_cause(old, new, ["memory.stream"]).kind == "none"
    assert find_cause(old, new, ["memory.stream", "network.pingpong"]).sentence == (
        "The MPI is the only condition that differs: openmpi-4.1.4 (old), mpich-5.0.2 (new)."
    )


def as_side(name: str, *conditions: Conditions) -> Side:
    runs = tuple(reduce_run(c.evaluated(f"{name}{i}")) for i, c in enumerate(conditions))
    return Side(name=name, kind="group", runs=runs)


def test_the_conditions_of_a_group_are_those_of_all_its_runs() -> None:
    chance = random.Random(1)
    a = Conditions(recorded_machine(HERE))
    power = CHANGES["governor"](a)
    old, new = as_side("old", a, fleeting(a, chance)), as_side("new", power, fleeting(power, chance))
    assert [f.name for f in find_cause(old, new, ["memory.stream"]).factors] == ["governor"]
    mixed = find_cause(as_side("old", a, power), new, ["memory.stream"])
    assert mixed.sentence.endswith("performance, powersave (old), powersave (new).")
    assert find_cause(as_side("old", a, power), as_side("new", power, a), ["memory.stream"]).kind == "none"


def test_a_side_without_recorded_conditions_has_no_cause() -> None:
    run = SideRun(run="x", path="", started="", finished=True, machine=None, facts={}, cases=())
    published = Side(name="4x AMD 8350 Barcelona", kind="published", runs=(run,))
    cause = find_cause(published, as_side("new", Conditions(recorded_machine(HERE))), ["memory.stream"])
    assert cause.kind == "unknown"
    assert cause.sentence.startswith("The conditions of 4x AMD 8350 Barcelona are not recorded")


def test_threads_follow_from_the_processors_that_may_be_used_and_are_a_factor_without_them() -> None:
    a = Conditions(recorded_machine(HERE))
    one = parameter(threads=1)
    cause = find_cause_of_runs(a.evaluated("a"), one(a).evaluated("b"))
    assert cause.kind == "none", "one value in all cases of b, but two in a"
    twice = parameter(threads=2)
    cause = find_cause_of_runs(twice(a).evaluated("a"), one(a).evaluated("b"))
    assert cause.sentence == "The number of threads is the only condition that differs: 2 threads (a), 1 thread (b)."
    cause = find_cause_of_runs(twice(a).evaluated("a"), fewer_processors(one(a)).evaluated("b"))
    assert [f.name for f in cause.factors] == ["number of usable processors"]


def test_a_setting_that_no_factor_names_is_a_factor_of_its_own() -> None:
    a = Conditions(recorded_machine(HERE))
    cause = find_cause_of_runs(a.set(new_setting="x").evaluated("a"), a.set(new_setting="y").evaluated("b"))
    assert cause.sentence == "The new setting is the only condition that differs: x (a), y (b)."
    assert find_cause_of_runs(a.evaluated("a"), a.set(new_setting="y").evaluated("b")).kind == "none", "not known in a"


def test_memory_that_differs_by_what_a_kernel_reserves_is_no_factor() -> None:
    a = Conditions(recorded_machine(HERE))
    reserved = replace(a, machine=replace(a.machine, memory=int(a.machine.memory * 0.99)))
    assert (
        list_facts(a.evaluated("a").run)["machine"]["memory"]
        != list_facts(reserved.evaluated("b").run)["machine"]["memory"]
    )
    assert find_cause_of_runs(a.evaluated("a"), reserved.evaluated("b")).kind == "none"
