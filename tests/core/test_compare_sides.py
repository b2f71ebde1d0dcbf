"""Any number of sides: runs, groups whose spread is their uncertainty, and published systems; calls over the whole page."""

import csv
import io
import json
import math
import random
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy

from builders import evaluation, message, triad
from folders import GOLDEN
from latex_tables import find_tables
from output_schemas import read_output
from planted_sides import stream
from steelyard.compare.compared_sides import NOT_JUDGED, OtherSide, SidesComparison, list_slower
from steelyard.compare.foreign_rows import NO_INTERVAL
from steelyard.compare.prices import Prices, add_prices
from steelyard.compare.published_side import find_side
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.runs import compare
from steelyard.compare.side import Side, SideCase, SideRun
from steelyard.compare.sides import compare_sides
from steelyard.errors import UsageError
from steelyard.measure.records import RunFolder
from steelyard.model import Evaluation, LaunchTime, Scalar, Value
from steelyard.show.command_line import cli
from steelyard.show.command_line.sides import read_sides
from steelyard.show.report import comparison_document, sides_screen, sides_tables
from steelyard.show.report.changes import write_factor
from steelyard.show.report.machine_table import list_machines
from steelyard.show.report.pages import sides as sides_page
from steelyard.show.report.sides_totals import write_letters
from steelyard.statistics.difference.blocks import SMALLEST_OF_ALL
from steelyard.statistics.samples.launches import RUN_SPREAD, USUAL_SPREAD

Times = Mapping[str, Sequence[float]]  # benchmark → logarithms of seconds of the launches of its case


def side_case(benchmark: str, logs: Sequence[float], **parameters: Scalar) -> SideCase:
    times = tuple(
        LaunchTime(launch=n, began=100.0 * n, seconds=math.exp(log), disturbed=False) for n, log in enumerate(logs)
    )
    value = Value(math.exp(-float(np.mean(logs))), "B/s", None, None, "higher")
    return SideCase(
        benchmark=benchmark, kernel="k", parameters={"threads": 1, **parameters}, kind="memory", metrics={"rate": value},
        level="CLEAN", work="byte", times=times,
    )  # fmt: skip


def side_run(name: str, cases: Sequence[SideCase], version: str = "1") -> SideRun:
    return SideRun(
        run=name, path=f"runs/{name}", started="2026-11-20T12:00:00+00:00", finished=True, machine=None,
        facts={"version": {"steelyard": version}}, cases=tuple(cases),
    )  # fmt: skip


def one(name: str, times: Times) -> Side:
    return Side(name=name, kind="run", runs=(side_run(name, [side_case(b, logs) for b, logs in times.items()]),))


def group(name: str, runs: Sequence[Times]) -> Side:
    members = (side_run(f"{name}{n}", [side_case(b, logs) for b, logs in r.items()]) for n, r in enumerate(runs))
    return Side(name=name, kind="group", runs=tuple(members))


def published(name: str, rate: float) -> Side:
    case = replace(side_case("memory.a", [0.0]), times=(), level="FOREIGN", statistic="best of 10", work="")
    case = replace(case, metrics={"rate": Value(rate, "B/s", None, None, "higher")})
    return Side(name=name, kind="published", runs=(side_run(name, [case]),))


# --------------------------------------------------------------------------- closed forms

OLD, NEW = [0.0, 0.05, -0.03, 0.02], [0.2, 0.26, 0.17, 0.22, 0.24]


def test_the_interval_of_a_group_follows_from_the_spread_of_its_runs() -> None:
    """Two groups: t of the variance of the runs, a side weighed by 1 / runs². Launches of a run, which agree, do not count."""
    old, new = (group(name, [{"memory.a": [x, x]} for x in logs]) for name, logs in (("old", OLD), ("new", NEW)))
    (total,) = compare_sides([old, new]).others[0].benchmarks
    trace, trace_of_square = (sum((len(x) - 1) / len(x) ** power for x in (OLD, NEW)) for power in (2, 4))
    variance = sum(np.var(x) / len(x) for x in (OLD, NEW)) / trace + USUAL_SPREAD**2
    half = scipy.stats.t.ppf(0.975, trace**2 / trace_of_square) * math.sqrt(variance * (1 / 4 + 1 / 5))
    difference = np.mean(NEW) - np.mean(OLD)
    assert (total.low, total.high) == pytest.approx((math.exp(difference - half), math.exp(difference + half)))
    assert total.call == "SLOWER"


def test_a_run_beside_a_group_has_a_variance_of_its_own() -> None:
    """Welch's t: launches of a run and runs of a group scatter differently; one run does not show how other runs differ."""
    (total,) = (
        compare_sides([one("a", {"memory.a": OLD}), group("b", [{"memory.a": [x]} for x in NEW])]).others[0].benchmarks
    )
    parts = [np.var(x, ddof=1) / len(x) for x in (OLD, NEW)]
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 4)
    error = math.sqrt(sum(parts) + USUAL_SPREAD**2 * (1 / 4 + 1 / 5))
    half = math.hypot(scipy.stats.t.ppf(0.975, freedom) * error, scipy.stats.norm.ppf(0.975) * RUN_SPREAD)
    assert math.log(total.high or 1.0) == pytest.approx(np.mean(NEW) - np.mean(OLD) + half)


def test_p_values_are_corrected_over_the_tables_of_a_pair() -> None:
    """Two tables: benchmarks, and cases; with one benchmark there are no classes."""
    shifts = {"b": 0.09, "c": 0.2, "d": 0.05}
    base = one("a", {"memory.a": OLD})
    others = [one(name, {"memory.a": [x + shift for x in OLD]}) for name, shift in shifts.items()]
    squares = 2 * np.var(OLD) * len(OLD)
    error = math.sqrt((squares / 6 + USUAL_SPREAD**2) / 2)
    expected = {
        name: min(1.0, 2 * sum(scipy.stats.t.cdf((sign * SMALLEST_OF_ALL - shift) / error, 6) for sign in (1, -1)))
        for name, shift in shifts.items()
    }
    compared = compare_sides([base, *others])
    found = {compared.title(o.letter).name: o.benchmarks[0].p for o in compared.others}
    assert found == pytest.approx(expected)


def test_a_further_side_changes_no_call_between_two_others() -> None:
    base, slow = one("a", {"memory.a": OLD}), one("slow", {"memory.a": [x + 0.15 for x in OLD]})
    (alone,) = compare_sides([base, slow]).others
    equal = [one(f"equal {n}", {"memory.a": [x + 0.001 * n for x in OLD]}) for n in range(30)]
    among = compare_sides([base, *equal[:7], slow, *equal[7:]])
    other = next(o for o in among.others if among.title(o.letter).name == "slow")
    assert [t.call for t in alone.benchmarks] == ["SLOWER"]
    assert (other.benchmarks, other.classes, other.cases) == (alone.benchmarks, alone.classes, alone.cases)


def test_two_runs_have_the_same_cases_benchmarks_and_classes_as_among_many_sides() -> None:
    cases = [triad(1e10 * n, elements=1_000_000 * n, spread=0.01) for n in range(1, 5)] + [message(1e-6)]
    others = [triad(8e9 * n, elements=1_000_000 * n) for n in range(1, 5)] + [message(1.1e-6)]
    a, b = evaluation(cases), evaluation(others)
    b = replace(b, run=replace(b.run, id="b"))
    two = compare(a, b)
    sides = [Side(name=e.run.id, kind="run", runs=(reduce_run(e),)) for e in (a, b)]
    together = compare_sides(sides, with_rows=True)
    (other,) = together.others
    cells = {(row.kernel, str(row.parameters)): row.cells[1] for row in together.rows}
    for row in two.rows:
        cell = cells[row.kernel, str(row.parameters)]
        assert (row.call, row.time_ratio, row.p) == (cell.call, pytest.approx(cell.ratio), pytest.approx(cell.p))
    for of_two, of_many in ((two.wholes, other.benchmarks), (two.classes, other.classes)):
        assert [(w.name, w.cases) for w in of_two] == [(t.name, t.cases) for t in of_many]
        for w, t in zip(of_two, of_many, strict=True):
            assert (w.ratio, w.low, w.high) == pytest.approx((t.ratio, t.low, t.high))


def test_a_mix_has_the_ratio_of_total_times_and_an_interval_that_is_not_narrower() -> None:
    """Cases that take 1, 2 and 6 times as long: a mix of equal times takes 3 times as long, the mean ratio is 12^(1/3)."""
    logs = [0.0, 0.02, -0.02]
    a = [side_case("memory.a", logs, threads=n) for n in (1, 2, 3)]
    b = [side_case("memory.a", [x + math.log(n) for x in logs], threads=t) for t, n in ((1, 1), (2, 2), (3, 6))]
    sides = [Side(name=n, kind="run", runs=(side_run(n, cases),)) for n, cases in (("a", a), ("b", b))]
    (total,) = compare_sides(sides, with_mix=True).others[0].benchmarks
    assert total.mix is not None
    assert (total.mix.ratio, total.ratio) == pytest.approx((3.0, 12 ** (1 / 3)))
    assert total.mix.high / total.mix.low >= (total.high or 0.0) / (total.low or 1.0) * 0.999
    assert total.mix.low < 3.0 < total.mix.high


# --------------------------------------------------------------------------- properties


def drawn(seed: int, sides: int, benchmarks: int = 6, shift: float = 0.0) -> list[Side]:
    """Runs of one machine, four launches each; block effects are shared by all benchmarks. The last run is slower by `shift`."""
    chance = np.random.default_rng(seed)
    runs = []
    for number in range(sides):
        shared = chance.normal(0, 0.01, 4)
        late = shift if number == sides - 1 else 0.0
        runs.append({f"memory.{n}": (shared + chance.normal(0, 0.01, 4) + late).tolist() for n in range(benchmarks)})
    return [one(f"r{number}", times) for number, times in enumerate(runs)]


def by_name(compared: SidesComparison) -> dict[str, OtherSide]:
    return {compared.title(o.letter).name: replace(o, letter="") for o in compared.others}


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_the_other_sides_does_not_change_the_calls(seed: int) -> None:
    first, *others = drawn(seed, 5, shift=0.12)
    shuffled = random.Random(seed).sample(others, len(others))
    assert by_name(compare_sides([first, *others])) == by_name(compare_sides([first, *shuffled]))


def test_equal_sides_are_called_different_on_5_of_100_pages_at_most() -> None:
    """30 pages of five equal runs: a rate of 0.25 is found with probability 0.99. The same pages show a side of 15 %."""
    pages = [compare_sides(drawn(seed, 5)) for seed in range(30)]
    assert sum(bool(list_slower(page)) for page in pages) <= 3
    late = [compare_sides(drawn(seed, 5, shift=0.15)) for seed in range(5)]
    assert sum(any(text.startswith("e:") for text in list_slower(page)) for page in late) >= 4


def test_3_percent_between_groups_of_five_runs_that_scatter_by_half_a_percent_are_found() -> None:
    """The power is 0.89 (400 draws); 20 draws find a power of 0.5 with probability 0.98. Equal groups of such runs are SAME."""
    chance = np.random.default_rng(3)

    def call(shift: float) -> str:
        old, new = ([{"memory.a": [x, x]} for x in chance.normal(s, 0.005, 5)] for s in (0.0, shift))
        return compare_sides([group("old", old), group("new", new)]).others[0].benchmarks[0].call

    assert sum(call(math.log(1.03)) == "SLOWER" for _ in range(20)) >= 15
    assert sum(call(0.0) == "SAME" for _ in range(20)) >= 18


def test_a_case_needs_three_launches_or_two_runs_for_a_call() -> None:
    def counts(side: Side, base: Side) -> Mapping[str, int]:
        return compare_sides([base, side]).others[0].counts

    few, many = {"memory.a": [0.0, 0.001]}, {"memory.a": [0.0, 0.001, 0.002]}
    slow = {name: [x + 0.3 for x in logs] for name, logs in many.items()}
    assert counts(one("b", slow), one("a", many))["SLOWER"] == 1
    assert counts(group("b", [slow, slow]), group("a", [few, few]))["SLOWER"] == 1


def side_of_cases(name: str, shifts: Sequence[float]) -> Side:
    """A side with two launches of each case of one benchmark, whose times are shifted."""
    cases = [side_case("memory.a", [x, x + 0.001], elements=n) for n, x in enumerate(shifts)]
    return Side(name=name, kind="run", runs=(side_run(name, cases),))


@pytest.mark.parametrize(
    ("factors", "calls"),
    [
        ((1.4, 1 / 1.4, 1, 1, 1, 1), {}),
        ((1.4,) * 6, {"SLOWER": 6}),
        ((3, 1 / 3, 1, 1, 1, 1), {"SLOWER": 1, "FASTER": 1}),
    ],
)
def test_two_launches_suffice_for_what_no_launches_change_and_what_the_whole_benchmark_shows(
    factors: Sequence[float], calls: Mapping[str, int]
) -> None:
    sides = [side_of_cases("a", [0.0] * 6), side_of_cases("b", list(map(math.log, factors)))]
    counts = compare_sides(sides).others[0].counts
    assert {name: counts[name] for name in ("SLOWER", "FASTER") if counts[name]} == calls


# --------------------------------------------------------------------------- like with like


def test_the_page_says_in_which_condition_sides_differ() -> None:
    logs = [0.0, 0.01, 0.02]
    a = [side_case("memory.a", logs, stores="ordinary"), side_case("memory.b", logs, elements=100, toolchain="gcc")]
    b = [side_case("memory.a", logs, stores="streaming"), side_case("memory.b", logs, elements=300, toolchain="clang")]
    sides = [Side(name=n, kind="run", runs=(side_run(n, cases, v),)) for n, cases, v in (("a", a, "1"), ("b", b, "2"))]
    (other,) = compare_sides(sides).others
    text = " ".join(other.conditions)
    assert "Different versions of Steelyard measured a (1) and b (2)." in text
    assert "although these parameters differ: stores (ordinary and streaming), toolchain (gcc and clang)" in text
    assert "have different sizes" in text
    assert [t.name for t in other.benchmarks] == ["memory.a", "memory.b"]


def test_parameters_that_have_no_common_value_are_not_compared_and_named() -> None:
    logs = [0.0, 0.01, 0.02]
    a = [side_case("memory.a", logs, threads=t, stores=s) for t, s in ((1, "x"), (2, "x"))]
    b = [side_case("memory.a", logs, threads=t, stores=s) for t, s in ((4, "y"), (8, "z"))]
    sides = [Side(name=n, kind="run", runs=(side_run(n, cases),)) for n, cases in (("a", a), ("b", b))]
    (other,) = compare_sides(sides).others
    assert (other.benchmarks, other.only_baseline, other.only_side) == ((), 2, 2)
    assert "b has no equal settings for memory.a: threads (1, 2 against 4, 8), " in other.conditions[1]


def test_a_published_value_has_a_ratio_but_no_call() -> None:
    sides = [one("a", {"memory.a": [0.0, 0.01, 0.02]}), published("system", 0.5), published("twice", 2.0)]
    slower, faster = compare_sides(sides, with_rows=True).others
    assert [t.call for o in (slower, faster) for t in o.benchmarks] == [NOT_JUDGED] * 2
    assert (slower.benchmarks[0].ratio, faster.benchmarks[0].ratio) == pytest.approx((1.98, 0.495), rel=0.01)
    assert slower.benchmarks[0].why == NO_INTERVAL
    assert [t for t in slower.conditions if t.startswith("system: ") and "best of 10" in t]
    assert compare_sides(sides[1:]).others[0].benchmarks[0].ratio == pytest.approx(0.25)
    assert list_slower(compare_sides(sides)) == []


def test_runs_without_a_common_case_are_compared_to_nothing() -> None:
    compared = compare_sides([one("a", {"memory.a": OLD}), one("b", {"memory.b": OLD})])
    (other,) = compared.others
    assert (other.benchmarks, sum(other.counts.values())) == ((), 0)
    assert "have no case in common" in other.conditions[0]


# --------------------------------------------------------------------------- the command


def written(folder: Path, name: str, made: Evaluation) -> str:
    about = {"versions": dict(made.run.versions)}
    run_folder = RunFolder.create(folder, made.run.machine, made.run.plan, about, name)
    for record in made.run.records:
        run_folder.append(record)
    run_folder.finish({})
    run_folder.close()
    return name


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("runs")
    for number, rate in enumerate((1e10, 1.01e10, 7e9, 7.1e9, 6.9e9)):
        results = [triad(rate * n, elements=1_000_000 * n) for n in range(1, 4)] + [message(1e-6)]
        written(tmp_path, f"r{number}", evaluation(results))
    return tmp_path


def steelyard(runs: Path, *words: str) -> int:
    return int(cli.app(["compare", *words, "--runs", str(runs)], standalone_mode=False) or 0)


def test_the_comparison_as_tables_in_markdown(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert steelyard(runs, "r0", "r2", "--markdown") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# r0 and r2\n\nr2 is slower than r0 at ")
    assert "| memory.stream | r2 | 3 | × 1.43 (" in shown
    with pytest.raises(UsageError, match="--csv and --equal-time cannot be used together"):
        steelyard(runs, "r0", "r2", "--csv", "--equal-time")
    with pytest.raises(UsageError, match="--markdown and --latex cannot be used together"):
        steelyard(runs, "r0", "r2", "--markdown", "--latex")
    with pytest.raises(UsageError, match="--markdown and --json cannot be used together"):
        steelyard(runs, "r0", "r2", "--markdown", "--json")


def test_the_command_takes_runs_groups_and_a_baseline(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert steelyard(runs, "r0", "r1", "--group", "slow=r[234]", "--json") == 0
    found = read_output("compare", capsys.readouterr().out)
    assert [(s["letter"], s["name"], len(s["runs"])) for s in found["sides"]] == [
        ("a", "r0", 1),
        ("b", "r1", 1),
        ("c", "slow", 3),
    ]
    calls = {o["letter"]: {t["name"]: t["call"] for t in o["benchmarks"]} for o in found["others"]}
    assert calls["c"]["memory.stream"] == "SLOWER"
    assert calls["b"]["memory.stream"] != "SLOWER"
    assert {len(row["cells"]) for row in found["rows"]} == {3}
    assert (
        steelyard(runs, "r0", "--group", "slow=r[234]", "--baseline", "slow", "--json", "--only", "memory.stream") == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert found["sides"][0]["name"] == "slow"
    assert [t["call"] for t in found["others"][0]["benchmarks"]] == ["FASTER"]


def test_the_command_fails_if_a_side_is_slower_and_the_user_asks(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert steelyard(runs, "r0", "r1", "--group", "slow=r[234]", "--fail-on-slower") == 1
    assert steelyard(runs, "--group", "slow=r[234]", "r0", "--baseline", "slow", "--fail-on-slower") == 0
    assert "What differs most" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["r0", "r1", "nosuch"], "There is no published system of that name, either."),
        (["r0", "r1", "--group", "empty=x*"], "The group 'empty' is empty: no run matches 'x*'."),
        (["r0", "r1", "r2", "--baseline", "r7"], "The baseline 'r7' is not one of the sides (given by --baseline)."),
        (["r0", "r1", "--baseline", "r7"], "The baseline 'r7' is not one of the sides (given by --baseline)."),
        (["r0", "r1", "r2", "--in-turn"], "--in-turn needs two runs, but 3 sides given."),
        (["r0", "r1", "r2", "--only", "nosuch"], "No side has a benchmark 'nosuch' (given by --only)."),
        (
            ["r0", "r1", "Mont-Blanc node", "--fail-on-slower"],
            "--fail-on-slower needs runs, but Steelyard did not measure 'Mont-Blanc node'",
        ),
        (["r2", "--group", "slow=r[234]"], "The run 'r2' is in 'r2' and in 'slow'."),
        (["r2", "r2"], "/r2' is given twice. Give each run and each system only once, and each group another name."),
        (["8350", "4x AMD 8350 Barcelona"], "'4x AMD 8350 Barcelona' is given twice."),
        (["4x AMD 8350 Barcelona"], "A comparison needs two sides, but only '4x AMD 8350 Barcelona' is given."),
        ([], "No run is given."),
    ],
)
def test_a_wrong_comparison_is_refused_in_two_sentences(runs: Path, words: list[str], part: str) -> None:
    with pytest.raises(UsageError) as raised:
        cli.run_words(["compare", *words, "--runs", str(runs)])
    assert part in str(raised.value)


def test_runs_of_one_name_have_the_names_of_their_hosts_or_those_that_were_typed(tmp_path: Path) -> None:
    made = evaluation([triad(1e10)])
    for folder, host in (("a", "n1"), ("b", "n2"), ("c", "n2")):
        machine = replace(made.run.machine, host=host)
        written(tmp_path / folder, "same", replace(made, run=replace(made.run, machine=machine)))
    a, b, c = (str(tmp_path / folder / "same") for folder in "abc")
    assert [side.name for side in read_sides([a, b], [], tmp_path, [])] == ["same on n1", "same on n2"]
    assert [side.name for side in read_sides([a, b, c], [], tmp_path, [])] == ["same on n1", b, c]
    assert [side.name for side in read_sides([a], [f"same={b}"], tmp_path, [])] == ["same on n1", "same"]
    machines = (made.run.machine, replace(made.run.machine, host="n2"))
    compared = compare(*(replace(made, run=replace(made.run, machine=machine)) for machine in machines))
    assert (compared.a, compared.b) == (f"{made.run.id} on {made.run.machine.host}", f"{made.run.id} on n2")
    with pytest.raises(UsageError, match="is given twice"):
        read_sides([a, f"{tmp_path}/b/../a/same"], [], tmp_path, [])


def test_a_run_and_a_link_to_it_are_the_same_run(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(runs / "r2")
    with pytest.raises(UsageError, match=r"r2' is given twice"):
        cli.run_words(["compare", str(tmp_path / "link"), "r2", "--runs", str(runs), "--json"])


def test_a_run_alone_stands_beside_the_nearest_systems(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert steelyard(runs, "r0", "--json") == 0
    found = read_output("compare", capsys.readouterr().out)
    assert [side["kind"] for side in found["sides"]] == ["run", "published", "published", "published"]
    assert {t["call"] for o in found["others"] for t in o["benchmarks"]} <= {NOT_JUDGED}
    assert all(sum(o["counts"].values()) for o in found["others"])


def test_two_published_systems_are_compared(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert steelyard(runs, "4x AMD 8350 Barcelona", "4x AMD 8380 Shanghai", "--json") == 0
    (other,) = json.loads(capsys.readouterr().out)["others"]
    assert {t["name"]: t["call"] for t in other["benchmarks"]}["memory.apexmap"] == NOT_JUDGED


def compare_published(*names: str) -> SidesComparison:
    return compare_sides([one for name in names if (one := find_side(name))])


def test_a_published_power_of_hpl_is_the_energy_that_its_speed_costs() -> None:
    compared = compare_published("Raspberry Pi 5", "Raspberry Pi 4")  # 35.169 Gflop/s at 12.7 W, 11.889 at 7.2 W
    (linpack,) = (f for f in add_prices(compared.machines, dict.fromkeys("ab", Prices(kwh=0.3))) if f.name == "linpack")
    assert linpack.cells[1].per_price == pytest.approx(11.889 / 7.2 * 12.7 / 35.169, rel=1e-3)


def test_the_power_of_hpl_is_no_part_of_the_ratio_of_its_times() -> None:
    """741 Gflop/s beside 2.06 are a time of 0.28 %; with 273 W beside 4.7 W, the mean said 40 %."""
    (other,) = compare_published("Milk-V Mars", "Core Ultra 7 265K").others
    (whole,) = other.benchmarks
    assert (whole.name, whole.cases) == ("application.hpl", 1)
    assert whole.ratio == pytest.approx(2.06 / 741.16, rel=0.01)
    assert sum(other.counts.values()) == 2


def test_a_data_sheet_is_no_benchmark_that_takes_time() -> None:
    compared = compare_published("Mont-Blanc chassis", "MareNostrum III node", "Frontera")
    assert not any(other.benchmarks or other.classes for other in compared.others)
    assert not any("this run measured" in note for other in compared.others for note in other.conditions)
    assert any(figure.name == "sheet_peak" for figure in compared.machines)


def test_a_cluster_beside_a_node_has_its_nodes_and_pays_for_them() -> None:
    """Fugaku's 442 Pflop/s are those of 158,976 nodes: for the same money, 2x EPYC 9654 has 24 times the HPL speed of a node."""
    compared = compare_published("Fugaku", "2x EPYC 9654", "2x Xeon Gold 6354")
    priced = add_prices(compared.machines, {"a": Prices(1.0), "b": Prices(1.0), "c": Prices(2.0)})
    linpack = next(figure for figure in priced if figure.name == "linpack")
    assert [cell.nodes for cell in linpack.cells] == [158976, 1, 1]
    assert linpack.cells[1].per_price == pytest.approx(7.458e12 / (442.01e15 / 158976), rel=0.01)
    assert linpack.cells[2].per_price == pytest.approx(2.524e12 / (442.01e15 / 158976) / 2, rel=0.01)
    lines = [line.plain for line in list_machines(priced, 80)]
    assert "The HPL speed is that of 158,976 nodes (a), 1 node (b) and 1 node (c)." in lines
    assert "HPL speed                442 Pflop/s 7.46 Tflop/s ×1.7e-5– 2.52 Tflop/s ×5.7e-6–" in [
        re.sub(r"  +(?=\d\.)", " ", line) for line in lines
    ]
    assert not any(len(line) > 80 or "…" in line for line in lines)


@pytest.mark.parametrize(
    "names", [("Fugaku", "4x AMD 8350 Barcelona"), ("Fugaku", "2x EPYC 9654", "2x Xeon Gold 6354")]
)
def test_a_value_of_a_data_sheet_is_always_named_so(names: Sequence[str]) -> None:
    text = " ".join(line.plain for line in list_machines(compare_published(*names).machines, 80))
    assert len(re.findall(r"\(data", text)) == len(re.findall("sheet\\)", text)) > 0


def test_the_inverse_of_a_power_is_explained() -> None:
    text = " ".join(
        line.plain for line in list_machines(compare_published("Milk-V Mars", "Core Ultra 7 265K").machines, 80)
    )
    assert "A power is compared by its inverse: above 1 is less." in text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (7390236, "7.4e6"),
        (3.8e-8, "3.8e-8"),
        (571, "571"),
        (0.0028, "0.0028"),
        (1.5, "1.50"),
        (9999, "9999"),
        (1.23e4, "1.2e4"),
    ],
)
def test_a_very_great_or_small_ratio_has_an_exponent(ratio: float, text: str) -> None:
    assert write_factor(ratio) == text


def test_a_value_without_a_statistic_is_the_one_that_was_printed() -> None:
    (other,) = compare_published("ARCHER2, node", "Azure HB, 2x EPYC 7551").others
    assert (
        "memory.stream, bandwidth: the value printed of Azure HB, 2x EPYC 7551 beside the best of 10 of ARCHER2, node."
        in other.conditions
    )


def test_published_systems_without_a_common_case_are_not_told_to_choose_runs() -> None:
    (other,) = compare_published("2x AMD 2382 Shanghai", "Ampere Altra Max M128-30").others
    assert other.conditions == ("Ampere Altra Max M128-30 and 2x AMD 2382 Shanghai have no case in common.",)


def test_a_damaged_run_is_named(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(runs, tmp_path / "runs")
    (tmp_path / "runs" / "r1" / "run.json").write_text("{")
    assert cli.run_and_explain(lambda: cli.app(["compare", "r0", "r1", "r2", "--runs", str(tmp_path / "runs")])) == 4
    assert "r1 cannot be read: run.json" in capsys.readouterr().err


# --------------------------------------------------------------------------- the screen


def many(count: int) -> SidesComparison:
    names = [f"system {n}" for n in range(count)]
    chance = np.random.default_rng(1)
    sides = []
    for n, name in enumerate(names):
        times = {f"memory.{k}": (0.03 * n * (k % 3) + chance.normal(0, 0.004, 4)).tolist() for k in range(9)}
        sides.append(one(name, times))
    return compare_sides(sides, with_rows=True)


def test_three_sides_look_as_ever() -> None:
    shown = "\n".join(line.plain.rstrip() for line in sides_screen.screen(many(3), 80)) + "\n"
    kept = GOLDEN / "screens" / "three-sides.txt"
    assert shown == kept.read_text()


def test_a_side_that_differs_much_hides_no_other_side() -> None:
    equal = {f"memory.{n}": [0.0, 0.001, 0.002] for n in range(9)}
    much = {name: [x + 2.0 for x in logs] for name, logs in equal.items()}
    little = equal | {"memory.8": [x + 0.2 for x in equal["memory.8"]]}
    shown = sides_screen.list_differences(compare_sides([one("a", equal), one("b", much), one("c", little)]), 80)
    text = " ".join(line.plain.strip() for line in shown)
    assert "memory.8 (1 case): b is slower, with 7.4 (7.3 to 7.5) times the time. Also slower: c." in text


def test_of_fifty_sides_each_has_its_name_on_the_screen() -> None:
    equal = {f"memory.{n}": [0.0, 0.001, 0.002] for n in range(9)}
    slow = equal | {"memory.8": [x + 0.2 for x in equal["memory.8"]]}
    compared = compare_sides([one(f"n{n:02d}", slow if n > 47 else equal) for n in range(50)])
    lines = [line.plain for line in sides_screen.screen(compared, 80)]
    assert all(sum(side.name in line for line in lines) for side in compared.sides)
    words = " ".join(" ".join(lines).split())
    assert "memory.8 (1 case): aw (n48) is slower, with 22 % more time" in words
    assert "Also slower: ax (n49)." in words
    text = comparison_document.markdown(compared)
    assert "| memory.7 | 49 sides | 1 | × 1.00 | same |" in text
    (first, *rest) = [side.alike for side in sides_page.describe(compared).sides[1:]]
    assert (len(first), set(rest)) == (49, {()}), "all differ from the baseline in the same way: not at all"


def test_a_document_of_few_sides_has_the_values_of_their_cases() -> None:
    compared = many(2)
    text = comparison_document.markdown(compared)
    table = text.partition("## Cases\n\n")[2].partition("\n\n")[0].splitlines()
    assert table[0] == "| Case | system 0 | system 1 | Time of system 1 |"
    assert len(table) == 2 + len(compared.rows)
    assert "| memory.2 " in text
    assert "## Cases" not in comparison_document.markdown(many(9))


def test_csv_has_every_number_of_the_comparison_as_a_speed() -> None:
    compared = many(9)
    rows = list(csv.DictReader(io.StringIO(comparison_document.csv(compared))))
    names = [side.name for side in compared.sides]
    machines = [cell for figure in compared.machines for cell in figure.cells if cell.value]
    totals = [t for other in compared.others for t in (*other.classes, *other.benchmarks)]
    cells = [cell for row in compared.rows for cell in row.cells if cell.value]
    kinds = Counter(row["kind"] for row in rows)
    assert kinds == Counter({"whole machine": len(machines), "matching cases": len(totals), "case": len(cells)})
    assert {row["side"] for row in rows} <= set(names)
    for row, total in zip([r for r in rows if r["kind"] == "matching cases"], totals, strict=True):
        assert (row["name"], row["call"]) == (total.name, total.call)
        assert float(row["speed"]) == pytest.approx(1 / total.ratio)
        assert total.low is None or float(row["low"]) <= float(row["speed"]) <= float(row["high"])
    for row, cell in zip([r for r in rows if r["kind"] == "case"], cells, strict=True):
        assert float(row["value"]) == cell.value.value
        assert (row["speed"] == "") == (cell.ratio is None)


def test_latex_has_the_tables_of_markdown() -> None:
    for count in (2, 3, 9):
        compared = many(count)
        marked = comparison_document.markdown(compared)
        tables = find_tables(comparison_document.latex(compared))
        assert len(tables) == len(re.findall(r"^\| ---", marked, re.MULTILINE)) > 0
        assert all({len(row) for row in rows} == {columns} for columns, rows in tables)
        # LaTeX has the heading of a table twice, Markdown a line of dashes.
        assert sum(len(rows) for _, rows in tables) == len(re.findall(r"^\|", marked, re.MULTILINE))


def test_consecutive_letters_are_a_range() -> None:
    assert write_letters(["b", "d", "e", "f", "y", "z", "aa", "ab", "ad"]) == "b, d–f, y–ab, ad"


@pytest.mark.parametrize("count", [2, 3, 4, 5, 20, 30])
def test_a_screen_of_any_number_of_sides_has_50_lines_of_80_columns(count: int) -> None:
    compared = many(count)
    lines = [line.plain for line in sides_screen.screen(compared, 80)]
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "What differs most" in text
    assert "memory.2" in text
    everything = [line.plain for line in sides_tables.list_everything(compared, 80)]
    assert max(map(len, everything)) <= 100
    assert sum(line.startswith("  b ") for line in everything) >= 9


def test_what_is_certain_stands_before_whole_machines_that_are_unclear() -> None:
    def place(*names: str) -> list[int]:
        lines = [line.plain for line in sides_screen.screen(compare_sides([planted[name] for name in names]), 80)]
        return [next(n for n, line in enumerate(lines) if line.startswith(title)) for title in ("What", "Whole")]

    equal = {f"memory.{n}": [0.0, 0.001, 0.002] for n in range(9)}
    slow = equal | {"memory.8": [x + 0.2 for x in equal["memory.8"]]}
    sides = {"a": (equal, 1e10), "slow": (slow, 0.99e10), "fast": (slow, 4e10)}
    planted = {}
    for name, (times, bandwidth) in sides.items():
        side = one(name, times)
        cases = (*side.runs[0].cases, stream(4, bandwidth))
        run = replace(side.runs[0], cases=cases, facts={"machine": {"host": name}}, cores=4)
        planted[name] = replace(side, runs=(run,))
    assert place("a", "slow") == sorted(place("a", "slow"))
    assert place("a", "fast") == sorted(place("a", "fast"), reverse=True)
