"""A run over hosts of several kinds: each host is compared with hosts of its own kind, and a slow one among them is found."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import builders
from steelyard.judge.evaluation import judging
from steelyard.measure.launch.host_networks import read_processors
from steelyard.measure.machine import describe
from steelyard.measure.machine.host_network import program
from steelyard.measure.records import best_pace
from steelyard.model import Host, Record, Run, Shown

HERE = "Example processor"  # of builders.machine
# The pace of the cores and of the memory of each kind of processor, and how far its readings scatter.
PACES = {
    HERE: {"issued": 4.0, "core_clock": 3.5e9, "stream": 2e10, "chase": 9e-8},
    "Slow processor": {"issued": 3.0, "core_clock": 2.4e9, "stream": 1e10, "chase": 1.5e-7},
    "Fast processor": {"issued": 5.0, "core_clock": 4.4e9, "stream": 4e10, "chase": 7e-8},
}
SCATTER = {"issued": 0.006, "core_clock": 0.004, "stream": 0.05, "chase": 0.02}
SAMPLES = 30


def name_hosts(kinds: Sequence[str]) -> list[str]:
    return ["bench", *(f"n{number}" for number in range(1, len(kinds)))]


def measure(
    kinds: Sequence[str], part: Sequence[int], launch: int, chance: np.random.Generator, slow: int = -1
) -> Record:
    """A case of one rank on each host, of which those in `part` take part. The host `slow` has 0.7 of its pace."""
    readings: dict[str, list[list[float]]] = {}
    for kind, scatter in SCATTER.items():
        usual = np.array([PACES[kinds[host]][kind] * (0.7 if host == slow else 1.0) ** (-1 if kind == "chase" else 1)
                          for host in part])  # fmt: skip
        readings[kind] = (usual * (1 + scatter * chance.standard_normal((SAMPLES, len(part))))).tolist()
    of_ranks = {
        kind: [
            _worst(kind, [row[part.index(host)] for row in rows]) if host in part else None
            for host in range(len(kinds))
        ]
        for kind, rows in readings.items()
    }
    around = {
        "samples": {kind: [_worst(kind, row) for row in rows] for kind, rows in readings.items()}
        | {"seconds": [1e-3] * SAMPLES},
        "ranks": {
            "hosts": name_hosts(kinds), "cpus": [0] * len(kinds), **of_ranks,
            "seconds": [[1e-3] * SAMPLES if host in part else [] for host in range(len(kinds))],
        },
    }  # fmt: skip
    parameters = {"ranks": len(kinds), "partner": part[-1]} if len(part) == 2 else {"ranks": len(kinds)}
    result = builders.result("network.transfer", "sendrecv", parameters, 1e-3, {}, surroundings=around, launches=1)
    return replace(result.records[0], launch=launch, case=part[-1])


def _worst(kind: str, readings: Sequence[float]) -> float:
    return (max if kind == "chase" else min)(readings)


def plant_run(kinds: Sequence[str], known: bool = True, slow: int = -1) -> Run:
    """A run of all pairs with the first host, and of all hosts together, in four launches."""
    chance = np.random.default_rng(len(kinds))
    parts = [*([0, other] for other in range(1, len(kinds))), [*range(len(kinds))]]
    records = [measure(kinds, part, launch, chance, slow) for launch in range(1, 5) for part in parts]
    hosts = tuple(Host(name, 1, kind if known else "") for name, kind in zip(name_hosts(kinds), kinds, strict=True))
    here = builders.machine(hosts=hosts)
    return replace(builders.evaluation((), here).run, records=tuple(records))


def judge(run: Run) -> list[Record]:
    return list(judging.rejudge_run(run, best_pace.learned(run)).records)


KINDS = {
    "equal": [HERE],
    "two kinds": [HERE, "Slow processor"],
    "three kinds": ["Fast processor", "Slow processor", HERE],
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("count", [2, 5, 16, pytest.param(64, marks=pytest.mark.long)])
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_hosts_of_a_slower_kind_are_not_disturbed(kinds: list[str], count: int, known: bool) -> None:
    given = [kinds[number % len(kinds)] for number in range(count - 1)]
    records = judge(plant_run([HERE, *given], known))
    assert {record.verdict.level for record in records} == {"CLEAN"}
    assert sum(len(record.aside) for record in records) <= 0.01 * SAMPLES * len(records)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("count", [3, 16, 64])
@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_a_slow_host_among_equal_ones_is_found(kinds: list[str], count: int) -> None:
    given = [HERE, *(kinds[number // 2 % len(kinds)] for number in range(count - 1))]
    slow = next(number for number in range(1, count) if given[1:].count(given[number]) > 1)
    records = judge(plant_run(given, slow=slow))
    of_pairs = {record.case: record.verdict for record in records if "partner" in record.parameters}
    assert {case for case, verdict in of_pairs.items() if verdict.level == "DISTURBED"} == {slow}
    if given[0] == given[slow]:
        assert f"Rank {slow} on n{slow} (processor 0) was the slowest" in of_pairs[slow].evidence[0].text


def test_a_rank_on_a_slower_kind_of_processor_is_not_behind_the_others() -> None:
    kinds = [HERE, HERE, "Slow processor", "Slow processor", "Slow processor"]
    run = plant_run(kinds)
    slowed = measure(kinds, [*range(5)], 9, np.random.default_rng(9), slow=3)
    judged = judge(replace(run, records=(*run.records, slowed)))[-1]
    assert judged.verdict.level == "DISTURBED"
    assert "Rank 3 on n3 (processor 0) was the slowest" in judged.verdict.evidence[0].text


def test_paces_of_other_processors_are_kept_apart_from_those_of_this_machine() -> None:
    best = best_pace.learned(plant_run([HERE, "Fast processor", "Fast processor"]))
    kept = best.all()
    assert any("Fast processor" in key for key in kept)
    assert "issued gcc-12.2.0" not in best_pace.here(Shown(kept, 1, "", {}, best_pace.FORMAT))


def test_a_case_over_several_kinds_of_hosts_has_bounds_from_its_first_record_on() -> None:
    run = plant_run([HERE, "Slow processor", HERE])
    best = best_pace.Best({}, run.machine)
    first = run.records[0]
    assert not best.bounds(first.benchmark, first.kernel, first.parameters).best
    for record in run.records:
        best.learn(record)
    assert best.bounds(first.benchmark, first.kernel, first.parameters).best["issued"] == pytest.approx(3.0, rel=0.02)


def test_cases_on_this_machine_share_a_best_with_its_equals() -> None:
    """The name for the MPI may have a domain, or be one that no record has."""
    kinds = [HERE, HERE, HERE]
    run = plant_run(kinds)
    for names in (["bench.cluster", "n1.cluster", "n2.cluster"], ["10.0.0.1", "10.0.0.2", "10.0.0.3"]):
        hosts = tuple(Host(name, 1, HERE) for name in names)
        best = best_pace.learned(replace(run, machine=replace(run.machine, hosts=hosts)))
        assert [key for key in best.all() if key.startswith("issued")] == ["issued gcc-12.2.0"]


def test_a_host_names_its_processor_as_this_machine_does(capsys: pytest.CaptureFixture[str]) -> None:
    program.main()
    (host,) = read_processors(capsys.readouterr().out, (Host("a", 1),))
    assert host.processor == describe(whole=False).processor != ""


def test_a_host_without_an_answer_has_no_processor() -> None:
    assert [host.processor for host in read_processors("no line of ours", (Host("a", 1), Host("b", 2)))] == ["", ""]
