"""Runs measured in turn: equal ones are hardly ever called different, 5 % are found, and a break loses nothing."""

import contextlib
import itertools
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from builders import evaluation, machine, measured, triad, verdict_of
from steelyard.compare import ROUNDS, measuring, pairs
from steelyard.compare.schedule import CASE_SECONDS, START_SPAN, Schedule, make_schedule
from steelyard.errors import UsageError
from steelyard.judge import evaluation as evaluating
from steelyard.measure import records
from steelyard.measure.run import Measurer, Surroundings, session, setup
from steelyard.measure.screen import Progress, Screen
from steelyard.model import Case, Evaluation, Launch, Machine, Plan, Result, Sampling
from steelyard.show.command_line import cli
from steelyard.statistics.difference.compare import Comparison, _score_differences, _sign_flips, compare_pairs

# --------------------------------------------------------------------------- a machine that wanders, simulated

SCATTER, WANDER = 0.03, 0.10  # standard deviations: of single launches, of the machine's pace
FIVE = math.log(1.05)


def wandering(kind: str, launches: int, chance: np.random.Generator) -> np.ndarray:
    """The logarithm of the machine's pace at each launch."""
    if kind == "random walk":
        return np.cumsum(chance.normal(0, WANDER / 3, launches))
    if kind == "waves":
        return WANDER * np.sin(2 * np.pi * (np.arange(launches) / chance.uniform(12, 80) + chance.uniform()))
    kept = math.sqrt(0.9)  # from launch to launch: 0.9 from round to round
    pace = chance.normal(0, 1, launches)
    for i in range(1, launches):
        pace[i] = kept * pace[i - 1] + math.sqrt(1 - kept**2) * pace[i]
    return WANDER * pace


def in_pairs(kind: str, slowdown: float, hit: float, seed: int, rounds: int = ROUNDS) -> list[float]:
    """What the pairs of a comparison show; `hit` is the share of pairs of which a neighbour slows one launch by 10 to 100 %."""
    chance = np.random.default_rng(seed)
    seconds = wandering(kind, 2 * rounds, chance) + chance.normal(0, SCATTER, 2 * rounds)
    seconds += (chance.random(2 * rounds) < hit / 2) * chance.uniform(0.1, math.log(2), 2 * rounds)
    first = chance.permutation(np.arange(rounds) % 2)  # 1: b began
    later = seconds[1::2] - seconds[::2]
    return (np.where(first, -later, later) + slowdown).tolist()


def judged(kind: str, slowdown: float, hit: float, repetitions: int, first: int = 0) -> list[Comparison]:
    drawn = (in_pairs(kind, slowdown, hit, seed) for seed in range(first, first + repetitions))
    return [compare_pairs(differences, pairs.SMALLEST, pairs.LEVEL) for differences in drawn]


KINDS, HITS = ("autoregressive", "random walk", "waves"), (0.0, 0.2)


def right(slowdown: float, repetitions: int, kinds: Sequence[str], hits: Sequence[float]) -> list[Comparison]:
    """Returns the comparisons of all these machines, each of seeds of its own. 93 of 100 intervals hold the truth."""
    machines = [(kind, hit) for hit in hits for kind in kinds]
    found = [c for i, (kind, hit) in enumerate(machines) for c in judged(kind, slowdown, hit, repetitions, 500 * i)]
    assert sum(c.low <= math.exp(slowdown) <= c.high for c in found) >= 0.93 * len(found)
    return found


@pytest.mark.long
@pytest.mark.parametrize("hit", HITS)
@pytest.mark.parametrize("kind", KINDS)
def test_equal_sides_on_a_machine_that_wanders_are_called_different_in_1_of_100_at_most(kind: str, hit: float) -> None:
    found = right(0.0, 150, [kind], [hit])
    assert sum(c.call in ("FASTER", "SLOWER") for c in found) <= 3


@pytest.mark.long
@pytest.mark.parametrize(("hit", "least"), [(0.0, 0.95), (0.2, 0.85)])
@pytest.mark.parametrize("kind", KINDS)
def test_5_percent_are_found_although_the_machine_wanders_by_10(kind: str, hit: float, least: float) -> None:
    """Of a single case; a run has several, and a benchmark as a whole has them all."""
    found = right(FIVE, 100, [kind], [hit])
    assert sum(c.call == "SLOWER" for c in found) >= least * 100
    assert abs(float(np.median([c.ratio for c in found])) - 1.05) < 0.003


def test_the_p_of_pairs_is_that_of_all_signs_that_could_have_been() -> None:
    chance = random.Random(3)
    for count in (1, 2, 7, 10):
        row = np.array([chance.gauss(0.3, 1) for _ in range(count)])
        sizes = np.abs(_score_differences(row))
        sums = [
            abs(sum(s * x for s, x in zip(signs, sizes, strict=True)))
            for signs in itertools.product((1, -1), repeat=count)
        ]
        assert _sign_flips(row) == pytest.approx(np.mean([s >= abs(_score_differences(row).sum()) for s in sums]))


def test_pairs_turned_around_give_the_same_answer_turned_around() -> None:
    differences = in_pairs("waves", FIVE, 0.2, seed=5)
    there, back = compare_pairs(differences), compare_pairs([-d for d in differences])
    assert there.ratio * back.ratio == pytest.approx(1)
    assert (there.low * back.high, there.p) == (pytest.approx(1), back.p)
    assert (there.call, back.call) == ("SLOWER", "FASTER")


def test_few_pairs_state_no_interval_and_pairs_that_agree_exactly_one_of_no_width() -> None:
    few = compare_pairs([0.05] * 5)
    assert (few.low, few.high, few.call) == (0.0, math.inf, "UNCLEAR")
    exact = compare_pairs([FIVE] * 20)
    assert (exact.low, exact.high) == (pytest.approx(1.05), pytest.approx(1.05))
    assert compare_pairs([0.0] * 20).call == "SAME"
    with pytest.raises(ValueError, match="at least one pair"):
        compare_pairs([])
    with pytest.raises(ValueError, match="not finite"):
        compare_pairs([math.nan])


@pytest.mark.parametrize("count", [pairs.FEWEST_PAIRS, *(pytest.param(n, marks=pytest.mark.long) for n in (7, 10, 15))])
def test_six_pairs_or_more_always_state_an_interval(count: int) -> None:
    """Four in ten pairs are hit so hard that only the others have weight. Binomial: coverage 0.85 passes with 0.003."""
    chance = np.random.default_rng(count)
    found = []
    for _ in range(100):
        hit = (chance.random(count) < 0.4) * chance.choice([-1, 1], count) * chance.exponential(0.5, count)
        found.append(compare_pairs((chance.normal(0, 0.01, count) + hit).tolist(), pairs.SMALLEST, pairs.LEVEL))
    assert all(0 < c.low <= c.ratio <= c.high < math.inf for c in found)
    assert sum(c.low <= 1 <= c.high for c in found) >= 93


@given(st.lists(st.integers(-(10**7), 10**7), min_size=pairs.FEWEST_PAIRS, max_size=12))
def test_six_pairs_or_more_of_any_size_state_an_interval(millionths: list[int]) -> None:
    found = compare_pairs([each / 1e6 for each in millionths])
    assert 0 < found.low <= found.high < math.inf


# --------------------------------------------------------------------------- the schedule


def planned(*kernels: str, setup: float = 0.0, toolchain: str = "gcc", **parameters: Any) -> Plan:
    cases = tuple(Case("g.b", k, {"threads": 1, **parameters}, Sampling(0.02, 1.0, 6, 400), setup) for k in kernels)
    launches = tuple(Launch(n, "g.b", toolchain, n, tuple(reversed(cases)) if n == 2 else cases) for n in (1, 2))
    return Plan("quick", 1, launches, 60.0)


def test_each_round_has_every_common_case_once_and_launches_of_a_number_have_the_same_cases() -> None:
    made = make_schedule(planned("copy", "add", "triad"), planned("triad", "copy", "scale"), 12, seed=1)
    assert made.alone == (1, 1)
    assert made.rounds == 12
    for plan in (made.a, made.b):
        for repetition in range(1, 13):
            of_round = [c.kernel for x in plan.launches if x.repetition == repetition for c in x.cases]
            assert sorted(of_round) == ["copy", "triad"]
    assert [(x.number, [c.kernel for c in x.cases]) for x in made.a.launches] == [
        (x.number, [c.kernel for c in x.cases]) for x in made.b.launches
    ]


def test_either_side_begins_as_often_in_an_order_that_the_seed_decides() -> None:
    a, b = planned("triad"), planned("triad", plant="work:0.05")
    orders = {seed: make_schedule(a, b, 40, seed).first for seed in (1, 2)}
    assert all(order.count("a") == 20 for order in orders.values())
    assert orders[1] != orders[2]
    assert make_schedule(a, b, 40, 1) == make_schedule(a, b, 40, 1)


def test_cases_match_over_a_factor_in_which_the_plans_differ_as_a_whole() -> None:
    made = make_schedule(
        planned("triad", toolchain="gcc"), planned("triad", toolchain="clang", plant="work:0.05"), 10, 1
    )
    assert {x.toolchain for x in made.a.launches} == {"gcc"}
    assert {x.toolchain for x in made.b.launches} == {"clang"}
    assert {x.cases[0].parameters.get("plant") for x in made.b.launches} == {"work:0.05"}


def test_starts_are_short_and_a_case_is_sampled_alike_on_both_sides() -> None:
    made = make_schedule(planned(*"abcdef", setup=0.5), planned(*"abcdef", setup=0.5), 10, 1)
    assert {len(x.cases) for x in made.a.launches} == {2}
    assert all(sum(c.setup_seconds for c in x.cases) <= START_SPAN for x in made.a.launches)
    assert {c.sampling for plan in (made.a, made.b) for x in plan.launches for c in x.cases} == {
        Sampling(0.02, CASE_SECONDS, 3, 400)
    }


def test_cases_that_are_started_differently_stay_in_starts_of_their_own() -> None:
    case = [Case("g.b", "k", {"ranks": n}) for n in (2, 4)]
    plan = Plan("quick", 1, tuple(Launch(i, "g.b", "gcc", 1, (c,)) for i, c in enumerate(case, 1)), 1.0)
    made = make_schedule(plan, plan, 10, 1)
    assert len(made.a.launches) == 20
    assert all(one.cases == other.cases for one, other in zip(made.a.launches, made.b.launches, strict=True))


def test_plans_without_a_common_case_are_refused() -> None:
    with pytest.raises(UsageError, match="no case in common"):
        make_schedule(planned("copy"), planned("triad"), 10, 1)


# --------------------------------------------------------------------------- measuring, with a program made by hand


class Bench:
    """Programs that answer on a machine whose pace wanders; `log` holds the names of those that were started."""

    def __init__(self, slowdown: float = 1.0, break_at: int | None = None) -> None:
        self.time, self.log, self.break_at, self.slowdown = 0.0, [], break_at, slowdown  # type: ignore[var-annotated]
        self.chance = random.Random(1)

    def start(self, command: list[str], environment: Mapping[str, str], ranks: int | None = None) -> "Started":
        self.log.append(Path(command[0]).name)
        if self.break_at is not None and len(self.log) > self.break_at:
            raise KeyboardInterrupt
        return Started(self, self.log[-1])

    def wait(self, seconds: float) -> None:
        raise AssertionError("in turn nothing is waited for")


class Started:
    def __init__(self, bench: Bench, name: str) -> None:
        self.bench, self.name = bench, name

    def ask(self, line: str, seconds: float) -> dict[str, Any]:
        bench = self.bench
        bench.time += 1.0
        pace = 1 + 0.3 * math.sin(bench.time / 60) + bench.chance.gauss(0, 0.002)
        middle = 1e-3 * pace * (bench.slowdown if self.name == "b" else 1.0)
        return {
            "samples": [middle * (1 + 1e-3 * ((i * 7) % 5)) for i in range(20)],
            "operations": 1,
            "work": {"bytes": 1e6, "bytes_moved": 1e6},
            "check": {"passed": True, "detail": ""},
            "surroundings": {"throttled": 0.5, "samples": {"seconds": [1e-3] * 20, "waited": [5e-4] * 20}},
            "declared": {},
        }

    def close(self) -> None:
        pass


def stream(*kernels: str) -> Plan:
    cases = tuple(Case("memory.stream", k, {"threads": 1, "elements": 1024}) for k in kernels)
    return Plan("quick", 1, (Launch(1, "memory.stream", "gcc", 1, cases),), 60.0)


def begun(folder: Path, bench: Bench, made: Schedule, where: Machine) -> tuple[Measurer, Measurer]:
    around = Surroundings(now=lambda: bench.time, start=bench.start, wait=bench.wait)
    both = []
    for side, plan in (("a", made.a), ("b", made.b)):
        told = {"in_turn": {"series": "s", "side": side, "notes": ["A note."]}}
        made_folder = records.RunFolder.create(folder, where, plan, told)
        programs = {("memory.stream", "gcc"): Path("/bin") / side}
        both.append(
            Measurer(
                machine=where, plan=replace(plan, seconds=0.0), programs=programs, folder=made_folder, around=around
            )
        )
    return both[0], both[1]


def test_launches_come_in_turn_as_scheduled_and_nothing_is_repeated_in_between(
    two_sockets: Machine, tmp_path: Path
) -> None:
    bench, made = Bench(), make_schedule(stream("copy", "triad"), stream("copy", "triad"), 10, 1)
    a, b = begun(tmp_path, bench, made, two_sockets)
    measuring.carry_out(made, a, b, lambda progress: None)
    assert [tuple(bench.log[i : i + 2]) for i in range(0, 20, 2)] == [
        ("a", "b") if first == "a" else ("b", "a") for first in made.first
    ]
    for measurer in (a, b):
        measurer.folder.close()
        run = records.read(measurer.folder.path)
        assert run.finished
        assert [(r.launch, r.case, r.attempt) for r in run.records] == [(n, c, 1) for n in range(1, 11) for c in (0, 1)]
        assert {r.verdict.level for r in run.records} == {"DISTURBED"}


def test_progress_tells_the_round_and_a_time_left_that_falls(two_sockets: Machine, tmp_path: Path) -> None:
    seen: list[Progress] = []
    bench, made = Bench(), make_schedule(stream("copy", "triad"), stream("copy", "triad"), 10, 1)
    measuring.carry_out(made, *begun(tmp_path, bench, made, two_sockets), seen.append)
    assert [p.done for p in seen] == [0, 0, 1, 1] * 10
    assert {p.total for p in seen} == {2}
    assert (seen[0].phase, seen[-1].phase) == ("round 1 of 10", "round 10 of 10")
    left = [p.seconds_left for p in seen[20:]]  # the plan's own estimate still counts in the first half
    assert left == sorted(left, reverse=True)
    assert 0 < left[-1] <= 2


def test_a_slowdown_is_found_although_the_pace_wanders_by_far_more(two_sockets: Machine, tmp_path: Path) -> None:
    for slowdown, call in ((1.05, "SLOWER"), (1.0, "SAME"), (0.95, "FASTER")):
        bench, made = Bench(slowdown), make_schedule(stream("copy", "triad"), stream("copy", "triad"), 40, 1)
        a, b = begun(tmp_path, bench, made, two_sockets)
        measuring.carry_out(made, a, b, lambda progress: None)
        assert pairs.are_partners(*(records.head(e.folder.path) for e in (a, b)))
        found = pairs.compare(*(evaluating.evaluate(of.folder.path, []) for of in (a, b)))
        assert [row.call for row in found.rows] == [call, call]
        assert [whole.call for whole in found.wholes] == [call]
        assert "A note." in found.notes


def test_what_was_measured_before_an_interruption_is_readable_and_compared_as_far_as_it_goes(
    two_sockets: Machine, tmp_path: Path
) -> None:
    for break_at, pairs_measured in ((7, 3), (31, 15)):
        bench, made = Bench(1.05, break_at), make_schedule(stream("triad"), stream("triad"), 40, 1)
        a, b = begun(tmp_path, bench, made, two_sockets)
        with pytest.raises(KeyboardInterrupt):
            measuring.carry_out(made, a, b, lambda progress: None)
        read = [records.read(e.folder.path) for e in (a, b)]
        assert not any(run.finished for run in read)
        assert sum(len(run.records) for run in read) == break_at
        found = pairs.compare(*(evaluating.evaluate(of.folder.path, []) for of in (a, b)))
        if pairs_measured < pairs.FEWEST_PAIRS:
            assert found.rows[0].call == "NOT COMPARABLE"
            assert f"Only {pairs_measured} pairs" in found.rows[0].detail
        else:
            assert found.rows[0].call == "SLOWER"
        assert sum("was ended early" in note for note in found.notes) == 2


def test_a_rest_that_would_be_measured_out_of_turn_is_refused(two_sockets: Machine, tmp_path: Path) -> None:
    a, _ = begun(tmp_path, Bench(), make_schedule(stream("triad"), stream("triad"), 10, 1), two_sockets)
    with pytest.raises(UsageError, match="would not alternate"):
        session.go_on(a.folder.path, [], Screen())


# --------------------------------------------------------------------------- judging


def side(slowdown: float, numbers: Sequence[int], **changed: Any) -> Evaluation:
    """A run in turn: launch n of either side has the same pace, which goes up and down by a third."""
    chance = random.Random(str((slowdown, numbers)))
    results: list[Result] = []
    for threads in (1, 2):
        case = triad(1e10, threads=threads, launches=max(numbers), **changed)
        paces = {n: (1 + 0.3 * math.sin(n)) * slowdown * math.exp(chance.gauss(0, 0.003)) for n in numbers}
        kept = [
            replace(r, samples=tuple(s * paces[r.launch] for s in r.samples)) for r in case.records if r.launch in paces
        ]
        results.append(measured(case, records=tuple(kept)))
    found = evaluation(results)
    launch = found.run.plan.launches[0]
    plan = replace(found.run.plan, launches=tuple(replace(launch, number=n, repetition=n) for n in range(1, 100)))
    return replace(found, run=replace(found.run, plan=plan))


def test_each_case_and_the_benchmark_are_compared_in_pairs_and_lone_launches_do_not_count() -> None:
    found = pairs.compare(side(1.0, range(1, 31)), side(1.05, range(5, 41)))
    assert [row.call for row in found.rows] == ["SLOWER", "SLOWER"]
    assert found.rows[0].time_ratio == pytest.approx(1.05, rel=0.004)
    assert found.rows[0].ratio == pytest.approx(1 / 1.05, rel=0.004)
    assert [(w.call, w.cases) for w in found.wholes] == [("SLOWER", 2)]
    assert pairs.compare(side(1.0, range(1, 31)), side(1.0, range(1, 31))).rows[0].call == "SAME"


def test_classes_of_benchmarks_are_compared_in_turn_and_more_rounds_are_named_for_what_is_unclear() -> None:
    def two(slowdown: float, numbers: Sequence[int], scatter: float) -> Evaluation:
        one = side(slowdown, numbers)
        chance = random.Random(str((slowdown, scatter)))
        results = [
            replace(
                r,
                benchmark=("memory.stream", "memory.other")[i],
                records=tuple(
                    replace(
                        x, benchmark=("memory.stream", "memory.other")[i], samples=tuple(s * factor for s in x.samples)
                    )
                    for x in r.records
                    for factor in (math.exp(chance.gauss(0, scatter)),)
                ),
            )
            for i, r in enumerate(one.results)
        ]
        return replace(one, results=tuple(results))

    found = pairs.compare(two(1.0, range(1, 31), 0.0), two(1.05, range(1, 31), 0.0))
    assert [(w.name, w.members, w.call) for w in found.classes] == [
        ("memory", ("memory.stream", "memory.other"), "SLOWER")
    ]
    assert {w.call for w in found.wholes} == {"SLOWER"}
    found = pairs.compare(two(1.0, range(1, 31), 0.2), two(1.02, range(1, 31), 0.2))
    (memory,) = found.classes
    assert memory.call == "UNCLEAR"
    assert memory.smallest > 0.05
    assert (memory.rounds or 0) >= 2 * 99, "the plan has 99 rounds, and the scatter falls with their root"


def test_disturbed_launches_count_since_a_neighbour_hits_both_sides_alike() -> None:
    a, b = side(1.0, range(1, 31)), side(1.05, range(1, 31))
    shaken = verdict_of("DISTURBED", "shared core: seen")
    for level in range(2):
        some = [
            measured(r, records=tuple(replace(x, verdict=shaken) if x.launch % 5 else x for x in r.records))
            for r in (a, b)[level].results
        ]
        a, b = (replace(a, results=tuple(some)), b) if level == 0 else (a, replace(b, results=tuple(some)))
    found = pairs.compare(a, b)
    assert [row.call for row in found.rows] == ["SLOWER", "SLOWER"]


def test_an_invalid_case_is_not_compared_in_turn_either() -> None:
    bad = side(1.0, range(1, 31), level="INVALID", evidence=("check: the result is wrong",))
    found = pairs.compare(side(1.0, range(1, 31)), bad)
    assert {row.call for row in found.rows} == {"NOT COMPARABLE"}
    assert found.wholes == ()
    assert "INVALID in the second run: check" in found.rows[0].detail


# --------------------------------------------------------------------------- what is refused


def written(folder: Path, where: Machine, made: Plan, **about: Any) -> str:
    run = records.RunFolder.create(folder, where, made, about)
    run.close()
    return run.path.name


def refused(folder: Path, *words: str) -> str:
    with pytest.raises(UsageError) as told:
        cli.run_words(["compare", "--in-turn", *words, "--runs", str(folder), "--quiet"])
    assert len(records.all_runs(folder)) == len({w for w in words if not w.startswith("-") and not w.isdigit()})
    return str(told.value)


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch, two_sockets: Machine) -> Machine:
    """Stands for this machine."""
    monkeypatch.setattr(setup, "machine", lambda system=None: two_sockets)
    return two_sockets


def test_runs_that_cannot_be_measured_again_are_refused_before_a_folder_is_made(
    by_hand: Machine, here: Machine, tmp_path: Path
) -> None:
    compiler = {"name": "gcc", "compiler": "/gone/g++", "version": "1", "flags": ""}
    a = written(tmp_path, by_hand, stream("triad"), toolchains={"gcc": compiler})
    assert "'5' (given by --rounds) is too few" in refused(tmp_path, a, a, "--rounds", "5")
    elsewhere = written(tmp_path, machine(processor="Another"), stream("triad"))
    assert "was measured on 'Another'" in refused(tmp_path, a, elsewhere)


def test_a_run_whose_compiler_is_gone_is_refused_by_its_name(here: Machine, tmp_path: Path) -> None:
    compiler = {"name": "gcc", "compiler": "/gone/g++", "version": "1", "flags": ""}
    a = written(tmp_path, here, stream("triad"), toolchains={"gcc": compiler})
    assert f"{a} were compiled with gcc, which this machine does not have now" in refused(tmp_path, a, a)


def test_a_run_whose_benchmark_is_gone_is_refused_by_its_name(here: Machine, tmp_path: Path) -> None:
    tool = here.compilers[0]
    from steelyard.measure import build

    toolchain = build.resolve(tool.name, here)
    cases = (Case("mine.gone", "k", {"threads": 1}),)
    made = Plan("quick", 1, (Launch(1, "mine.gone", toolchain.name, 1, cases),), 1.0)
    a = written(tmp_path, here, made, toolchains={toolchain.name: asdict(toolchain)})
    assert "measured the benchmark 'mine.gone', which Steelyard does not find now" in refused(tmp_path, a, a)


def test_a_placement_that_is_impossible_here_is_refused(by_hand: Machine, tmp_path: Path) -> None:
    case = Case("memory.stream", "triad", {"threads": 99, "pinning": "compact"})
    a = written(tmp_path, by_hand, Plan("quick", 1, (Launch(1, "memory.stream", "gcc", 1, (case,)),), 1.0))
    assert "99" in refused(tmp_path, a, a)


def test_a_published_system_cannot_be_measured_in_turn(here: Machine, tmp_path: Path) -> None:
    a = written(tmp_path, here, stream("triad"))
    with pytest.raises(UsageError, match="--in-turn needs two runs"):
        cli.run_words(["compare", "--in-turn", a, "8350", "--runs", str(tmp_path)])


# --------------------------------------------------------------------------- for real

STEELYARD = str(Path(sys.executable).with_name("steelyard"))
SMALL = ["--set", "kernel=triad", "--set", "elements=4096", "--set", "threads=1", "--set", "pinning=compact"]


def steelyard(*words: str, cwd: Path) -> str:
    with contextlib.chdir(cwd):
        done = CliRunner().invoke(cli.app, words)
    assert done.exit_code == 0 or words[0] == "run", done.output
    return done.stdout


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small run."""
    folder = tmp_path_factory.mktemp("in-turn")
    steelyard("run", "--only", "memory.stream", *SMALL, "--set", "stores=ordinary", "--quiet", cwd=folder)
    return folder


def test_two_runs_are_measured_again_kept_and_compared(small: Path) -> None:
    run = records.all_runs(small / "runs")[0].name
    said = json.loads(steelyard("compare", "--in-turn", run, run, "--rounds", "10", "--json", cwd=small))
    assert said["rows"][0]["call"] != "NOT COMPARABLE", said["rows"][0]["detail"]
    assert any("measured in turn" in note for note in said["notes"])
    assert run not in (said["a"], said["b"])
    for name in (said["a"], said["b"]):
        kept = evaluating.evaluate(small / "runs" / name)
        assert kept.run.finished
        assert len(kept.run.records) == 10
        assert json.loads(steelyard("export", name, cwd=small))["results"]
    assert json.loads(steelyard("compare", said["a"], said["b"], "--json", cwd=small)) == said


@pytest.mark.long
def test_ctrl_c_keeps_what_was_measured_and_says_how_it_is_compared(small: Path) -> None:
    known = records.all_runs(small / "runs")
    process = subprocess.Popen(
        [STEELYARD, "compare", "--in-turn", known[0].name, known[0].name, "--rounds", "1000", "--quiet"],
        cwd=small,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None:
        new = [p for p in records.all_runs(small / "runs") if p not in known]
        if len(new) == 2 and all((p / "records.jsonl").read_bytes().count(b"\n") > 8 for p in new):
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    told = process.communicate()[1]
    assert process.returncode == 130
    assert "steelyard compare runs" in told
    a, b = sorted(new, key=lambda p: json.loads((p / "run.json").read_text())["in_turn"]["side"])
    said = json.loads(steelyard("compare", str(a), str(b), "--json", cwd=small))
    (row,) = said["rows"]
    assert row["call"] != "NOT COMPARABLE", row["detail"]
    assert sum("was ended early" in note for note in said["notes"]) == 2
    assert os.path.isdir(a)
