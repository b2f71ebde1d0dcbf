"""A share of time is that of all processors of the account: joining equal machines, ranks or threads changes no verdict."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import builders
from native import linked
from steelyard.measure.machine.cgroups import read_throttled
from steelyard.measure.machine.files import KernelFiles
from steelyard.measure.machine.load import Ticks, busy_ticks, read_ticks
from steelyard.measure.telemetry.watched import name_load
from steelyard.model import Check, Evidence, Machine, Verdict
from steelyard.model.account import TICK, Account
from steelyard.model.observed import Observed, ProcessorSeconds, RanksObserved, Samples
from steelyard.statistics.validity import disturbances
from steelyard.statistics.validity.observations import Measured
from steelyard.statistics.validity.pace import UNBOUNDED
from steelyard.statistics.validity.verdict import Judgement, judge_again, judgement

KINDS = ("steal", "other", "interrupts", "machine_other", "throttled", "faults")
COUNT = 10  # samples of a case, too few for a judgement of their shape
STEADY = tuple((1e-3 * (1 + 0.002 * np.random.default_rng(1).standard_normal(COUNT))).tolist())


def surroundings(kind: str, seconds: float, elapsed: float, n: int, waits: bool = True, **more: Any) -> Observed:
    """A case on n processors, each of which lost so many seconds."""
    lost = {kind: n * seconds} if kind in ("steal", "other", "interrupts") else {}
    fields: dict[str, Any] = {"cpus": tuple(range(n)), "samples": {}} | more
    fields["samples"] = {"seconds": [elapsed / COUNT] * COUNT, **({"waited": [0.0] * COUNT} if waits else {})}
    if kind == "machine_other":
        fields |= {"machine_other": n * seconds / elapsed, "machine_processors": n}
    if kind == "throttled":
        fields["throttled"] = n * seconds
    if kind == "faults":
        fields["samples"]["faults"] = [n * seconds / COUNT / disturbances.FAULT_SECONDS] * COUNT
    fields["samples"] = Samples(**fields["samples"])
    return Observed(processor_seconds=ProcessorSeconds(elapsed=elapsed, **lost), **fields)


def judged(around: Observed) -> Judgement:
    return judgement(STEADY, around, Check(True))


def named(around: Observed) -> tuple[str, str]:
    verdict = judged(around).verdict
    return verdict.level, verdict.evidence[0].kind if verdict.evidence else ""


# --------------------------------------------------------------------------- joined


@settings(max_examples=40)
@given(
    st.sampled_from(KINDS),
    st.integers(0, 400),
    st.sampled_from([0.025, 0.3, 1.0, 10.0]),
    st.integers(1, 1024),
    st.sampled_from(["threads", "ranks on hosts", "ranks on one host", "recorded number"]),
    st.booleans(),
)
def test_equal_machines_sockets_ranks_or_threads_have_the_verdict_of_one(
    kind: str, milliseconds: int, elapsed: float, n: int, joined: str, waits: bool
) -> None:
    seconds = min(1e-3 * milliseconds + 0.00037, elapsed)  # never exactly at a limit
    alone = surroundings(kind, seconds, elapsed, 1, waits)
    together = surroundings(kind, seconds, elapsed, n, waits)
    if joined == "recorded number":
        together = replace(together, processor_seconds=replace(together.processor_seconds, processors=n))
    elif joined != "threads":
        hosts, cpus = [f"h{i}" for i in range(n)], [0] * n
        if joined == "ranks on one host":
            hosts, cpus = ["h"] * n, [*range(n)]
        together = replace(together, cpus=tuple(cpus), ranks=RanksObserved(hosts=hosts, cpus=cpus))
    assert named(together) == named(alone)


@settings(max_examples=40)
@given(
    st.sampled_from(KINDS), st.floats(0, 1e6), st.sampled_from([0.025, 1.0, 10.0]), st.sampled_from([1, 2, 64, 1024])
)
def test_no_share_of_time_that_a_rule_states_is_above_100_percent(
    kind: str, seconds: float, elapsed: float, n: int
) -> None:
    for evidence in judged(surroundings(kind, seconds, elapsed, n)).verdict.evidence:
        stated = [float(x) for x in re.findall(r"([\d.e+-]+) %", evidence.text)]
        assert all(x <= 100 for x in (*stated, 100 * evidence.numbers.get("share", 0.0)))


def test_a_share_is_stated_with_the_processors_and_their_time() -> None:
    (first, *_) = judged(surroundings("steal", 21.8 / 16, 40.7, 16)).verdict.evidence
    assert first.text == (
        "the hypervisor gave the measured processors to other guests for 21.8 s, which is 3.3 % of the time of 16 processors "
        "(651 s)."
    )
    assert "256 processors (2,560 s)" in judged(surroundings("steal", 1.0, 10.0, 256)).verdict.evidence[0].text
    assert first.numbers["processors"] == 16
    assert first.numbers["share"] == pytest.approx(0.0335, abs=1e-4)


# --------------------------------------------------------------------------- quiet, and hit


def quiet(n: int, chance: np.random.Generator, most: float = 0.003) -> Observed:
    """An idle machine of n processors, all measured: up to `most` of each for daemons and interrupts, counted in ticks."""
    elapsed = float(chance.choice([0.025, 0.15, 0.3, 2.0]))
    rates = np.full((4, n), most) if most < 0.01 else chance.uniform(0, most, (4, n))
    ticks = chance.poisson(rates * elapsed / TICK) * TICK
    steal, other, served = ticks[0] * (chance.random(n) < 0.1), ticks[1], ticks[2]
    return Observed(
        processor_seconds=ProcessorSeconds(
            elapsed=elapsed, steal=steal.sum(), other=other.sum(), interrupts=served.sum(), processors=n,
            most_steal=steal.max(), most_interrupts=served.max(), most_other=other.max(),
        ),
        machine_other=float(other.sum()) / elapsed, machine_processors=n, cpus=range(n), throttled=0.0,
        samples=Samples(seconds=[elapsed / COUNT] * COUNT, faults=chance.poisson(0.05 * n, COUNT).tolist()),
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("most", [0.003, 0.02])
def test_no_rule_fires_more_often_on_many_quiet_processors_than_on_two(most: float) -> None:
    shapes = (disturbances.bimodal, disturbances.drifting, disturbances.autocorrelation)
    rules = [rule for rule in disturbances.RULES if rule not in shapes]
    fired: dict[int, dict[str, int]] = {}
    for n in (2, 16, 128, 1024):
        chance = np.random.default_rng(n)
        fired[n] = {rule.__name__: 0 for rule in rules}
        for _ in range(1000):
            case = Measured(np.ones(COUNT), quiet(n, chance, most))
            for rule in rules:
                observation = rule(case)
                fired[n][rule.__name__] += observation is not None and observation.disturbed
    assert sum(fired[2].values()) <= 10
    for n in (16, 128, 1024):
        assert all(fired[n][name] <= fired[2][name] for name in fired[2]), (n, fired)


@pytest.mark.parametrize("n", [1, 16, 128, 1024])
@pytest.mark.parametrize("kind", ["steal", "interrupts"])
def test_one_processor_of_many_that_loses_half_of_its_time_is_named(kind: str, n: int) -> None:
    around = surroundings(kind, 0.5 * 10.0 / n, 10.0, n)
    assert named(around) == (("DISTURBED", kind) if (n <= 16 and kind == "steal") or n == 1 else ("CLEAN", ""))
    lost = replace(around.processor_seconds, **{f"most_{kind}": 5.0})
    verdict = judged(replace(around, processor_seconds=lost)).verdict
    assert (verdict.level, verdict.evidence[0].kind) == ("DISTURBED", kind)
    assert ("One of them lost 50 % of its time" in verdict.evidence[0].text) == (n > 1)


@pytest.mark.parametrize("n", [1, 2, 32, 128, 1024])
@pytest.mark.parametrize(("share", "waits"), [(0.5, False), (0.15, False), (0.5, True), (0.09, False)])
def test_a_process_on_one_processor_of_many_is_named_if_no_thread_reports_its_waits(
    share: float, waits: bool, n: int
) -> None:
    around = surroundings("other", share * 10.0 / n, 10.0, n, waits)
    lost = replace(around.processor_seconds, most_other=share * 10.0)
    verdict = judged(replace(around, processor_seconds=lost)).verdict
    limit = disturbances.OTHER_BESIDE_WAITS if waits else disturbances.OTHER
    alone = share > limit * n or (share > 0.1 and not waits)
    kinds = [evidence.kind for evidence in verdict.evidence if evidence.kind != "range"]
    assert (verdict.level, kinds) == (("DISTURBED", ["competing load"]) if alone else ("CLEAN", []))
    if share == 0.5 and not waits and n > 1:
        assert verdict.evidence[0].text.endswith("lost 50 % of its time, and all threads wait for the slowest.")


@pytest.mark.parametrize("n", [1, 2, 16, 128, 1024])
def test_readings_of_one_processor_that_are_absurd_change_no_verdict(n: int) -> None:
    """In one of 200 cases the account of one processor jumps; the sum jumps with it, or only the account of that one does."""
    chance = np.random.default_rng(n)
    absurd = [None, -1.0, 1e9, 1.8e17, float("nan"), float("inf")]
    for number in range(1000):
        around = quiet(n, chance)
        if number % 200 == 0:
            jump = absurd[number // 200 % len(absurd)]
            both = {} if chance.random() < 0.5 else {"other": jump}
            around = replace(around, processor_seconds=replace(around.processor_seconds, most_other=jump, **both))
        observation = disturbances.other_load(Measured(np.ones(COUNT), around))
        assert observation is None, (n, jump)


def test_a_record_without_the_greatest_of_other_processes_is_judged_as_before() -> None:
    around = surroundings("other", 0.5 * 10.0 / 32, 10.0, 32, waits=False)
    assert named(around) == ("CLEAN", "")
    assert around.processor_seconds.most_other is None


OTHERS = """
#include <cstdio>
#include "disturbance.h"
using steelyard::MachineReading;
int main() {
  MachineReading before({}), after({});
  before.used_of = {{0, {1.0, 9}}, {1, {5.0, 9}}, {2, {7.0, 9}}, {3, {0.0, 9}}}, before.own = 10;
  after.used_of = {{0, {2.0, 9}}, {1, {5.5, 9}}, {2, {8.0, 9}}, {3, {1e9, 9}}}, after.own = 11.5;
  auto print = [&](std::vector<int> cpus, std::vector<double> own) {
    std::printf("%.3g\\n", steelyard::greatest_other(before, after, cpus, own));
  };
  print({0, 1, 2}, {0.9, 0.5, 0.1});   // another process on processor 2
  print({0, 1}, {1.0, 0.5});           // none
  print({0, 0, 1}, {0.5, 0.5, 0.5});   // two threads share a processor
  print({0, 1, 2}, {0.4, 0.4, 0.4});   // a further thread of ours, which may have run on one of them
  print({0, 9}, {1.0, 0.5});           // a processor that came or went
  print({}, {0.5, 1.0});               // not pinned
  print({3}, {1.5});                   // a counter that jumped
}
"""


def test_the_harness_finds_the_processor_that_other_processes_used_most(here: Machine) -> None:
    done = subprocess.run([linked(here, OTHERS)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.86", "0", "0", "0.26", "0", "nan", "1e+09"]


SLEEPING = """
#include <cstdio>
#include <cstdlib>
#include <random>
#include "disturbance.h"
using steelyard::MachineReading;
// Own threads that sleep now and then; with a fourth word, another process has one of the processors for half of the time.
int main(int, char** words) {
  const int n = std::atoi(words[1]), ticks = std::atoi(words[2]), draws = std::atoi(words[3]);
  std::mt19937 chance(n + ticks);
  for (int number = 0; number < draws; ++number) {
    MachineReading before({}), after({});
    std::vector<int> cpus;
    std::vector<double> own;
    after.own = before.own;
    for (int cpu = 0; cpu < n; ++cpu) {
      const double awake = std::uniform_real_distribution<>(0.2, 1.0)(chance), taken = words[4] && cpu == 0;
      const int busy = taken ? ticks : std::binomial_distribution<>(ticks, awake)(chance);
      before.used_of[cpu] = {0.0, 0.0}, after.used_of[cpu] = {busy * 0.01, (ticks - busy) * 0.01};
      cpus.push_back(cpu), own.push_back((taken ? 0.5 : awake) * ticks * 0.01), after.own += own.back();
    }
    std::printf("%.4g\\n", steelyard::greatest_other(before, after, cpus, own));
  }
}
"""


@pytest.mark.parametrize("ticks", [15, *(pytest.param(n, marks=pytest.mark.long) for n in (3, 30, 50, 200))])
def test_own_threads_that_sleep_are_no_other_process_on_many_processors(here: Machine, ticks: int) -> None:
    """The kernel counts who runs at each tick: a thread that sleeps now and then is counted too often by chance.

    If `least_busy` did not add a sample, 2 of 1,000 cases on 16 processors would be called disturbed after 15 ticks.
    """

    def count(n: int, *words: str) -> float:
        """Returns the share of the cases that are called disturbed."""
        draws = min(1000, 200_000 // n)
        command = [linked(here, SLEEPING), str(n), str(ticks), str(draws), *words]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        cases = [
            ProcessorSeconds(elapsed=ticks * TICK, processors=n, other=0.0, most_other=float(most)) for most in lines
        ]
        assert len(cases) == draws
        disturbed = sum(
            disturbances.other_load(Measured(np.ones(COUNT), Observed(processor_seconds=c))) is not None for c in cases
        )
        return disturbed / draws

    assert count(2) == count(16) == count(128) == count(1024) == 0
    if ticks >= 30:
        assert count(32, "taken") == count(1024, "taken") == 1


def test_a_case_beside_a_process_on_its_processor_is_disturbed_without_its_waits(programs: dict[str, Path]) -> None:
    cpu = max(os.sched_getaffinity(0))
    words = f"case=1 kernel=triad elements=4096 threads=1 cpus={cpu} seconds=0.5 least=200 most=100000 width=0.0001\n"
    burner = subprocess.Popen(
        [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile True: pass"]
    )
    try:
        done = subprocess.run(
            [programs["memory.stream"]], input=words, capture_output=True, text=True, timeout=120, check=True
        )
    finally:
        burner.kill()
        burner.wait()
    seconds = ProcessorSeconds(**json.loads(done.stdout)["surroundings"]["processor_seconds"])
    assert seconds.elapsed is not None
    assert seconds.most_other is not None
    assert 0.2 * seconds.elapsed < seconds.most_other <= seconds.elapsed + 0.02
    assert named(Observed(processor_seconds=replace(seconds, processors=32, other=seconds.most_other))) == (
        "DISTURBED", "competing load",
    )  # fmt: skip


def test_processors_of_other_hosts_count_and_those_of_threads_that_share_one_do_not() -> None:
    hosts = ["a", "a", "b", "b", "b"]
    around = Observed(cpus=(0, 1, 0, 1, 1), ranks=RanksObserved(hosts=hosts, cpus=[0, 1, 0, 1, 1]))
    assert Measured(np.ones(3), around).processors == 4
    assert Measured(np.ones(3), Observed(cpus=(0, 1, 1))).processors == 2
    loose = Observed(ranks=RanksObserved(hosts=hosts, cpus=[-1] * 5), machine_processors=8)
    assert Measured(np.ones(3), loose).processors == 16


# --------------------------------------------------------------------------- older records


@pytest.mark.parametrize(("steal", "level", "share"), [(21.8, "DISTURBED", "3.3 %"), (0.65, "CLEAN", "")])
def test_the_accounts_of_an_older_record_are_judged_anew(steal: float, level: str, share: str) -> None:
    around = surroundings("steal", steal / 16, 40.7, 16)
    text = f"the hypervisor gave the processors away for {steal} s, which is 54 % of the time of the case (40.7 s)."
    older = Verdict("DISTURBED", (Evidence("steal", text, {"seconds": steal, "elapsed": 40.7, "share": 0.54}),))
    (record, *_) = builders.triad(1e10).records
    again = judge_again(replace(record, samples=STEADY, surroundings=around, verdict=older, aside=()), UNBOUNDED, 16)
    assert again.verdict.level == level
    assert "54 %" not in str(again.verdict)
    assert share in str(again.verdict)
    assert again.surroundings == around
    assert judge_again(again, UNBOUNDED, 16) is again


def test_an_older_record_of_one_thread_is_compared_with_the_processors_of_its_machine() -> None:
    (record, *_) = builders.triad(1e10).records
    around = replace(surroundings("throttled", 0.0, 10.0, 1), machine_other=0.512)
    older = Verdict(
        "DISTURBED",
        (
            Evidence(
                "competing load",
                "other processes kept 0.5 cores of the machine busy during the case.",
                {"cores": 0.512},
            ),
        ),
    )
    record = replace(record, samples=STEADY, surroundings=around, verdict=older, aside=())
    assert judge_again(record, UNBOUNDED, 256).verdict.level == "CLEAN"
    assert judge_again(record, UNBOUNDED, 2).verdict.level == "DISTURBED"


# --------------------------------------------------------------------------- other accounts


@pytest.mark.wings
def test_the_accounts_of_an_external_program_are_those_of_the_whole_machine() -> None:
    from steelyard.applications.foreign import processor_accounts

    before = processor_accounts.Accounts(Ticks(0, 0, 0, 128), 0.0)
    after = processor_accounts.Accounts(Ticks(12_238, 256, 384, 128), 0.4)
    account: Any = processor_accounts.make_accounts(before, after, 122.0, 10.0, 4)
    assert account["processor_seconds"]["processors"] == account["machine_processors"] == 128
    assert account["throttled"] == 0.4
    around = Observed(**account | {"processor_seconds": ProcessorSeconds(**account["processor_seconds"])})
    assert judged(around).verdict.level == "CLEAN"


def test_interrupts_and_steal_are_no_processes(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu 5 2 3 900 40 11 13 50 4 4\ncpu0 0 0 0\ncpu1 0 0 0\n")
    assert read_ticks(tmp_path / "stat") == Ticks(busy=10, steal=50, interrupts=24, processors=2)
    assert busy_ticks(tmp_path / "stat") == 34  # they cost power


def test_a_machine_of_any_size_is_idle_with_its_daemons_and_not_with_a_tenth_of_its_processors_busy() -> None:
    for n in (1, 2, 192, 1024):
        assert name_load(Account.of(0.00302 * n, n, 1.0)) == ""
        assert f"kept {0.1 * n:.1f} of {n} processors busy" in name_load(Account.of(0.1 * n, n, 1.0))
    assert name_load(None) == ""


@pytest.mark.parametrize("kind", ["steal", "interrupts", "other", "machine_other"])
@pytest.mark.parametrize(("seconds", "of_one"), [(-812.0, -190.0), (1.8e17, 1.8e17), (1000.0, 1000.0), (160.0, 160.0)])
def test_a_counter_that_jumped_is_no_evidence(kind: str, seconds: float, of_one: float) -> None:
    around = surroundings(kind, seconds / 128, 1.0, 128)
    lost = {f"most_{kind}": of_one} if kind in ("steal", "interrupts", "other") else {}
    assert named(replace(around, processor_seconds=replace(around.processor_seconds, **lost))) == ("CLEAN", "")


def test_waits_never_take_more_than_the_samples() -> None:
    around = surroundings("steal", 0.0, 10.0, 8)
    verdict = judged(replace(around, samples=replace(around.samples, waited=[1.3] * COUNT))).verdict
    assert verdict.evidence[0].numbers["share"] == 1


@pytest.mark.parametrize(
    ("around", "kind"),
    [
        ({"throttled": 32.0}, "throttled"),
        ({"throttled": 0.9}, "competing load"),
        ({"oversubscribed": True}, "oversubscribed"),
        ({}, "competing load"),
    ],
)
def test_waits_are_named_by_the_quota_or_the_own_threads_that_explain_them(around: dict[str, Any], kind: str) -> None:
    case = surroundings("steal", 0.0, 10.0, 8, **around)
    waited = replace(case, samples=replace(case.samples, waited=[0.4 * 10.0 / COUNT] * COUNT))
    assert named(waited) == ("DISTURBED", kind)


@pytest.mark.parametrize("part", [None, 0, -1.0, float("nan"), float("inf"), 1e300])
def test_without_a_capacity_there_is_no_share(part: float | None) -> None:
    assert Account.of(1.0, part, 1.0) is None or part == 1e300
    assert Account.of(1.0, 1, part) is None or part == 1e300
    assert Account.of(part, 1, 1.0) is None or part in (0, 1e300)


# --------------------------------------------------------------------------- quotas of groups

V2 = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate"
V1 = "33 31 0:30 {} {} rw,relatime - cgroup cgroup rw,{}"
STOPPED: dict[str, tuple[dict[str, str], float | None]] = {
    "the pod has the quota": (
        {
            "/proc/self/cgroup": "0::/kubepods/pod1/container",
            "/proc/self/mountinfo": V2,
            "/sys/fs/cgroup/kubepods/pod1/container/cpu.stat": "usage_usec 9\nnr_throttled 0\nthrottled_usec 0",
            "/sys/fs/cgroup/kubepods/pod1/cpu.stat": "usage_usec 9\nnr_throttled 7\nthrottled_usec 2500000",
            "/sys/fs/cgroup/kubepods/cpu.stat": "usage_usec 9",
        },
        2.5,
    ),
    "CentOS 7": (
        {
            "/proc/self/cgroup": "6:cpuacct,cpu:/kubepods/pod1\n5:cpuset:/\n1:name=systemd:/",
            "/proc/self/mountinfo": V1.format("/", "/sys/fs/cgroup/cpu,cpuacct", "cpuacct,cpu"),
            "/sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/cpu.stat": "nr_throttled 60\nthrottled_time 5000000000",
            "/sys/fs/cgroup/cpu,cpuacct/kubepods/cpu.stat": "nr_throttled 1\nthrottled_time 1000000000",
        },
        6.0,
    ),
    "a container sees its group as the top": (
        {
            "/proc/self/cgroup": "3:cpu,cpuacct:/docker/1/job\n2:memory:/docker/1",
            "/proc/self/mountinfo": V1.format("/docker/1", "/sys/fs/cgroup/cpu", "cpu"),
            "/sys/fs/cgroup/cpu/job/cpu.stat": "throttled_time 250000000",
            "/sys/fs/cgroup/cpu/cpu.stat": "throttled_time 0",
        },
        0.25,
    ),
    "the controller of accounts alone": (
        {
            "/proc/self/cgroup": "3:cpuacct:/a",
            "/proc/self/mountinfo": V1.format("/", "/acct", "cpuacct"),
            "/acct/a/cpu.stat": "throttled_time 1",
        },
        None,
    ),
    "no quota": (
        {"/proc/self/cgroup": "0::/a", "/proc/self/mountinfo": V2, "/sys/fs/cgroup/a/cpu.stat": "usage_usec 9"},
        None,
    ),
}
READ = """
#include <cstdio>
#include "disturbance.h"
int main(int count, char** folders) {
  for (int i = 1; i < count; ++i) std::printf("%.9g\\n", steelyard::stopped_by_quotas(folders[i]));
}
"""


def test_the_harness_and_python_read_the_stops_of_a_group_and_its_parents(here: Machine, tmp_path: Path) -> None:
    folders = [tmp_path / str(i) for i in range(len(STOPPED))]
    for folder, (tree, _) in zip(folders, STOPPED.values(), strict=True):
        for name, text in tree.items():
            path = folder / name[1:]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
    expected = [seconds for _, seconds in STOPPED.values()]
    assert [read_throttled(KernelFiles(folder)) for folder in folders] == expected
    bare = tmp_path / "bare"  # without the mounts, at the usual places
    (bare / "proc/self").mkdir(parents=True)
    (bare / "proc/self/cgroup").write_text("6:cpuacct,cpu:/pod\n")
    (bare / "sys/fs/cgroup/cpu,cpuacct/pod").mkdir(parents=True)
    (bare / "sys/fs/cgroup/cpu,cpuacct/pod/cpu.stat").write_text("throttled_time 5000000000\n")
    done = subprocess.run([linked(here, READ), *folders, bare], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["nan" if s is None else f"{s:g}" for s in (*expected, 5.0)]
