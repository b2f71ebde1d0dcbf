"""`steelyard gate` with real measurements: a healthy node is not refused, a slow one does not pass, and tries count together."""

import json
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from copied_runs import measure_small, write_copy, write_peers
from folders import ROOT
from output_schemas import read_output
from steelyard.errors import UsageError
from steelyard.fleet import gate_screen
from steelyard.fleet.gate import Gated, find_published
from steelyard.measure.machine import describe
from steelyard.show.command_line.cli import app
from steelyard.show.command_line.evaluated_run import find_summary
from steelyard.show.command_line.sides import read_side_run
from steelyard.show.report.summary import find_standings
from steelyard.statistics.difference.acceptance import Decision
from steelyard.statistics.results.identity import identity

pytestmark = pytest.mark.wings


def invoke(*words: str) -> Any:
    return CliRunner().invoke(app, list(words))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measure_small(tmp_path_factory.mktemp("measured"))


@pytest.fixture
def reference(measured: Path, tmp_path: Path) -> Callable[[float], Path]:
    """Copies the runs with other times, as undisturbed ones of five hosts."""

    return lambda factor: write_peers(measured, tmp_path / "nodes", factor)


def gate(nodes: Path, runs: Path, *words: str) -> Any:
    done = invoke("gate", str(nodes), "--runs", str(runs), "--budget", "6s", "--json", *words)
    answer = read_output("gate", done.stdout)
    assert done.exit_code == {"as usual": 0, "slower": 1, "undecided": 5}[answer["answer"]]
    return answer


@pytest.mark.long
def test_a_node_that_is_much_slower_than_its_peers_does_not_pass(
    reference: Callable[[float], Path], tmp_path: Path
) -> None:
    nodes, runs = reference(1 / 3), tmp_path / "runs"
    first = gate(nodes, runs)
    assert (first["reference"], first["attempts"]) == ("peers", 1)
    assert first["answer"] != "as usual"
    again = gate(nodes, runs)
    assert again["answer"] != "as usual"
    assert (again["attempts"], again["rounds"] > first["rounds"], len(again["runs"])) == (2, True, 2)
    repaired = gate(nodes, runs, "--after-repair")
    assert (repaired["attempts"], len(repaired["runs"])) == (1, 1)


@pytest.mark.long
def test_a_node_that_is_faster_than_its_peers_is_not_refused(
    reference: Callable[[float], Path], tmp_path: Path
) -> None:
    answer = gate(reference(3.0), tmp_path / "runs")
    assert answer["answer"] != "slower"
    (figure,) = answer["figures"]
    assert figure["title"] == "Triad bandwidth"


@pytest.mark.long
def test_the_past_of_a_node_serves_where_it_has_no_peers(measured: Path, tmp_path: Path) -> None:
    done = invoke("gate", str(measured), "--runs", str(tmp_path / "runs"), "--budget", "6s")
    assert done.exit_code in (0, 1, 5)
    text = " ".join(done.stdout.split())
    assert f"{describe(whole=False).host}, compared with its earlier runs: " in text
    assert "Triad bandwidth (" in text


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("value", "answer"), [("1 MB/s", "as usual"), ("900 TB/s", "slower")])
def test_a_value_that_somebody_gave_is_compared_as_such(tmp_path: Path, value: str, answer: str) -> None:
    words = [
        "gate",
        str(measure_small(tmp_path / "measured", 1) / "b0"),
        "--runs",
        str(tmp_path / "runs"),
        "--budget",
        "6s",
        "--expect",
        f"Triad bandwidth={value}",
    ]
    done = invoke(*words)
    assert {"as usual": 1, "slower": 0}[answer] != done.exit_code
    assert ", compared with the values that you gave: " in " ".join(done.stdout.split())


def test_published_values_of_such_hardware_can_be_the_reference(tmp_path: Path) -> None:
    run = write_copy(tmp_path / "n0", processor="Intel(R) Xeon(R) Platinum 8480+")
    summary, side = find_summary(run, ()), read_side_run(run, ())
    reference = find_published([side], [summary])
    ((key, figure),) = reference.figures.items()
    assert (figure.title, reference.kind) == ("Triad bandwidth", "published values")
    standing = find_standings([figure], summary.machine)[0]
    times = [t.seconds for case in side.cases if identity(case) == key for t in case.times]
    factor = standing.value.value / standing.normal[0]
    assert factor > 2
    assert reference.times[key] == [[pytest.approx(statistics.median(times) * factor)]]
    kept = [figure for figure in summary.figures if figure.title == "Memory latency"]
    with pytest.raises(UsageError, match="The library has no published values of such hardware"):
        find_published([side], [replace(summary, figures=tuple(kept))])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("Triad=3 GB/s", "No run has the figure 'Triad' (given by --expect). Did you mean 'Triad bandwidth'?"),
        ("Triad bandwidth=3 ns", "(given by --expect): '3 ns' is not a value such as '3.5 B/s'"),
        ("Triad bandwidth", "(given by --expect): '' is not a value"),
    ],
)
def test_a_given_value_without_a_meaning_is_refused(tmp_path: Path, given: str, sentence: str) -> None:
    run = write_copy(tmp_path / "n0")
    with pytest.raises(UsageError, match=re.escape(sentence)):
        raise invoke("gate", str(run), "--runs", str(tmp_path / "runs"), "--expect", given).exception


def test_too_few_peers_are_refused_and_so_is_another_processor(tmp_path: Path) -> None:
    for number in range(4):
        write_copy(tmp_path / "nodes" / f"n{number}", host=f"n{number}", seed=number)
    few = invoke("gate", str(tmp_path / "nodes"), "--runs", str(tmp_path / "runs"))
    assert isinstance(few.exception, UsageError)
    assert "has runs of 4 other hosts, and 0 runs of" in str(few.exception)
    about = json.loads((tmp_path / "nodes" / "n0" / "run.json").read_text())
    for number in range(5):
        write_copy(tmp_path / "others" / f"n{number}", host=f"n{number}", seed=number)
        about = json.loads((tmp_path / "others" / f"n{number}" / "run.json").read_text())
        about["machine"]["processor"] = "Another 9000"
        (tmp_path / "others" / f"n{number}" / "run.json").write_text(json.dumps(about))
    other = invoke("gate", str(tmp_path / "others"), "--runs", str(tmp_path / "runs"))
    assert isinstance(other.exception, UsageError)
    assert "was measured on 'Another 9000'" in str(other.exception)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("words", [("--budget", "soon"), ("--slow", "0"), ("--slow", "100")])
def test_settings_without_a_meaning_are_refused(words: tuple[str, ...]) -> None:
    assert isinstance(invoke("gate", *words).exception, UsageError)


def undecided(ratio: float, half: float, launches: int = 12) -> Gated:
    """Returns an answer that is undecided in one figure."""
    low, high = ratio / half, ratio * half
    one = Decision(answer="undecided", ratio=ratio, low=low, high=high, usual=1.02, border=1.05, launches=launches)
    decisions: Any = {("a", "b"): (SimpleNamespace(title="Triad"), one)}
    return Gated(
        answer="undecided", host="n1", kind="peers", decisions=decisions, attempts=1, rounds=12, seconds=60.0, runs=()
    )


def test_an_undecided_answer_says_what_to_do_and_how_long() -> None:
    # Half of the range is twice the distance from the limit: four times as many launches, so three minutes more.
    assert "About 3 min" in gate_screen.advise(undecided(1.0, 1.05**2))
    assert "may take hours" in gate_screen.advise(undecided(1.035, 1.3))
    assert "Other work disturbs this node" in gate_screen.advise(undecided(1.0, 1.1, launches=2))
    assert gate_screen.word_reason(undecided(1.123, 1.3)) == "steelyard gate: undecided, Triad +12.3 % time"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
@pytest.mark.parametrize("calendar", ["*-*-* 03:00", "never"])
def test_systemd_accepts_the_documented_timer(tmp_path: Path, calendar: str) -> None:
    text = (ROOT / "docs/acceptance.md").read_text()
    for kind in ("service", "timer"):
        (block,) = re.findall(rf"    # /etc/systemd/system/steelyard-gate\.{kind}\n((?:    .*\n)+)", text)
        unit = "\n".join(line[4:] for line in block.splitlines()).replace("/usr/local/sbin/steelyard-gate", "/bin/true")
        assert ("OnCalendar=*-*-* 03:00" in unit) == (kind == "timer")
        (tmp_path / f"steelyard-gate.{kind}").write_text(unit.replace("*-*-* 03:00", calendar) + "\n")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / "steelyard-gate.timer")], capture_output=True, check=False
    )
    assert (done.returncode == 0) == (calendar != "never"), done.stderr
