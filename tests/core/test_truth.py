"""Guarantees that need this machine for minutes: A/A runs, a planted slowdown, planted disturbances.

They take minutes: `make test-machine` and `make test-long` run them. Counts are asserted, never times; a machine whose own
load disturbs everything is told apart from a tool that errs.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import pytest

from output_schemas import read_output
from steelyard.compare import ROUNDS
from steelyard.compare.measuring import LEAST_ROUNDS
from steelyard.measure.records import all_runs
from steelyard.measure.run.selfcheck import CHECKS
from steelyard.show.command_line import cli

pytestmark = [pytest.mark.long, pytest.mark.timeout(3000)]
STEELYARD = str(Path(sys.executable).with_name("steelyard"))


def steelyard(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([STEELYARD, *words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done


# A first-level working set, one of the second level where pages decide, and one that shares what neighbours use.
QUICK_STREAM = ["run", "--only", "memory.stream", "--quiet", "--budget", "2s"]
for setting in ("kernel=triad", "elements=1024,65536,524288", "threads=1", "pinning=compact", "stores=ordinary"):
    QUICK_STREAM += ["--set", setting]


def run_once(folder: Path, *more: str) -> str:
    """Measures once, which says what is compared in turn; returns the name of the run."""
    steelyard(*QUICK_STREAM, *more, cwd=folder)
    return all_runs(folder / "runs")[-1].name


def in_turn(folder: Path, first: str, second: str, seed: int, rounds: int) -> tuple[str, float, int | None]:
    """What the comparison calls the benchmark as a whole, or any single row; the ratio of the times as a whole; and the rounds
    that it says would decide an unclear call."""
    asked = ["--seed", str(seed), "--rounds", str(rounds), "--quiet", "--json"]
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        code = cli.run_and_explain(lambda: cli.app(["compare", "--in-turn", first, second, *asked]))
    assert code in (0, 1), printed.getvalue()
    said = json.loads(printed.getvalue())
    calls = {row["parameters"]["elements"]: row["call"] for row in said["rows"]} | {"whole": said["wholes"][0]["call"]}
    assert len(calls) == 4
    assert "NOT COMPARABLE" not in calls.values()
    ratios = {row["parameters"]["elements"]: round(row["time_ratio"], 4) for row in said["rows"]}
    print(calls, ratios, round(said["wholes"][0]["ratio"], 4))
    different = {call for call in calls.values() if call in ("FASTER", "SLOWER")}
    whole = said["wholes"][0]
    return " and ".join(sorted(different)) or "not different", whole["ratio"], whole["rounds"]


@pytest.mark.alone
def test_of_twenty_pairs_of_equal_runs_at_most_one_is_called_different(tmp_path: Path) -> None:
    run = run_once(tmp_path)
    # The fewest rounds that are allowed: these make a difference harder to find, and a false alarm no rarer.
    found = [in_turn(tmp_path, run, run, seed, LEAST_ROUNDS) for seed in range(20)]
    different = sum(call != "not different" for call, _, _ in found)
    said = (
        f"{different} of 20 equal pairs were called different; the median ratio is {median(r for _, r, _ in found):.4f}"
    )
    print(said)
    assert different <= 1, said


@pytest.mark.alone
def test_five_percent_of_extra_work_are_found_in_nine_of_ten_pairs(tmp_path: Path) -> None:
    a, b = run_once(tmp_path), run_once(tmp_path, "--set", "plant=work:0.05")
    # Simulated, where pairs scatter by 3 % and a neighbour hits one in five, it is found in 99.8 of 100 pairs. Where they
    # scatter more, the comparison is unclear and says how many rounds decide; these are measured, as a user would.
    found = [in_turn(tmp_path, a, b, seed, ROUNDS) for seed in range(10)]
    for i, (call, _, rounds) in enumerate(found):
        if call == "not different" and rounds:
            found[i] = in_turn(tmp_path, a, b, i, min(rounds, 6 * ROUNDS))
    right = sum(call == "SLOWER" for call, _, _ in found)
    said = (
        f"5 % of extra work were found in {right} of 10 pairs; the median ratio is {median(r for _, r, _ in found):.4f}"
    )
    print(said)
    assert right >= 9, said


PLANTED_BY_THE_PROGRAM = ("intervals", "clock", "faults", "shared", "memory")  # found beside other work, too
REAL_NEIGHBOURS = ("delay", "quiet", "streaming", "competing", "polite")


THOROUGH = ("--thorough",)  # the repetitions that the guarantees are stated for


def selfcheck(folder: Path, checks: Sequence[str], *more: str) -> dict[str, str]:
    """What each of these checks came to."""
    only = [word for name in checks for word in ("--only", name)]
    words = [STEELYARD, "selfcheck", "--json", *only, *more]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    print(done.stdout)
    return {outcome["name"]: outcome["state"] for outcome in read_output("selfcheck", done.stdout)}


def test_disturbances_that_the_program_plants_are_found_and_named(tmp_path: Path) -> None:
    more = THOROUGH if os.environ.get("STEELYARD_THOROUGH") else ()
    assert selfcheck(tmp_path, PLANTED_BY_THE_PROGRAM, *more) == dict.fromkeys(PLANTED_BY_THE_PROGRAM, "passed")


@pytest.mark.alone
def test_real_neighbours_are_found_and_named(tmp_path: Path) -> None:
    states = selfcheck(tmp_path, REAL_NEIGHBOURS, *THOROUGH)
    assert set(states) == set(REAL_NEIGHBOURS)
    assert "failed" not in states.values()


def test_no_check_is_left_out() -> None:
    assert {*PLANTED_BY_THE_PROGRAM, *REAL_NEIGHBOURS} == set(CHECKS)
