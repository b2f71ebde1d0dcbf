"""Nodes that draw more than their peers: found where one does, silent where none does, and how often wrongly."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from test_power_query import NO_ACCOUNT, programs

from output_schemas import read_output
from steelyard.measure.telemetry.watched import Stretch, courses
from steelyard.model.sensor import Sensor, Trace
from steelyard.power.message import Batch
from steelyard.power.peers import Above, Member, find_above_peers
from steelyard.power.stores import open_store
from steelyard.show.command_line import cli

SECOND = 10**9
START = 1_790_000_000
SOCKET = Sensor("rapl/package-0", "energy", "RAPL (powercap)", resolution=1e-6)
BOARD = Sensor("redfish/bmc/power", "power", "Redfish", window=1.0)
WHOLE = (Stretch("", 10 * SECOND, 190 * SECOND),)
AT = np.arange(0, 200, 0.5)
Powers = Sequence[float] | np.ndarray


def phases(level: float) -> np.ndarray:
    """W at each half second: a load that changes by a factor of two, as all nodes of a job see it at the same time."""
    return level * (1 + (np.sin(AT / 7) > 0) * 1.0)


def trace(sensor: Sensor, watts: np.ndarray) -> Trace:
    value = np.concatenate(([0.0], np.cumsum(watts[:-1] * np.diff(AT)))) if sensor.quantity == "energy" else watts
    return Trace(sensor, np.round(AT * SECOND).astype(np.int64), value)


def member(name: str, watts: np.ndarray, *sensors: Sensor, stretches: tuple[Stretch, ...] = WHOLE) -> Member:
    return Member(name, courses({s.name: trace(s, watts) for s in sensors or (SOCKET,)}), stretches)


def nodes(levels: Sequence[float], seed: int = 1, scatter: float = 0.02, *sensors: Sensor) -> list[Member]:
    """Nodes of so many watts, whose readings scatter by so much."""
    chance = np.random.default_rng(seed)
    return [
        member(f"c/n{number}", phases(level) * chance.normal(1, scatter, len(AT)), *sensors)
        for number, level in enumerate(levels, 1)
    ]


@pytest.mark.parametrize("sensor", [SOCKET, BOARD])
def test_one_that_draws_more_is_named_with_an_interval_that_holds_the_truth(sensor: Sensor) -> None:
    (found,) = find_above_peers(nodes([100, 100, 130, 100, 100], 1, 0.02, sensor))
    assert (found.node, found.source, found.peers, found.case) == ("c/n3", sensor.source, 5, "")
    assert found.low < 1.3 < found.high
    assert found.factor == pytest.approx(1.3, rel=0.02)
    assert found.p < 0.005
    assert "c/n3 draws 1.3" in found.sentence
    assert (
        f"the median power of 5 nodes, by {sensor.source}. The difference exceeds their scatter (p " in found.sentence
    )


def test_two_that_draw_more_are_both_named_the_greatest_first() -> None:
    assert [each.node for each in find_above_peers(nodes([100, 120, 100, 100, 140, 100, 100]))] == ["c/n5", "c/n2"]


@pytest.mark.parametrize(
    "levels",
    [
        [100, 100, 100, 100],  # all alike
        [100, 103, 100, 100, 100],  # less than anybody looks for
        [100, 100, 70, 100, 100],  # one draws less, which costs nobody anything
        [100, 150],  # of two either could be the odd one
    ],
)
def test_where_none_draws_more_nothing_is_said(levels: list[float]) -> None:
    assert find_above_peers(nodes(levels)) == []


def test_phases_that_all_nodes_have_are_no_scatter() -> None:
    """A load that changes by a factor of two would hide what is a fifth more, were it not compared moment by moment."""
    (found,) = find_above_peers(nodes([100, 100, 100, 120]))
    assert found.node == "c/n4"


def test_nodes_with_other_sensors_or_other_times_are_no_peers() -> None:
    four = nodes([100, 100, 130, 100])
    second = replace(SOCKET, name="rapl/package-1")
    both = member("c/n9", phases(100), SOCKET, second)
    later = member("c/n8", phases(100), stretches=(Stretch("", 20 * SECOND, 190 * SECOND),))
    (found,) = find_above_peers([*four, both, later])
    assert (found.node, found.peers) == ("c/n3", 4)
    assert find_above_peers([four[2], both, later, four[0]]) == []


def test_a_modelled_power_names_nobody() -> None:
    assert find_above_peers(nodes([100, 100, 150, 100], 1, 0.02, replace(SOCKET, modelled=True))) == []


def test_what_the_makers_error_explains_is_not_named() -> None:
    assert find_above_peers(nodes([100, 100, 115, 100, 100], 1, 0.01, replace(BOARD, error=0.1))) == []
    assert len(find_above_peers(nodes([100, 100, 115, 100, 100], 1, 0.01, replace(BOARD, error=0.02)))) == 1


def test_too_short_a_time_says_nothing() -> None:
    short = (Stretch("", 10 * SECOND, 12 * SECOND),)
    assert find_above_peers([replace(each, stretches=short) for each in nodes([100, 100, 150, 100])]) == []


@pytest.mark.long
@pytest.mark.parametrize("jobs", [20, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("wander", [0.0, 0.05])
def test_equal_nodes_are_hardly_ever_named(wander: float, jobs: int) -> None:
    """Of 100 jobs on 8 equal nodes, whose power scatters and wanders about on its own, at most one with a name.

    Binomial: 20 jobs of each of the two cases find that one in ten has a name with probability 0.98.
    """
    chance = np.random.default_rng(7)
    wrong = 0
    for _ in range(jobs):
        alike = []
        for number in range(8):
            slow = wander * np.sin(AT / chance.uniform(5, 20) + chance.uniform(0, 6))
            alike.append(member(f"c/n{number}", phases(100) * (1 + slow) * chance.normal(1, 0.05, len(AT))))
        wrong += bool(find_above_peers(alike))
    assert wrong <= jobs // 100


def test_a_query_of_a_job_names_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "store")
    store = open_store(place, make=True)
    for number, watts in enumerate((100.0, 140.0, 100.0, 100.0), 1):
        store.describe(f"c/n{number}", [SOCKET])
        at = START * SECOND + np.round(AT * SECOND).astype(np.int64)
        columns = np.zeros(len(at), np.uint16), at, trace(SOCKET, phases(watts)).value
        store.write([Batch(f"c/n{number}", UUID(int=number), 0, (SOCKET.name,), *columns)])
    store.close()
    programs(tmp_path / "bin", monkeypatch, sacct=f"echo '12|{START + 10}|{START + 190}|n[1-4]'", scontrol=NO_ACCOUNT)
    words = ["power", "query", "--store", place, "--job", "12"]
    assert cli.run_and_explain(lambda: cli.app(words)) == 0
    assert "c/n2 draws 1.40 times (" in capsys.readouterr().out
    assert cli.run_and_explain(lambda: cli.app([*words, "--json"])) == 0
    (found,) = read_output("power-query", capsys.readouterr().out)["above_peers"]
    assert Above(**found).node == "c/n2"
