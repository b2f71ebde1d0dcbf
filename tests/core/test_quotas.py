"""A processor quota on some of many hosts is named with its host, and is no load of other processes."""

from typing import Any

import numpy as np
import pytest

import builders
from steelyard.judge.findings.every import container
from steelyard.model import Check, Verdict
from steelyard.model.observed import Observed, ProcessorSeconds, RanksObserved, Samples
from steelyard.statistics.validity.verdict import judgement

COUNT, ELAPSED, CPUS = 30, 10.0, 2  # samples, their seconds together, and measured processors (one a rank) of each host
STEADY = tuple((1e-3 * (1 + 0.002 * np.random.default_rng(1).standard_normal(COUNT))).tolist())


def plant(hosts: int, stopped: dict[int, float], account: str = "of ranks", pinned: bool = True) -> Observed:
    """A case on so many hosts; quotas stop each processor of the `stopped` ones for this share of the time.

    `account`: "of ranks" as it is written today, "sum" as in older records, "none" where not even this is known.
    """
    shares = [stopped.get(host, 0.0) for host in range(hosts) for _ in range(CPUS)]
    ranks: dict[str, Any] = {
        "hosts": [f"n{host}" for host in range(hosts) for _ in range(CPUS)],
        "cpus": [cpu if pinned else -1 for _ in range(hosts) for cpu in range(CPUS)],
        "waited": [share * ELAPSED for share in shares],
    }
    if account == "of ranks":  # a host without a quota has no account
        ranks["throttled"] = [share * ELAPSED * CPUS or None for share in shares]
    total = sum(share * ELAPSED for share in shares)
    return Observed(
        processor_seconds=ProcessorSeconds(elapsed=ELAPSED, processors=hosts * CPUS),
        throttled=None if account == "none" else total,
        samples=Samples(seconds=[ELAPSED / COUNT] * COUNT, waited=[max(shares) * ELAPSED / COUNT] * COUNT),
        ranks=RanksObserved(**ranks),
    )


def judge(around: Observed) -> Verdict:
    return judgement(STEADY, around, Check(True)).verdict


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("account", ["of ranks", "sum"])
@pytest.mark.parametrize("hosts", [4, 16, 1024])
@pytest.mark.parametrize("share", [0.03, 0.4, 0.9])
def test_a_quota_on_one_of_many_hosts_is_named_with_the_host(
    share: float, hosts: int, account: str, pinned: bool
) -> None:
    first, *others = judge(plant(hosts, {2: share}, account, pinned)).evidence
    assert first.kind == "throttled"
    assert first.text.startswith("the processor quota of the control group on n2 stopped the measured processors for ")
    assert f"which is {share * 100:.2g} % of the time of {CPUS} processors" in first.text
    assert first.numbers["share"] == pytest.approx(share)
    assert "competing load" not in {one.kind for one in others}


def test_quotas_on_all_hosts_are_counted_and_the_worst_is_named() -> None:
    first = judge(plant(4, {0: 0.2, 1: 0.2, 2: 0.5, 3: 0.2})).evidence[0]
    assert "on n2 stopped the measured processors for 10 s, which is 50 % of the time" in first.text
    assert first.text.endswith(" Quotas stopped processors on 4 of 4 hosts.")
    equal = judge(plant(4, dict.fromkeys(range(4), 0.3), "sum")).evidence[0]
    assert (equal.kind, equal.numbers["share"]) == ("throttled", pytest.approx(0.3))


def test_a_quota_of_a_parent_group_with_more_processors_has_no_share() -> None:
    """The pod of the quota has other containers on further processors, which were stopped, too."""
    around = plant(4, {1: 0.4})
    stops = [None if seconds is None else 20 * seconds for seconds in around.ranks.throttled or ()]
    text = judge(builders.seen(around, ranks={**around.ranks.given(), "throttled": stops})).evidence[0].text
    assert text == (
        "the processor quota of the control group on n1 stopped its processes for 160 s in total, longer "
        "than all measured processors together ran."
    )


@pytest.mark.parametrize("machine", [8, 256, 1024])
@pytest.mark.parametrize(("threads", "quota"), [(1, 0.7), (4, 2.0), (8, 1.0)])
def test_a_stop_is_a_share_of_the_time_of_the_threads_and_not_of_the_machine(
    machine: int, threads: int, quota: float
) -> None:
    stopped, share = (threads - quota) * ELAPSED, 1 - quota / threads
    accounts = [{"processors": machine, "elapsed": ELAPSED}, {"processors": machine, "elapsed": ELAPSED}]
    accounts[0]["own"] = quota * ELAPSED  # an external program: its threads are unknown
    ranks = {"hosts": ["n0"] * threads, "cpus": [-1] * threads}  # not pinned
    surroundings = [{"cpus": list(range(machine))}, {"ranks": ranks}]
    for account, around in zip(accounts, surroundings, strict=True):
        around |= {"processor_seconds": account, "throttled": stopped}
        first = judge(builders.seen(Observed(), **around)).evidence[0]
        assert (first.kind, first.numbers["share"]) == ("throttled", pytest.approx(share))


def test_waits_that_no_quota_explains_are_competing_load() -> None:
    assert judge(plant(4, {1: 0.4}, "none")).evidence[0].kind == "competing load"
    other = plant(4, {1: 0.4})
    stops = [None if seconds is None else 0.02 * seconds for seconds in other.ranks.throttled or ()]
    assert (
        judge(builders.seen(other, ranks={**other.ranks.given(), "throttled": stops})).evidence[0].kind
        == "competing load"
    )


def test_stops_of_less_than_a_hundredth_of_the_time_disturb_nothing() -> None:
    assert judge(plant(16, {3: 0.005})).level == "CLEAN"


def test_the_finding_on_control_groups_names_the_hosts_with_a_quota() -> None:
    around = plant(4, {1: 0.4, 3: 0.2})
    result = builders.result(
        "noise.barrier", "barrier", {"ranks": 8}, 1e-3, {}, surroundings=around.given(), launches=2
    )
    (finding,) = container.find(builders.evaluation((result,)))
    assert finding.seen == "A processor quota is active on n1 and n3."
    assert "The quota stopped 2 measurements on n1 and n3 for 24 s in total" in finding.evidence[-1].replace(
        "24.0", "24"
    )
