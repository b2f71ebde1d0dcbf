"""The cause of slow cores and memory: on simulated machines of all sizes, only what is proven is named."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import builders
from steelyard.judge import findings
from steelyard.measure.machine.processor_use import Account, add_processor_use, read_account
from steelyard.measure.run import quiet
from steelyard.model import Condition, Had, Setting
from steelyard.model.observed import Looks
from steelyard.model.proofs import NO_PROOFS, Proofs, Slow
from steelyard.statistics.validity.cause import Cause, explain, find_cause
from steelyard.statistics.validity.proofs import add_proofs

SEEDS = 100
SIZES = (2, 16, 128)
TURN = 0.0058  # seconds of a reading and the pause after it


class Simulated:
    """Readings of a look at `count` processors by turns, with the scatter and the faulty readings of real ones."""

    def __init__(self, count: int, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.turns = max(int(quiet.LOOK / TURN), 2 * count)
        self.count, self.cpu = count, np.arange(self.turns) % count
        self.used, self.stolen = self.chance.uniform(0, 0.006) * count, 0.0
        self.clock, self.issued = self.around(3e9, 0.004), self.around(4.0, 0.005)
        self.stream, self.chase = self.around(1e10, 0.10), self.around(1e-7, 0.03)
        self.issued[self.hit(0.005)] *= 1.07  # the clock moved between its reading and the additions
        self.issued[self.hit(0.005)] *= 0.7  # an interrupt
        self.nodes = range(count)

    def around(self, value, scatter):
        return value * (1 + scatter * self.chance.standard_normal(self.turns))

    def hit(self, share):
        return self.chance.random(self.turns) < share

    def bursts(self):
        """Returns the readings in a load that comes and goes every tenth of a second."""
        times = np.repeat(self.chance.random(self.turns // 20 + 1) < self.chance.uniform(0.35, 0.75), 20)
        return times[: self.turns]

    def idle(self):
        pass

    def build(self):
        share = self.chance.uniform(0.3, 1)
        self.used += share * self.count / 2
        hit = self.hit(share)
        self.issued[hit] *= self.chance.uniform(0.55, 0.75, hit.sum())
        self.stream[hit] *= 0.8

    def steal(self):
        self.stolen = self.chance.uniform(0.12, 0.5)
        self.issued[self.hit(0.05)] *= 0.7

    def sibling(self):
        hit = self.bursts()
        self.issued[hit] *= self.chance.uniform(0.55, 0.8, hit.sum())

    def throttle(self):
        hit = self.bursts()
        self.clock[hit] *= self.chance.uniform(0.75, 0.85)
        self.chase[hit] *= 1.03

    def full_bus(self):
        hit = self.bursts()
        self.stream[hit] *= 0.5
        self.chase[hit] *= 1.5

    def two_kinds(self):
        small = self.cpu >= self.count / 2
        self.issued[small] *= 0.8
        self.clock[small] *= 0.75

    def two_sockets(self):
        far = self.cpu >= self.count / 2
        self.chase[far] *= 1.5
        self.stream[far] *= 0.6
        self.nodes = np.arange(self.count) // max(1, self.count // 2)

    def look(self):
        columns = Looks(core_clock=self.clock, issued=self.issued, stream=self.stream, chase=self.chase)
        proofs = Proofs(processors=self.count, others=self.used, steal=self.stolen)
        return quiet.judge(columns, {}, range(self.count), self.nodes, proofs)


QUIET = "quiet"
BARE, GUEST, WSL = "none", "KVM", "WSL2"
RIGHT: dict[str, dict[str, Cause | str]] = {
    "idle": {BARE: QUIET, GUEST: QUIET, WSL: QUIET},
    "build": {BARE: Cause.PROCESSES, GUEST: Cause.PROCESSES, WSL: Cause.PROCESSES},
    "steal": {GUEST: Cause.STEAL},  # WSL2 and bare metal have no account of it
    "sibling": {BARE: Cause.CORES, GUEST: Cause.OTHER_GUEST, WSL: Cause.OTHER_GUEST},
    "throttle": {BARE: Cause.CLOCK, GUEST: Cause.CLOCK, WSL: Cause.CLOCK},
    "full_bus": {BARE: Cause.MEMORY, GUEST: Cause.MEMORY, WSL: Cause.MEMORY},
    "two_kinds": {BARE: QUIET, GUEST: QUIET, WSL: QUIET},
    "two_sockets": {BARE: QUIET, GUEST: QUIET, WSL: QUIET},
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scenario", RIGHT)
def test_the_right_cause_is_named_on_machines_of_every_size(scenario):
    for count in SIZES:
        named: dict[str, Counter] = {system: Counter() for system in RIGHT[scenario]}
        for seed in range(SEEDS):
            machine = Simulated(count, seed)
            getattr(machine, scenario)()
            look = machine.look()
            for system, counter in named.items():
                cause = find_cause(replace(look.proofs, hypervisor=system))
                counter[QUIET if look.quiet else cause] += 1
        for system, counter in named.items():
            assert counter[RIGHT[scenario][system]] >= 0.95 * SEEDS, (count, system, counter)


def share(columns, earlier=None):
    chance = np.random.default_rng(2)

    def column(values, scatter):
        return tuple(np.resize(values, 300) * (1 + scatter * chance.standard_normal(300)))

    usual = {"issued": 4.0, "stream": 1e10, "chase": 1e-7, **columns}
    scatter = {"issued": 0.005, "stream": 0.01, "chase": 0.01}
    return quiet.judge(Looks(**{k: column(v, scatter[k]) for k, v in usual.items()}), earlier or {})


@pytest.mark.parametrize(
    "columns",
    [
        {"issued": [5.0] * 16 + [4.0] * 16},
        {"issued": [5.0] * 12 + [4.0] * 8 + [3.1] * 2},
        {"chase": [9e-8] * 16 + [1.4e-7] * 16},
        {"chase": [9e-8, 1.4e-7]},
    ],
)
def test_processors_that_differ_are_each_quiet_at_their_own_best(columns):
    assert share(columns).quiet


def test_a_load_that_lasts_for_a_part_of_the_look_is_no_slower_processor():
    for first in (20, 120, 200):
        busy = np.full(300, 4.0)
        busy[first : first + 60] = 2.8
        assert not share({"issued": busy}).quiet


def test_a_memory_slower_than_in_earlier_runs_is_named_alone():
    look = share({"chase": 1.2e-7}, {"issued": 4.0, "stream": 1e10, "chase": 1e-7})
    since = replace(look, proofs=replace(look.proofs, since="2026-01-02T10:00:00"))
    words = quiet.sentence(since, False)
    assert words.startswith("The memory was slower than in earlier runs since 2026-01-02: in 100 % of the readings, ")
    assert "took 120 ns instead of 100 ns. The cores had their full speed. Waiting will not help" in words


def test_slow_cores_without_accounts_come_with_the_load_average_and_no_cause():
    words = quiet.sentence(share({"issued": 2.8}, {"issued": 4.0}), False)
    assert "the core issued 2.8 additions per cycle instead of 4 additions per cycle. The load average " in words
    assert "guest" not in words


def test_a_process_is_named_with_its_share_before_anything_else():
    proofs = Proofs(
        hypervisor="KVM", processors=2, others=1.6, largest="cc1plus (pid 123)", largest_processors=1.0,
        steal=0.1, slow={"issued": Slow(share=0.9)},
    )  # fmt: skip
    assert explain(proofs) == (
        "cc1plus (pid 123) used 1.0 of 2 processors. With it, the processes of this machine used 1.6 of 2 processors."
    )


def test_another_guest_needs_an_idle_machine_under_a_hypervisor():
    slow = {"issued": Slow(share=0.6, typical=2.8, best=4.0)}
    idle = Proofs(hypervisor="KVM", processors=16, others=0.1, slow=slow)
    assert (
        "probably another virtual machine, slowed the cores: in 60 % of the readings, the core issued 2.8"
        in explain(idle)
    )
    assert explain(replace(idle, hypervisor="WSL2")).startswith("Windows or its programs slowed the cores")
    for unproven in (replace(idle, hypervisor="none"), replace(idle, hypervisor=None), replace(idle, others=None)):
        assert find_cause(unproven) is Cause.CORES
        assert "guest" not in explain(unproven)


def write(proc: Path, cpus, processes, cpu_of=None) -> Account:
    proc.mkdir(exist_ok=True)
    last = {pid: "0 " * 23 + f"{cpu} 0" for pid, cpu in (cpu_of or {}).items()}
    lines = [f"cpu{n} {busy} 0 0 1000 0 0 0 {stolen} 0 0" for n, (busy, stolen) in cpus.items()]
    (proc / "stat").write_text("\n".join(["cpu 1 1 1 1", *lines, "intr 1"]))
    for pid, (name, parent, ticks) in processes.items():
        (proc / str(pid)).mkdir(exist_ok=True)
        (proc / str(pid) / "stat").write_text(
            f"{pid} ({name}) R {parent} " + "0 " * 9 + f"{ticks} 0 " + last.get(pid, "0")
        )
    return read_account(proc)


def test_the_use_of_others_leaves_out_what_this_process_started(tmp_path):
    first = {7: ("steelyard", 1, 0), 8: ("kernel) x", 7, 0), 9: ("cc1plus", 1, 50)}
    then = {7: ("steelyard", 1, 5), 8: ("kernel) x", 7, 25), 9: ("cc1plus", 1, 150), 10: ("cc1plus", 1, 20)}
    before = replace(write(tmp_path, {0: (0, 0), 1: (0, 0), 2: (0, 0)}, first), at=10.0)
    after = replace(write(tmp_path, {0: (100, 20), 1: (60, 0), 2: (90, 0)}, then), at=11.0)
    use = add_processor_use(NO_PROOFS, before, after, [0, 1], own=7)
    assert (use.processors, use.others) == (2, pytest.approx(1.3))  # 160 ticks of these processors less our 30
    assert (use.largest, use.largest_processors) == ("cc1plus (pid 9 and 1 more)", pytest.approx(1.2))
    assert use.steal == pytest.approx(20 / 180)


def test_a_program_on_other_processors_is_not_named(tmp_path):
    where = {9: 77, 10: 3}
    before = write(tmp_path, dict.fromkeys(range(128), (0, 0)), {9: ("build", 1, 0), 10: ("small", 1, 0)}, where)
    loads = {cpu: (5 if cpu < 8 else 100, 0) for cpu in range(128)}
    after = write(tmp_path, loads, {9: ("build", 1, 5000), 10: ("small", 1, 30)}, where)
    use = add_processor_use(NO_PROOFS, replace(before, at=0.0), replace(after, at=1.0), range(8), own=7)
    assert (use.largest, use.processors, use.others) == ("small (pid 10)", 8, pytest.approx(0.4))


@pytest.mark.parametrize("stolen", [-5000, 2**60])
def test_a_counter_of_steal_that_jumped_is_unknown(stolen):
    before, after = (Account(at, {0: (0, at * stolen), 1: (0, 0)}, {}) for at in (0, 1))
    assert add_processor_use(NO_PROOFS, before, after, [0, 1], own=7).steal is None


def test_a_system_that_keeps_no_accounts_gives_none(tmp_path):
    assert read_account(tmp_path / "missing") is None
    (tmp_path / "stat").write_text("cpu 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\n")
    assert read_account(tmp_path) is None
    assert add_processor_use(NO_PROOFS, None, None, [0], own=7) == NO_PROOFS


def run_of(others, steal, hypervisor, processors=None):
    around = {
        "machine_processors": processors,
        "machine_other": others,
        "processor_seconds": {"elapsed": 2.0, "steal": steal, "other": 0.0},
        "cpus": [0, 1],
    }
    result = builders.result("a.b", "k", {}, 1e-3, {}, surroundings=around)
    machine = builders.machine(cores=2, settings=(Setting("hypervisor", hypervisor, "x"),))
    had = {"issued": Had(median=0.7, low=0.6, high=1.0, full=0.3)}
    condition = Condition(shared=True, had=had, load=0.0, causes=("shared core",))
    return add_proofs(condition, result.records, machine)


def test_the_cause_of_a_run_comes_from_the_accounts_beside_its_records():
    own = run_of(0.64, 0.0, "KVM").proofs
    assert (own.processors, own.others, find_cause(own)) == (2, pytest.approx(0.64), Cause.PROCESSES)
    assert explain(own) == "Other processes of this machine used 0.6 of 2 processors."
    assert run_of(0.0, 0.4, "KVM").proofs.steal == pytest.approx(0.1)
    assert find_cause(run_of(0.0, 0.4, "KVM").proofs) is Cause.STEAL
    assert find_cause(run_of(0.0, 0.0, "KVM").proofs) is Cause.OTHER_GUEST
    assert find_cause(run_of(0.0, 0.0, "none").proofs) is Cause.CORES


def test_no_cause_comes_from_an_impossible_account():
    for steal in (1e15, -3.0):
        assert find_cause(run_of(0.0, steal, "KVM").proofs) is Cause.OTHER_GUEST
    assert run_of(1e9, 0.0, "KVM").proofs.others is None
    assert find_cause(run_of(0.0, 0.4, None).proofs) is Cause.STEAL
    on_bare_metal = run_of(0.0, 0.4, "none").proofs
    assert find_cause(on_bare_metal) is Cause.CORES
    assert quiet.judge(Looks(), {}, proofs=on_bare_metal).quiet


@pytest.mark.parametrize(
    ("clocks", "hypervisor", "cause"),
    [
        ({1: [3.1] * 6, 16: [2.4] * 6}, "none", "It depends on the number of busy cores, their kind and"),
        ({1: [3.1, 3.1, 3.1, 2.6, 2.6, 2.6]}, "none", "fell during the run: the temperature or a power limit"),
        (
            {1: [2.6, 2.6, 2.6, 3.1, 3.1, 3.1]},
            "none",
            "The clock depends on the number of busy cores, on the temperature",
        ),
        ({1: [3.1, 3.1, 3.1, 2.6, 2.6, 2.6]}, "KVM", "The host sets the clock."),
        (
            {n: [3.1 - 0.1 * n] for n in range(6)},
            "none",
            "The clock depends on the number of busy cores, on the temperature",
        ),
    ],
)
def test_a_clock_fell_only_where_that_of_equal_cases_fell(clocks, hypervisor, cause):
    machine = builders.machine(settings=(Setting("hypervisor", hypervisor, "x"),))
    results = [
        builders.triad(1e10, threads=threads, clock=(clock * 1e9,), launches=1)
        for threads, column in clocks.items()
        for clock in column
    ]
    (finding,) = findings.load_rule("clock").find(builders.evaluation(results, machine))
    assert cause in finding.cause


def test_other_processes_have_the_processors_of_the_whole_machine():
    assert explain(run_of(120.0, 0.0, "none", 128).proofs).endswith("used 120.0 of 128 processors.")
    alone = Proofs(slow={"issued": Slow(share=0.6)}, load_average=0.62, processors=256)
    assert "0.62 tasks on 256 processors: check with top" in explain(alone)
