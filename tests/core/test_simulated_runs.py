"""Whole runs on simulated machines: the stated length, the limit of the preset, and the main figures, which come first."""

import random
from collections import defaultdict

import pytest

from simulated_machine import MPIS, Simulated, draw_machine, draw_truth, found, simulate
from steelyard.measure.plan import EFFORTS, by_value, make
from steelyard.model import Plan
from steelyard.statistics.results.identity import identity

GROUP = 4  # machines of one test


def list_main_cases(plan: Plan) -> set[tuple[object, ...]]:
    mains = by_value.main_places(found(), plan)
    return {identity(c) for x in plan.launches for i, c in enumerate(x.cases) if (x.number, i) in mains}


def count_launches(run: Simulated) -> dict[tuple[object, ...], int]:
    """Returns for each case of the main figures in how many launches it was measured."""
    launches: dict[tuple[object, ...], set[int]] = defaultdict(set)
    for record in run.records:
        launches[identity(record, "toolchain")].add(record.launch)
    return {case: len(launches[case]) for case in list_main_cases(run.plan)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("first", range(0, 200, GROUP))
def test_a_run_keeps_to_its_stated_length_on_any_machine(first: int) -> None:
    for seed in range(first, first + GROUP):
        chance = random.Random(seed)
        machine, truth, mpi = draw_machine(chance), draw_truth(chance), chance.choice(MPIS)
        run = simulate(machine, truth, chance, mpi)
        assert run.whole <= EFFORTS["quick"].limit, (seed, truth)
        assert min(count_launches(run).values()) >= 1, (seed, truth)
        assert abs(run.taken / run.stated - 1) <= 0.1, (seed, run.taken, run.stated, truth)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("budget", [10.0, 20.0, 60.0])
@pytest.mark.parametrize("seed", range(8))
def test_a_small_budget_measures_the_main_figures_first_from_20_seconds_on_twice(seed: int, budget: float) -> None:
    chance = random.Random(1000 + seed)
    machine, truth, mpi = draw_machine(chance), draw_truth(chance), chance.choice(MPIS)
    truth.starts = min(truth.starts, 1.5)
    whole = make(found(), machine, EFFORTS["quick"], {}, ["gcc"], mpis=[mpi])
    run = simulate(machine, truth, chance, mpi, budget=budget)
    launches = count_launches(run)
    assert launches.keys() == list_main_cases(whole)
    assert min(launches.values()) >= (2 if budget == 60 else 1), (truth, launches)
    order = dict.fromkeys(identity(record, "toolchain") for record in run.records)
    assert set([*order][: len(launches)]) == set(launches)
    assert run.taken <= 1.15 * run.stated
