"""Two commands of the user, measured in turn: steelyard compare -- A B."""

import sys
from pathlib import Path

import pytest

from output_schemas import read_output
from steelyard.compare.commands import compare_timings
from steelyard.errors import MachineFailed, UsageError
from steelyard.measure.launch.commands_in_turn import Timing, Timings, time_in_turn
from steelyard.show.command_line import cli


def timings(*ratios: float) -> Timings:
    """Pairs of runs of a machine that becomes slower by half from the first pair to the last."""
    pace = [1 + 0.5 * n / len(ratios) for n in range(len(ratios))]
    return Timings(
        [Timing(p, 0.5 * p) for p in pace], [Timing(p * r, 0.5 * p) for p, r in zip(pace, ratios, strict=True)]
    )


def test_a_difference_shows_although_the_machine_becomes_slower() -> None:
    time_, processor = compare_timings(timings(*[1.05 + 0.001 * (n % 5) for n in range(20)]))
    assert (time_.name, time_.comparison.call) == ("time", "SLOWER")
    assert 1.05 < time_.comparison.low <= time_.comparison.ratio <= time_.comparison.high < 1.056
    assert processor.comparison.call == "SAME"
    assert (time_.first.value, processor.first.value) == (pytest.approx(1.2375), pytest.approx(0.61875))


def test_equal_commands_are_not_called_different() -> None:
    (time_, _) = compare_timings(timings(*[1 + 0.1 * (-1) ** n for n in range(20)]))
    assert time_.comparison.call == "UNCLEAR"


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(UsageError, match="Only 5 pairs"):
        compare_timings(timings(*[1.0] * 5))


def test_both_run_in_turn_and_in_random_order(tmp_path: Path) -> None:
    log = tmp_path / "log"
    commands = [["sh", "-c", f"echo {name} >> {log}; echo noise"] for name in "ab"]
    shown: list[int] = []
    measured = time_in_turn(commands[0], commands[1], 12, 1, lambda done, left: shown.append(done))
    assert shown == [*range(1, 13)]
    assert len(measured.first) == len(measured.second) == 12
    assert all(0 < run.processor < run.seconds * 64 for run in measured.first)
    runs = log.read_text().split()
    pairs = ["".join(runs[n : n + 2]) for n in range(0, len(runs), 2)]
    assert pairs[0] == "ab", "the first run of each is not counted"
    assert set(pairs[1:]) == {"ab", "ba"}


def test_a_run_that_fails_has_no_time() -> None:
    with pytest.raises(MachineFailed, match="(?s)exit code 3.*no licence"):
        time_in_turn(["sh", "-c", "echo no licence >&2; exit 3"], ["true"], 6, 1)
    with pytest.raises(UsageError, match="'/none' cannot be started"):
        time_in_turn(["true"], ["/none"], 6, 1)


def test_the_answer_is_the_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "--rounds", "10", "--quiet"]
    slow, fast = f"{sys.executable} -S -c 'import time; time.sleep(0.2)'", "true"
    assert cli.run_and_explain(lambda: cli.app([*words, "--", slow, fast])) == 0
    assert capsys.readouterr().out.startswith("true is faster than ")
    strict = [*words, "--fail-on-slower", "--"]
    assert [
        cli.run_and_explain(lambda order=order: cli.app([*strict, *order])) for order in ((slow, fast), (fast, slow))
    ] == [0, 1]
    capsys.readouterr()
    assert cli.run_and_explain(lambda: cli.app([*words, "--json", "--", "true", "true"])) == 0
    found = read_output("compare", capsys.readouterr().out)
    assert (found["pairs"], len(found["runs"]["second"])) == (10, 10)
    assert cli.run_and_explain(lambda: cli.app(["compare", "--", "true", "a 'b"])) == 2
    assert "Put the whole command into quotes" in capsys.readouterr().err
    for option in (["--markdown"], ["--only", "memory"], ["--all"], ["--price", "a=1/h"]):
        capsys.readouterr()
        assert cli.run_and_explain(lambda option=option: cli.app(["compare", *option, "--", "true", "true"])) == 2
        assert f"{option[0]} applies to runs, and not to two commands" in capsys.readouterr().err


def test_a_busy_machine_does_not_let_a_slower_program_pass(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = [0.5, 3.0, 1.0, 2.5, 0.3, 4.0, 0.8, 2.0, 0.2, 3.5]  # for the processor, which others use
    found = Timings(
        [Timing(1 + wait, 1.0) for wait in waits],
        [Timing(1.5 + wait, 1.5 + 0.01 * (n % 3)) for n, wait in enumerate(waits[::-1])],
    )
    monkeypatch.setattr("steelyard.measure.launch.commands_in_turn.time_in_turn", lambda *_: found)
    words = ["compare", "--rounds", "10", "--fail-on-slower", "--", "./old", "./new"]
    assert cli.run_and_explain(lambda: cli.app(words)) == 1
    said = capsys.readouterr().out
    assert said.startswith("./new uses more processor time than ./old. Its wall-clock time is not clear.")


def test_too_few_rounds_are_refused_before_anything_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_and_explain(lambda: cli.app(["compare", "--rounds", "5", "--", "/no/such", "/program"])) == 2
    assert "5 pairs of runs (given by --rounds) are too few: an interval needs at least 6." in capsys.readouterr().err
