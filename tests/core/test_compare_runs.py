"""Comparing runs: surroundings first, cases matched, differences called only when they are sure."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from builders import chase, evaluation, gather, machine, measured, message, result, samples, seen, triad
from output_schemas import read_output
from steelyard.compare import published_figures
from steelyard.compare.published_side import find_known
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.runs import Row, RunComparison, compare, list_slower
from steelyard.compare.side import Side
from steelyard.compare.sides import compare_sides
from steelyard.errors import UsageError
from steelyard.measure import published
from steelyard.measure.benchmarks.memory import placement
from steelyard.measure.plan import EFFORTS, catalogue, make
from steelyard.measure.records import RunFolder
from steelyard.model import Evaluation, Limit, Machine, Result, Setting, Value
from steelyard.model.observed import Observed
from steelyard.model.plain import to_plain
from steelyard.show.command_line import cli
from steelyard.show.report import comparison as tables
from steelyard.show.report import side_by_side


def run(results: Sequence[Result], **changed: object) -> Evaluation:
    return evaluation(results, **changed)  # type: ignore[arg-type]


def shifted(results: Sequence[Result], seed: int, spread: float = 0.002) -> list[Result]:
    """The same cases with other samples: what another run of the same machine would give."""
    return [
        measured(r, records=tuple(
            replace(x, samples=samples(
                sum(x.samples) / len(x.samples), seed=seed * 100 + 10 * i + x.launch, spread=spread
            ))
            for x in r.records
        ))
        for i, r in enumerate(results)
    ]  # fmt: skip


def rows(comparison: RunComparison) -> dict[str, Row]:
    return {row.kernel + str(row.parameters.get("threads", "")): row for row in comparison.rows}


CASES = [triad(10e9), triad(18e9, threads=2), chase(1e-7)]


def test_two_runs_of_the_same_machine_do_not_differ() -> None:
    found = compare(run(CASES), run(shifted(CASES, 2), id="b"))
    assert (found.a, found.b) == ("a", "b")
    assert {row.call for row in found.rows} == {"SAME"}
    assert {w.call for w in found.wholes} == {"SAME"}
    assert found.differences == found.only_a == found.only_b == ()
    assert list_slower(found) == []


def test_a_slowdown_of_5_percent_is_called_and_told_in_the_metric_s_own_direction() -> None:
    slow = shifted([triad(10e9 / 1.05), triad(18e9, threads=2), chase(1e-7 / 1.1)], 3)
    found = compare(run(CASES), run(slow))
    calls = {name: row.call for name, row in rows(found).items()}
    assert calls == {"triad1": "SLOWER", "triad2": "SAME", "chase1": "FASTER"}
    one = rows(found)["triad1"]
    assert one.metric == "bandwidth"
    assert one.ratio == pytest.approx(1 / 1.05, rel=0.005)
    assert one.time_ratio == pytest.approx(1.05, rel=0.005)
    assert one.low is not None
    assert one.high is not None
    assert one.low < one.ratio < one.high < 1
    assert list_slower(found) == ["memory.stream triad"]


def test_a_benchmark_as_a_whole_has_the_geometric_mean_of_its_ratios_and_the_note_of_rule_4() -> None:
    a = [triad(10e9), triad(10e9, threads=2)]
    b = shifted([triad(10e9 / 1.21), triad(10e9, threads=2)], 2)
    found = compare(run(a), run(b))
    assert found.wholes[0].ratio == pytest.approx(1.1, rel=0.005)
    assert any("rule 4" in note for note in found.counts)


def test_a_slowdown_of_every_case_too_small_for_one_is_found_in_the_whole() -> None:
    rates = [(1e10 * n, 1_000_000 * n) for n in range(1, 13)]
    noisy = shifted([triad(rate, elements=size) for rate, size in rates], 1, 0.05)
    slow = shifted([triad(rate / 1.05, elements=size) for rate, size in rates], 3, 0.05)
    found = compare(run(noisy), run(slow))
    assert sum(row.call == "UNCLEAR" for row in found.rows) >= len(rates) / 2
    assert found.wholes[0].call == "SLOWER"


# --------------------------------------------------------------------------- matching


def test_cases_match_although_all_were_built_by_another_compiler() -> None:
    found = compare(run(CASES), run([replace(r, parameters={**r.parameters, "toolchain": "clang-15"}) for r in CASES]))
    assert len(found.rows) == len(CASES)
    assert found.rows[0].differing == (("toolchain", "gcc-12.2.0", "clang-15"),)
    assert any("toolchain" in note for note in found.notes)


def test_a_parameter_that_differs_in_some_cases_only_is_no_factor() -> None:
    a = [triad(10e9), triad(12e9, stores="streaming")]
    b = [triad(10e9), triad(12e9, stores="other")]
    found = compare(run(a), run(b))
    assert [row.parameters["stores"] for row in found.rows] == ["ordinary"]
    assert [lone.parameters["stores"] for lone in (*found.only_a, *found.only_b)] == ["streaming", "other"]


def test_the_largest_sizes_match_where_the_machines_ask_for_different_ones_and_rates_are_compared() -> None:
    a = [triad(10e9, elements=1_000_000), triad(10e9, elements=16_000_000)]
    b = [triad(10e9, elements=1_000_000), triad(10e9, elements=64_000_000)]
    found = compare(run(a), run(shifted(b, 2)))
    assert [row.call for row in found.rows] == ["SAME", "SAME"]
    assert found.rows[1].differing == (("elements", 16_000_000, 64_000_000),)


def test_an_invalid_case_is_not_compared_and_a_disturbed_one_is_marked() -> None:
    a = [triad(10e9), triad(10e9, threads=2), triad(10e9, threads=3)]
    bad = triad(5e9, level="INVALID", evidence=("check: the result is wrong",))
    shaken = triad(5e9, threads=2, level="DISTURBED", evidence=("steal: 1 s",))
    found = compare(run(a), run([bad, shaken, a[2]]))
    told = rows(found)
    assert told["triad1"].call == "NOT COMPARABLE"
    assert told["triad1"].ratio is None
    assert "INVALID in the second run: check" in told["triad1"].detail
    assert (told["triad2"].call, told["triad2"].disturbed) == ("SLOWER", ("b",))
    assert told["triad3"].disturbed == ()
    assert list_slower(found) == []  # only the disturbed case is slower


def test_an_unsettled_case_is_marked_and_its_call_stands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "Console", lambda: Console(width=200))
    a = run([triad(10e9, level="UNSETTLED"), triad(10e9, threads=2)])
    b = run([triad(5e9), triad(5e9, threads=2, level="DISTURBED"), chase(1e-7)])
    found = compare(a, b)
    told = rows(found)
    assert (told["triad1"].call, told["triad1"].unsettled, told["triad1"].disturbed) == ("SLOWER", ("a",), ())
    assert told["triad2"].unsettled == ()
    assert "memory.stream triad" in list_slower(found), "how far its samples lie apart is in the call already"
    assert "Marked as UNSETTLED in one run or both: 1 of 2 cases." in found.counts
    shown = "\n".join(line.plain for line in side_by_side.screen(a, b, found, 80))
    assert "1 of the cases were disturbed in one run or both; UNSETTLED in one run or both: 1;" in " ".join(
        shown.split()
    )
    assert "memory.stream (1 case): b is slower, with 2.0 (" in shown, "the disturbed case does not count"
    tables.runs(found, as_json=False)
    assert "SLOWER (unsettled in a)" in capsys.readouterr().out


def test_runs_without_a_common_case_say_so() -> None:
    found = compare(run([triad(1e10)]), run([chase(1e-7)]))
    assert found.rows == found.wholes == ()
    assert "no case in common" in found.notes[0]


def test_a_kernel_that_counts_no_work_is_compared_by_its_time() -> None:
    idle = [result("foreign.sleep", "sleep", {}, 1e-3, {})]
    found = compare(run(idle), run([result("foreign.sleep", "sleep", {}, 1.2e-3, {})]))
    assert [(row.metric, row.call) for row in found.rows] == [("time", "SLOWER")]


# --------------------------------------------------------------------------- surroundings


def test_what_differs_around_the_runs_comes_with_its_group_and_both_values() -> None:
    changed = Setting("transparent_huge_pages", "never", "/sys")
    fleeting = Setting("load_average", "9 9 9", "/proc/loadavg")
    other = machine(cores=8, settings=(changed, fleeting), processor="Another")
    b = evaluation(CASES, other, versions={"steelyard": "0.2.0", "python": "3.11.9"})
    b = replace(b, run=replace(b.run, plan=replace(b.run.plan, seed=7)))
    found = {(d.group, d.name): (d.a, d.b) for d in compare(run(CASES), b).differences}
    assert found["machine", "cores"] == ("4", "8")
    assert found["machine", "processor"] == ("Example processor", "Another")
    assert found["setting", "transparent_huge_pages"] == ("madvise", "never")
    assert found["setting", "memory_limit"] == ("none", "unknown")
    assert found["version", "steelyard"] == ("0.1.0", "0.2.0")
    assert found["plan", "seed"] == ("1", "7")
    assert ("setting", "load_average") not in found
    assert ("version", "python") not in found


# --------------------------------------------------------------------------- shown


def test_it_is_shown_as_tables_and_hostile_names_stay_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "Console", lambda: Console(width=200))
    slow = [triad(9e9), chase(1e-7, level="INVALID", evidence=("error: [red]x[/]",))]
    tables.runs(compare(run([triad(10e9), chase(1e-7), gather(1e-8)]), run(slow, id="[bold]b[/]")), as_json=False)
    text = capsys.readouterr().out
    for part in ("SLOWER", "NOT COMPARABLE", "[bold]b[/]", "[red]x[/]", "Only in a: 1 case", "10.0 GB/s"):
        assert part in text


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    found = compare(run(CASES), run(shifted(CASES, 2)))
    tables.runs(found, as_json=True)
    expected = to_plain(found)
    expected["notes"] += expected.pop("counts")
    assert json.loads(capsys.readouterr().out) == {"format": 1, **expected}


# --------------------------------------------------------------------------- published systems


def test_published_numbers_stand_beside_those_of_the_run() -> None:
    metric = replace(triad(1).metrics["bandwidth"], value=612.0, unit="cycle", better="lower")
    here = machine(limits={"memory_bandwidth": Limit(20e9, "B/s", "given")})
    corner = replace(gather(1e-7), metrics={"cost": metric})
    found = published_figures.compare(evaluation([corner], here), "4x AMD 8350 Barcelona")
    line = next(x for x in found.lines if (x.published, x.conditions.startswith("worst locality (G)")) == (306.0, True))
    assert line.ours == metric
    assert line.ratio == pytest.approx(2.0)
    assert all(x.ours is None for x in found.lines if "16 threads" in x.conditions)
    beside = published_figures.compare(evaluation([triad(29e9, threads=4)], here), "PowerEdge R730xd 2x E5-2697 v3")
    assert beside.lines[0].ratio == pytest.approx(0.25)
    ((whole,),) = ([cell for cell in one.cells if cell.letter == "b"] for one in beside.machines)
    cores = whole.cores
    assert (whole.speed, whole.per_core, whole.call) == (
        pytest.approx(0.25),
        pytest.approx(0.25 * 28 / cores),
        "NOT JUDGED",
    )
    tables.beside(found, as_json=False)


def test_the_limits_of_the_five_placements_and_the_wrong_58_percent_are_shown() -> None:
    where = four_nodes()
    found = published_figures.compare(evaluation(placed(where, 1e9), where), "PowerEdge R730xd 2x E5-2697 v3")
    assert [line.ours.value for line in found.lines if "limit" in line.conditions and line.ours] == [1e9] * 5
    limits = [line.conditions.partition("limit ")[2] for line in found.lines if "limit" in line.conditions]
    assert [text.partition(",")[0] for text in limits] == [
        "136 GB/s",
        "68.0 GB/s",
        "34.0 GB/s",
        "17.0 GB/s",
        "17.0 GB/s",
    ]
    assert "76 % reached" in limits[-1]
    assert any("58 % slower than local; this table gives 54 %" in note for note in found.notes)
    five = next(f for f in placement.figures((), machine()) if f.name == "placement-five")
    drawn = {s.name: s for s in five.series if s.published}
    assert list(drawn) == ["PowerEdge R730xd 2x E5-2697 v3", "PowerEdge R730xd 2x E5-2697 v3 (limit)"]
    assert drawn["PowerEdge R730xd 2x E5-2697 v3 (limit)"].y == (136e9, 68e9, 34e9, 17e9, 17e9)
    assert "54 %" in five.caption


HOSTS = [f"n{i}" for i in range(8)]
FLOPS = {"benchmark": "cluster.flops", "kernel": "task"}


def cluster() -> list[Result]:
    """What eight hosts have measured of each benchmark that the clusters printed."""

    def flops(hosts: list[str], speed: float, each: int = 1) -> Result:
        one = message(1e-3, 0, ranks=len(hosts) * each, hosts=[h for h in hosts for _ in range(each)], **FLOPS)
        return replace(one, metrics={"flops": Value(speed, "flop/s", None, None, "higher")})

    def on(benchmark: str, kernel: str, seconds: float, size: int, **more: Any) -> Result:
        return message(seconds, size, benchmark=f"network.{benchmark}", kernel=kernel, **more)

    found = [flops(HOSTS[:n], 1e9 * n) for n in range(1, 9)]
    found += [flops(["one"], 5e8 * n, n) for n in (1, 2)]
    pair = {"hosts": ("a", "b"), "placement": "other node"}
    found += [on("pingpong", "pingpong", 5e-6, 0, **pair), on("pingpong", "pingpong", 1e-3, 100_000, **pair)]
    found.append(on("pingpong", "pingpong", 1e-7, 0, placement="same cache"))
    for partner, latency in enumerate((10e-6, 10.5e-6), 1):
        more = {"hosts": HOSTS[:3], "ranks": 3, "partner": partner}
        found.append(on("transfer", "transfer", latency, 0, direction="one-way", **more))
        found.append(on("transfer", "transfer", 32768 / 8.2e6, 32768, direction="two-way", **more))
    best = on("nettest", "nettest", 1e-3, 1024, hosts=HOSTS, ranks=8, topology="chaos", direction="two-way")
    return [*found, replace(best, metrics={"throughput": Value(61.94e6, "B/s", None, None, "higher")})]


def test_all_nineteen_figures_of_clusters_stand_beside_those_of_a_run_on_as_many_hosts() -> None:
    seen = run(cluster())
    systems = dict.fromkeys(entry.system for entry in published.shipped())
    lines = [line for system in systems for line in published_figures.compare(seen, system).lines]
    names = ("Flops on many ranks", "ping-pong", "transfer", "nettest")
    mine = [x for x in lines if x.benchmark in names and not x.reason]
    counts = [sum(x.benchmark == name for x in mine) for name in names]
    assert counts == [10, 7, 2, 1]
    assert [x.printed for x in mine if x.ours is None] == ["65 us"]  # Open-MX
    mpi, driver = "over the transport that the MPI chose", "over the driver that this run used"
    assert {x.remark for x in mine} == {"", mpi, f"{driver}, {mpi}"}

    def ratios(name: str) -> list[float]:
        return [x.ours.value for x in mine if f"{x.benchmark}, {x.metric}" == name and x.ours]

    assert ratios("Flops on many ranks, speed of all ranks") == [1e9, 2e9, 3e9, 4e9, 5e9, 6e9, 7e9, 8e9, 1e9, 1e9]
    assert ratios("ping-pong, latency") == [5e-6] * 3
    assert ratios("ping-pong, bandwidth") == [1e8] * 3
    assert ratios("transfer, spread of the latency") == [pytest.approx(0.5 / 10.25)]
    assert ratios("transfer, bandwidth") == [pytest.approx(8.2e6)]
    assert next(x.ratio for x in mine if x.benchmark == "nettest") == pytest.approx(2.0)


def test_placements_of_another_number_of_memory_nodes_are_paired_by_their_names() -> None:
    off, on_ = two_nodes(), four_nodes()
    a, b = (evaluation(placed(where, speed), where) for where, speed in ((off, 1e9), (on_, 2e9)))
    found = compare(a, b)
    triad_ = {row.parameters["placement"]: row for row in found.rows if row.kernel == "triad"}
    assert set(triad_) == {"full system", "local socket"}, "4 threads would be compared with 2 for the remote socket"
    assert all(row.ratio == pytest.approx(2, rel=0.01) for row in triad_.values())
    assert "remote socket (threads on a whole socket)" in {
        x.parameters.get("placement") for x in found.only_a if x.kernel == "triad"
    }
    only = {x.parameters.get("placement") for x in found.only_b if x.kernel == "triad"}
    assert {"local memory node", "remote node, same socket", "remote socket"} <= only
    chase_ = {row.parameters["placement"] for row in found.rows if row.kernel == "chase"}
    assert chase_ == {"from the first node to its own memory", "from the first node to another socket"}
    # Of the same machine every case has its like.
    again = compare(b, evaluation(placed(on_, 2e9), on_))
    assert again.only_a == again.only_b == ()
    assert len(again.rows) == len(b.results)


def two_nodes() -> Machine:
    return machine(nodes=2, cores=8)


def four_nodes() -> Machine:
    """The same two sockets with two memory nodes each."""
    split = machine(nodes=4, cores=8)
    return replace(split, cores=tuple(replace(c, socket=c.node // 2) for c in split.cores))


def placed(where: Machine, rate: float) -> list[Result]:
    """All that memory.placement plans there, each Triad of that bandwidth."""
    name = "memory.placement"
    made = make({name: catalogue.find()[name]}, where, EFFORTS["quick"], {}, ["gcc-12.2.0"])
    cases_ = [c for launch in made.launches if launch.repetition == 1 for c in launch.cases]
    told = {"bandwidth": Value(rate, "B/s", rate, rate, "higher")}
    work = {"triad": {"bytes": rate * 1e-3}, "chase": {"accesses": 1e3}, "loaded": {"accesses": 1e3}}
    return [
        result(name, c.kernel, c.parameters, 1e-3, work[c.kernel], metrics=told if c.kernel == "triad" else {})
        for c in cases_
    ]


def test_a_system_is_found_by_its_name_or_by_a_part_that_only_one_has() -> None:
    systems = [find_known(name) for name in ("4X amd 8350 barcelona", "8350", "AMD", "")]
    assert [system and system.name for system in systems] == [*["4x AMD 8350 Barcelona"] * 2, None, None]


# --------------------------------------------------------------------------- the command


def written(folder: Path, found: Evaluation) -> str:
    run_folder = RunFolder.create(folder, found.run.machine, found.run.plan, {"versions": dict(found.run.versions)})
    for record in found.run.records:
        run_folder.append(record)
    run_folder.finish({})
    run_folder.close()
    return run_folder.path.name


def test_the_command_fails_on_a_slower_run_only_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = written(tmp_path, run([triad(10e9)])), written(tmp_path, run([triad(8e9)]))
    words = ["compare", a, b, "--runs", str(tmp_path), "--json"]
    assert cli.app(words, standalone_mode=False) in (None, 0)
    assert read_output("compare", capsys.readouterr().out)["rows"][0]["call"] == "SLOWER"
    assert cli.app([*words, "--fail-on-slower"], standalone_mode=False) == 1
    assert cli.app(["compare", b, a, *words[3:], "--fail-on-slower"], standalone_mode=False) in (None, 0)


def test_the_command_takes_a_published_system_and_refuses_what_is_neither(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = written(tmp_path, run([triad(10e9)]))
    cli.run_words(["compare", a, "8350", "--runs", str(tmp_path), "--json"])
    assert read_output("compare", capsys.readouterr().out)["system"] == "4x AMD 8350 Barcelona"
    with pytest.raises(UsageError, match="There is no published system"):
        cli.run_words(["compare", a, "AMD", "--runs", str(tmp_path)])
    with pytest.raises(UsageError, match="needs two runs"):
        cli.run_words(["compare", a, "8350", "--runs", str(tmp_path), "--fail-on-slower"])


# --------------------------------------------------------------------------- the cores' own pace


def paced(results: Sequence[Result], *issued: float) -> list[Result]:
    """The same results, their cores issuing so many additions per cycle (in turn over the records)."""

    def around(i: int) -> Observed:
        return seen({"samples": {"issued": [issued[i % len(issued)]], "core_clock": [2.5e9]}})

    return [
        measured(r, records=tuple(replace(x, surroundings=around(i + n)) for n, x in enumerate(r.records)))
        for i, r in enumerate(results)
    ]


def test_a_difference_beside_a_neighbour_on_the_core_is_not_called() -> None:
    slow = shifted([triad(10e9 / 1.3), triad(18e9 / 1.3, threads=2), chase(1e-7)], 3)
    found = compare(run(paced(CASES, 5.2)), run(paced(slow, 2.7)))
    assert {row.call for row in found.rows} == {"UNCLEAR", "SAME"}
    assert "48 % fewer additions per second" in rows(found)["triad1"].detail
    assert [row.unclear.kind for row in found.rows if row.unclear] == ["other pace", "other pace"]
    shown = [line.plain for line in side_by_side.screen(run(CASES), run(slow), found, 80)]
    assert any(line.startswith("   2  The cores themselves issued 48 % fewer") for line in shown)
    assert list_slower(found) == []


def test_both_engines_state_the_pace_beside_the_cases_that_both_runs_have() -> None:
    slow = shifted([triad(10e9 / 1.3), triad(18e9 / 1.3, threads=2), chase(1e-7)], 3)
    more = [*paced(CASES, 5.2), *paced([triad(9e9, threads=n) for n in range(3, 9)], 4.0)]
    a, b = run(more), run(paced(slow, 2.7))
    sides = [Side(name=n, kind="run", runs=(reduce_run(of),)) for n, of in (("a", a), ("b", b))]
    (beside,) = [note for note in compare(a, b).notes if "additions" in note]
    (among,) = [note for note in compare_sides(sides).others[0].conditions if "additions" in note]
    assert beside == among
    assert "48 % fewer additions" in beside


def test_a_great_difference_is_called_if_the_pace_does_not_explain_it() -> None:
    slow = shifted([triad(10e9 / 4), triad(18e9 / 4, threads=2), chase(4e-7)], 3)
    for pace, call in ((4.8, "SLOWER"), (1.3, "UNCLEAR")):
        assert rows(compare(run(paced(CASES, 5.2)), run(paced(slow, pace))))["triad1"].call == call


def test_a_difference_on_cores_of_the_same_pace_is_called() -> None:
    slow = shifted([triad(10e9 / 1.3), triad(18e9 / 1.3, threads=2), chase(1e-7)], 3)
    found = compare(run(paced(CASES, 5.2)), run(paced(slow, 5.15)))
    assert rows(found)["triad1"].call == rows(found)["triad2"].call == "SLOWER"


def test_a_difference_smaller_than_the_pace_wanders_is_not_called_and_a_larger_one_is() -> None:
    slow = shifted([triad(10e9 / 1.1), triad(18e9 / 2, threads=2), chase(1e-7)], 3)
    found = compare(run(paced(CASES, 5.2, 4.0)), run(paced(slow, 5.2, 4.0)))
    calls = {name: row.call for name, row in rows(found).items()}
    assert calls["triad1"] == "UNCLEAR"
    assert calls["triad2"] == "SLOWER"


def test_between_different_machines_the_pace_is_part_of_the_difference() -> None:
    slow = shifted([triad(10e9 / 1.3), triad(18e9 / 1.3, threads=2), chase(1e-7)], 3)
    other = run(paced(slow, 2.7), machine=machine(processor="Another processor"))
    assert rows(compare(run(paced(CASES, 5.2)), other))["triad1"].call == "SLOWER"


# --------------------------------------------------------------------------- at equal time


def solved(seconds: float, nodes: int = 1, half_width: float = 0.02, **changed: Any) -> Result:
    """CG of so many seconds on a rank of each of so many nodes."""
    own = {k: changed.pop(k) for k in ("level", "evidence") if k in changed}
    hosts = changed.pop("hosts", [f"n{number}" for number in range(nodes)])
    around = {"ranks": {"hosts": hosts, "colocated": changed.pop("colocated", False)}}
    parameters = {"class": "B", "model": "mpi", "ranks": nodes, "ranks_per_node": 1, **changed}
    time = Value(seconds, "s", seconds * (1 - half_width), seconds * (1 + half_width), "lower")
    made = result("application.npb_cg", "cg", parameters, seconds, {"operations": 1e9}, surroundings=around, **own)
    return replace(made, metrics={"time": time})


def small(of: dict[int, float], **changed: Any) -> Evaluation:
    return run([solved(seconds, nodes, **changed) for nodes, seconds in of.items()])


def test_so_many_nodes_replace_one_as_take_its_time() -> None:
    many = small({1: 40.0, 2: 20.0, 4: 10.0, 8: 5.0})  # in proportion: 40 / t nodes
    one = run([solved(7.0, mpi="another", toolchain="clang-15")], id="b")
    (found,) = compare(many, one).replacements
    assert (found.base.side, found.other.side, found.measured) == ("b", "a", (1, 2, 4, 8))
    assert found.reached.count == pytest.approx(40 / 7, rel=1e-3)
    (turned,) = compare(one, many).replacements
    assert (turned.other.side, turned.reached) == ("b", found.reached)
    console = "\n".join(line.plain for line in side_by_side.screen(many, one, compare(many, one), 100))
    assert "At equal time" in console
    # Two times with an error of 2 % each.
    assert "npb_cg (class B): To match 1 node of b (7.000 s), a needs 5.7 (5.6 to 5.9) nodes, 5.71 (" in console
    assert to_plain(compare(many, one))["replacements"][0]["reached"]["count"] == found.reached.count


def test_threads_of_one_node_count_as_a_node_and_the_fastest_of_a_node_counts() -> None:
    many = small({1: 40.0, 2: 20.0, 4: 10.0})
    threads = solved(16.0, model="threads", threads=8)
    threads = replace(threads, parameters={"class": "B", "model": "threads", "threads": 8})
    (found,) = compare(many, run([threads, solved(25.0)])).replacements
    assert found.reached.count == pytest.approx(40 / 16, rel=1e-3)


def test_each_count_of_the_other_is_replaced() -> None:
    found = compare(small({2: 40.0, 4: 20.0, 8: 10.0}), small({1: 30.0, 2: 15.0})).replacements
    assert [(r.other.side, r.base.nodes) for r in found] == [("a", 1), ("a", 2)]
    assert [r.reached.count for r in found] == pytest.approx([80 / 30, 80 / 15], rel=1e-3)


def test_what_even_the_most_nodes_do_not_replace_is_said() -> None:
    many, one = small({1: 40.0, 2: 20.0, 4: 16.0}), run([solved(8.0)])
    (found,) = compare(many, one).replacements
    assert (found.reached.how, found.reached.count, found.time.value) == ("more", 4, pytest.approx(2.0))
    console = " ".join(line.plain for line in side_by_side.screen(many, one, compare(many, one), 100))
    assert "4 nodes of a (4.00 times as many) are slower: they need 2.00 (" in console


def test_equal_times_of_one_count_each_are_said() -> None:
    """The third source's miniFE: 112 nodes of b need 72.19 s, four of a 71.66 s."""
    (found,) = compare(run([solved(71.66, 4)]), run([solved(72.19, 112)])).replacements
    assert (found.reached.how, found.other.nodes) == ("equal", 112)


@pytest.mark.parametrize(
    "other",
    [
        solved(50.0),  # the fewest that were measured take less time
        solved(7.0, **{"class": "C"}),
        solved(7.0, level="INVALID"),
        solved(0.01),
        solved(7.0, hosts=[]),
    ],
)
def test_where_nothing_is_replaced_nothing_is_said(other: Result) -> None:
    many = small({1: 40.0, 2: 20.0, 4: 10.0})
    assert compare(many, run([other])).replacements == ()
    assert compare(small({4: 10.0}), run([solved(7.0)])).replacements == ()
