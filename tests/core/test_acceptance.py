"""The gate: healthy nodes are not refused, slow ones do not pass, and neither looking often nor retrying changes that."""

import math
from collections import Counter

import numpy as np
import pytest

from steelyard.statistics.difference.acceptance import ERROR, SLOW, count_looks, decide

TIMES = 60


def gate(random: np.random.Generator, slow: float, within: float, *, between: float = 0.005, tries: int = 1) -> str:
    """Returns the answer after at most ten rounds of each try, with ten peers of three launches. `slow` 0: a healthy node."""
    levels = between * random.standard_normal(10)
    reference = [np.exp(level + within * random.standard_normal(3)).tolist() for level in levels]
    own_level = math.log1p(slow) if slow else between * random.standard_normal()
    launches: list[float] = []
    for look in range(1, 10 * tries + 1):
        launches.append(math.exp(own_level + within * random.standard_normal()))
        answer = decide(reference, launches, look, figures=3).answer
        if answer != "undecided":
            return answer
    return "undecided"


def answers(slow: float, within: float, tries: int = 1, between: float = 0.005) -> Counter[str]:
    random = np.random.default_rng(7)
    return Counter(gate(random, slow, within, tries=tries, between=between) for _ in range(TIMES))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("within", [0.004, 0.02, 0.04])
@pytest.mark.parametrize("between", [0.003, 0.01])
def test_a_healthy_node_is_hardly_ever_refused(within: float, between: float) -> None:
    assert answers(0.0, within, between=between)["slower"] <= 0.05 * TIMES


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("within", "tries"), [(0.004, 1), (0.02, 1), (0.03, 5)])
def test_a_slow_node_does_not_pass_however_often_it_tries(within: float, tries: int) -> None:
    assert answers(SLOW, within, tries)["as usual"] <= (ERROR + 0.02) * TIMES


def test_on_a_quiet_machine_both_are_decided_at_once() -> None:
    assert answers(0.0, 0.004)["as usual"] >= 0.95 * TIMES
    assert answers(SLOW, 0.004)["slower"] >= 0.95 * TIMES


def test_peers_that_differ_let_more_pass_and_the_decision_says_so() -> None:
    random = np.random.default_rng(1)
    wide = [np.exp([0.03 * random.standard_normal()] * 3).tolist() for _ in range(10)]
    decision = decide(wide, [1.0] * 4, 1)
    assert decision.slowest is not None
    assert decision.slowest == decision.border > 1 + SLOW
    equal = [[1.0, 1.001, 0.999]] * 10
    assert decide(equal, [1.0] * 4, 1).slowest is None


def test_beside_a_given_time_the_scatter_of_the_node_decides() -> None:
    launches = [1.0, 1.004, 0.997, 1.002]
    answers = [decide([[usual]], launches, 1, given=True).answer for usual in (1.2, 1.0, 0.9)]
    assert answers == ["as usual", "as usual", "slower"]
    with pytest.raises(ValueError, match="1 peers or runs are too few"):
        decide([[1.0]], launches, 1)


def test_looks_become_rarer() -> None:
    assert [rounds for rounds in range(1, 60) if count_looks(rounds) > count_looks(rounds - 1)] == [
        1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 30, 38, 48,
    ]  # fmt: skip
    assert count_looks(0) == 0


def test_few_launches_or_peers_decide_nothing() -> None:
    equal = [[1.0, 1.001, 0.999]] * 6
    assert decide(equal, [2.0, 2.0], 1).answer == "undecided"
    assert decide(equal, [2.0, 2.0, 2.0], 1).answer == "slower"
    assert decide(equal, [], 1).answer == "undecided"
    with pytest.raises(ValueError, match="4 peers or runs are too few"):
        decide(equal[:4], [1.0] * 3, 1)
    with pytest.raises(ValueError, match="this node"):
        decide(equal, [1.0, math.nan, 1.0], 1)
