"""`steelyard fleet`: the slow node is named, in its figures, and no other; what a sweep would find is stated."""

import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from copied_runs import write_copy
from output_schemas import read_output
from steelyard.compare.classes import find_class_of
from steelyard.compare.side import SideCase
from steelyard.errors import UsageError
from steelyard.fleet import sweep
from steelyard.fleet.nodes import judge_fleet
from steelyard.fleet.sweep import estimate_left
from steelyard.model import LaunchTime, Value
from steelyard.show.command_line.cli import app

pytestmark = pytest.mark.wings
NODES, SLOW = 10, "n04"


def is_slow_at(record: dict[str, Any]) -> bool:
    return record["benchmark"] in ("memory.stream", "memory.latency")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each node; the memory of one takes 12 % more time."""
    folder = tmp_path_factory.mktemp("nodes")
    for number in range(NODES):
        name = f"n{number:02d}"
        write_copy(folder / name, host=name, seed=number,
                   factor=lambda record, name=name: 1.12 if name == SLOW and is_slow_at(record) else 1.0)  # fmt: skip
    return folder


def test_the_slow_node_is_named_alone(nodes: Path) -> None:
    found = CliRunner().invoke(app, ["fleet", str(nodes), "--json", "--fail-on-slow"])
    assert found.exit_code == 1, found.output
    answer = read_output("fleet", found.stdout)
    assert answer["nodes"] == [f"n{n:02d}" for n in range(NODES)]
    (slow,) = answer["slow"]
    assert slow["node"] == SLOW
    assert {f["title"] for f in slow["figures"] if f["main"]} == {"Triad bandwidth", "Memory latency"}
    assert all(1.09 < f["ratio"] < 1.15 for f in slow["figures"])
    main = [figure for figure in answer["figures"] if figure["main"]]
    assert all(1.01 < figure["detectable"] < 1.06 for figure in main)


def test_the_screen_names_it_with_values_and_says_what_would_be_found(nodes: Path) -> None:
    found = CliRunner().invoke(app, ["fleet", str(nodes)])
    assert found.exit_code == 0, found.output
    text = " ".join(found.stdout.split())
    assert "n04 is slow: " in text
    assert "more time than its peers (" in text
    assert "No other slow node was found." in text
    assert "The sweep took 0.011 node hours and found 1 slow node: 0.011 node hours for each." in text
    assert "A node is named with a chance of 95 % if it takes this much more time or more:" in text
    whole = CliRunner().invoke(app, ["fleet", str(nodes), "--all"]).stdout
    assert "Standard deviation of equal nodes:" in whole


def test_a_node_that_left_is_named(tmp_path: Path) -> None:
    for number in range(4):
        day = "2026-10-02" if number == 2 else "2026-11-01"
        write_copy(tmp_path / f"n{number}", host=f"n{number}", seed=number, started=f"{day}T10:00:00+00:00")
    answer = read_output("fleet", CliRunner().invoke(app, ["fleet", str(tmp_path), "--json"]).stdout)
    assert answer["notes"] == ["n2 has no run since 2026-10-02, unlike most nodes"]


def test_runs_of_one_host_are_one_node(nodes: Path, tmp_path: Path) -> None:
    for number in range(3):
        write_copy(tmp_path / f"again{number}", host=f"n{number:02d}", seed=50 + number)
    found = CliRunner().invoke(app, ["fleet", str(nodes), str(tmp_path), "--json"])
    answer = read_output("fleet", found.stdout)
    assert len(answer["nodes"]) == NODES
    assert [slow["node"] for slow in answer["slow"]] == [SLOW]


def test_equal_nodes_accuse_nobody(nodes: Path) -> None:
    others = [str(path) for path in sorted(nodes.iterdir()) if path.name != SLOW]
    found = CliRunner().invoke(app, ["fleet", *others, "--fail-on-slow"])
    assert found.exit_code == 0, found.output
    assert "No slow node was found." in found.stdout


def test_two_nodes_are_refused_with_the_command_that_compares_them(nodes: Path) -> None:
    found = CliRunner().invoke(app, ["fleet", str(nodes / "n00"), str(nodes / "n01")])
    assert isinstance(found.exception, UsageError)
    assert "peers are at least three nodes" in str(found.exception)
    assert isinstance(CliRunner().invoke(app, ["fleet", "no-such-run"]).exception, UsageError)


def accept(*words: str) -> tuple[int, dict[str, Any]]:
    """Returns the exit code and the acceptance."""
    found = CliRunner().invoke(app, ["fleet", *words, "--accept", "--json"])
    answer: dict[str, Any] = read_output("fleet", found.stdout)["acceptance"]
    return found.exit_code, answer


def outcomes(answer: dict[str, Any]) -> dict[str, str]:
    return {rule["name"]: rule["outcome"] for rule in answer["rules"]}


def test_a_cluster_with_a_slow_node_is_not_accepted(nodes: Path) -> None:
    code, answer = accept(str(nodes))
    assert (code, answer["answer"], answer["worst"], answer["defects"]) == (1, "failed", SLOW, 1)
    assert 1.09 < answer["worst_ratio"] < 1.15
    (rule,) = (rule for rule in answer["rules"] if rule["outcome"] == "failed")
    assert (rule["name"], rule["nodes"]) == ("no node 5 % slow", [SLOW])
    assert "steelyard gate" in rule["next"]


def test_equal_nodes_pass_only_what_their_runs_would_show(nodes: Path) -> None:
    others = [str(path) for path in sorted(nodes.iterdir()) if path.name != SLOW]
    assert accept(*others, "--slow", "8")[0] == 0
    code, answer = accept(*others, "--slow", "0.5")
    assert (code, outcomes(answer)["no node 0.5 % slow"]) == (5, "undecided")
    code, answer = accept(*others[:5])
    assert (code, outcomes(answer)["no node 5 % slow"]) == (5, "undecided")
    assert any("8 nodes or more" in rule["next"] for rule in answer["rules"])


def test_a_promised_value_is_a_rule_of_its_own(nodes: Path) -> None:
    others = [str(path) for path in sorted(nodes.iterdir()) if path.name != SLOW]
    for value, code, outcome in (("1 Gflop/s", 0, "passed"), ("900 Tflop/s", 1, "failed")):
        found, answer = accept(*others, "--slow", "8", "--expect", f"Arithmetic peak={value}")
        (promise,) = (rule for rule in answer["rules"] if rule["name"].endswith("as promised"))
        assert (found, promise["outcome"]) == (code, outcome), promise
    screen = CliRunner().invoke(app, ["fleet", *others, "--accept", "--slow", "8"]).stdout
    assert "Acceptance: passed." in screen
    assert "A weekly sweep takes " in screen
    assert "further node" not in screen


def test_the_time_left_counts_nodes_that_wait() -> None:
    assert estimate_left(60, [], 4, 2) == 120
    assert estimate_left(60, [50, 20], 1, 2) == 70
    assert estimate_left(60, [90], 0, 2) == 0


def test_words_of_an_earlier_sweep_are_kept_apart(tmp_path: Path) -> None:
    sweep.begin(tmp_path / "nodes", ["--only", "memory"])
    sweep.begin(tmp_path / "nodes", ["--only", "memory"])
    with pytest.raises(UsageError, match="measured with '--only memory'"):
        sweep.begin(tmp_path / "nodes", ["--only", "core"])
    for words in (["--accept", "--slow", "0"], ["--expect", "a=1 s"], ["--hosts", "a,b", "--", "--name", "x"]):
        assert isinstance(
            CliRunner().invoke(app, ["fleet", "--runs", str(tmp_path / "x"), *words]).exception, UsageError
        )


def device_case(device: int, seconds: float) -> SideCase:
    """Returns a case of one device, of two launches."""
    parameters = {"door": "cuda", "device": device, "elements": 1 << 26}
    value = Value(value=1e9 / seconds, low=0.9e9, high=1.1e9, unit="B/s", better="higher")
    times = tuple(
        LaunchTime(launch=n, began=None, seconds=seconds * (1 + 0.001 * n), disturbed=False) for n in range(2)
    )
    return SideCase(benchmark="device.stream", kernel="triad", parameters=parameters, metrics={"bandwidth": value}, times=times,
                    kind=find_class_of("device.stream", parameters, "B/s"), level="CLEAN")  # fmt: skip


@pytest.mark.parametrize("slower", [1.08, 1.0])
def test_a_slow_device_of_eight_is_named_among_all_devices(slower: float) -> None:
    chance = random.Random(3)
    nodes = {
        f"n{node}": [
            device_case(device, chance.lognormvariate(0, 0.004) * (slower if (node, device) == (2, 5) else 1.0))
            for device in range(8)
        ]
        for node in range(4)
    }
    fleet = judge_fleet(nodes)
    assert [one.name for one in fleet.slow] == (["n2 device 5"] if slower > 1 else [])
    assert len(fleet.figures[0].nodes) == 32


def test_a_slow_node_says_since_when_and_whether_its_cores_explain_it(nodes: Path, tmp_path: Path) -> None:
    for number, day in enumerate(("2026-08-01", "2026-09-01")):
        write_copy(tmp_path / f"old{number}", host=SLOW, seed=70 + number, started=f"{day}T10:00:00+00:00",
                   factor=lambda record: 1.12 if is_slow_at(record) else 1.0)  # fmt: skip
    found = CliRunner().invoke(app, ["fleet", str(nodes), str(tmp_path), "--json"])
    (slow,) = read_output("fleet", found.stdout)["slow"]
    assert slow["beside"] == ["It was as slow in all its 3 runs since 2026-08-01."]
