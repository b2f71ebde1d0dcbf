"""`steelyard fleet`: the slow node is named, in its figures, and no other; what a sweep would find is stated."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from copied_runs import write_copy
from output_schemas import read_output
from steelyard.errors import UsageError
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
