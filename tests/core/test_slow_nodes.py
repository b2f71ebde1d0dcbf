"""Slow nodes: a planted one is named alone, equal nodes are hardly ever, and the stated sizes are found."""

import math

import numpy as np
import pytest

from steelyard.statistics.difference.slow_nodes import FOUND, LEVEL, Sweep, judge_nodes


def sweep(n: int, launches: int, seed: int, between: float = 0.004, slow: float = 0.0, tests: int = 1) -> Sweep:
    """Returns a sweep over n nodes, of which the one in the middle takes `slow` more time."""
    random = np.random.default_rng(seed)
    logs = between * random.standard_normal(n)
    logs[n // 2] += math.log1p(slow)
    times = {f"n{i}": np.exp(logs[i] + 0.004 * random.standard_normal(launches)).tolist() for i in range(n)}
    found = judge_nodes(times, tests)
    assert found is not None
    return found


def named(found: Sweep) -> list[str]:
    return [node.name for node in found.nodes if node.slow]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("n", "between"), [(8, 0.005), (16, 0.03), (16, 0.08), (100, 0.005), (100, 0.08)])
def test_equal_nodes_are_hardly_ever_accused(n: int, between: float) -> None:
    times = 2000 // n if n > 16 else 150
    accused = sum(bool(named(sweep(n, 2, seed, between))) for seed in range(times))
    assert accused <= LEVEL * times + 3 * math.sqrt(LEVEL * times)


@pytest.mark.parametrize(("n", "slow", "launches"), [(16, 0.15, 2), (16, 0.05, 2), (16, 0.03, 10), (100, 0.05, 2)])
def test_one_slow_node_is_named_alone(n: int, slow: float, launches: int) -> None:
    alone = sum(named(sweep(n, launches, seed, slow=slow)) == [f"n{n // 2}"] for seed in range(30))
    assert alone >= 26


def test_one_of_a_thousand_nodes_is_named() -> None:
    assert named(sweep(1000, 2, 7, 0.005, 0.05)) == ["n500"]


def test_two_slow_nodes_do_not_hide_each_other() -> None:
    random = np.random.default_rng(3)
    times = {
        f"n{i}": (np.exp(0.003 * random.standard_normal(2)) * (1.08 if i in (3, 9) else 1)).tolist() for i in range(16)
    }
    found = judge_nodes(times)
    assert found is not None
    assert sorted(named(found)) == ["n3", "n9"]


def test_a_node_of_the_stated_slowness_is_found_as_often_as_stated() -> None:
    sizes = sorted(sweep(32, 3, seed).detectable or 0 for seed in range(30))
    hits = sum("n16" in named(sweep(32, 3, seed, slow=sizes[15] - 1)) for seed in range(100))
    assert hits >= (FOUND - 0.07) * 100
    stated = sweep(32, 3, 1)
    assert stated.needed[0.1] == 1
    assert stated.needed[0.01] is None


def test_launches_that_differ_more_than_their_nodes_contradict_no_statement() -> None:
    launches = 0.2 * np.random.default_rng(1).standard_normal(3)  # the same ones on each node
    levels = 0.004 * np.random.default_rng(2).standard_normal(16)
    found = judge_nodes({f"n{i}": np.exp(level + launches).tolist() for i, level in enumerate(levels)})
    assert found is not None
    assert found.detectable is not None
    enough = [size for size, number in found.needed.items() if number is not None and number <= 3]
    assert enough == [size for size in found.needed if 1 + size >= found.detectable]


def test_a_fast_node_and_a_small_difference_are_not_accused() -> None:
    times = {f"n{i}": [1.0 + 0.0001 * i] for i in range(16)}
    assert named(judge_nodes({**times, "n3": [0.5]})) == []
    assert named(judge_nodes({**times, "n3": [1.015]})) == []  # for sure, but less than 2 %
    assert named(judge_nodes({**times, "n3": [1.03]})) == ["n3"]


def test_of_a_few_nodes_only_a_clear_difference_counts() -> None:
    random = np.random.default_rng(5)
    times = {f"n{i}": np.exp(0.004 * random.standard_normal(5)).tolist() for i in range(4)}
    assert named(judge_nodes(times)) == []
    assert named(judge_nodes({**times, "n2": [1.2 * t for t in times["n2"]]})) == ["n2"]
    assert judge_nodes({"a": [1.0], "b": [1.0]}) is None


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_time_that_cannot_be_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="node c"):
        judge_nodes({"a": [1.0], "b": [1.0], "c": [bad]})


def test_equal_values_accuse_nobody() -> None:
    assert named(judge_nodes({f"n{i}": [1.0, 1.0] for i in range(20)})) == []


def rates(values: list[float], launches: int = 2) -> Sweep:
    """Returns a sweep over devices or links with these rates (any unit), whose launches scatter by 0.3 %."""
    random = np.random.default_rng(9)
    times = {f"n{i}": np.exp(0.003 * random.standard_normal(launches)) / value for i, value in enumerate(values)}
    found = judge_nodes({name: row.tolist() for name, row in times.items()})
    assert found is not None
    return found


def test_limits_that_failed_in_public_are_not_needed() -> None:
    """Floors that were typed: for a GPU 1,000 times too low, 0.75 of one measurement, above healthy links, one σ of ranks."""
    random = np.random.default_rng(4)
    half = [2.21e6 * (1 + 0.004 * float(random.standard_normal())) for _ in range(16)]  # MB/s; its floor was 2333
    assert named(rates([*half[:5], 1.1e6, *half[6:]])) == ["n5"]
    assert named(rates([*half[:5], 0.76 * 2.21e6, *half[6:]])) == ["n5"]
    links = [256 * (1 + 0.01 * float(random.standard_normal())) for _ in range(18)]  # the floor was 335
    assert named(rates(links)) == []
    assert named(rates([*links[:12], *[335.0] * 6])) == []  # two kinds of links: neither is accused
    ranks = np.exp(0.08 * random.standard_normal(96)).tolist()
    assert sum(rank < 1 - 0.08 for rank in ranks) >= 10
    assert named(rates(ranks)) == []


def test_nodes_whose_usual_differences_are_skewed_accuse_few() -> None:
    random = np.random.default_rng(5)
    for _ in range(5):
        logs = 0.02 * random.exponential(1, 1000)  # many are as fast as each other, and a few healthy ones far slower
        found = judge_nodes(
            {f"n{i}": np.exp(value + 0.002 * random.standard_normal(2)).tolist() for i, value in enumerate(logs)}
        )
        assert found is not None
        assert named(found) == []
    logs[7] = 0.35
    found = judge_nodes({f"n{i}": [math.exp(value)] * 2 for i, value in enumerate(logs)})
    assert found is not None
    assert named(found) == ["n7"]


def test_three_of_ten_nodes_are_a_second_kind() -> None:
    random = np.random.default_rng(6)
    levels = np.where(np.arange(100) % 10 < 3, 0.08, 0.0) + 0.002 * random.standard_normal(100)
    found = judge_nodes({f"n{i}": [math.exp(level)] * 2 for i, level in enumerate(levels)})
    assert found is not None
    assert named(found) == []
