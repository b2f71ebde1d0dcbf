"""An imported run enters everything that takes a run: the screen, query, export, compare and the report."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from builders import evaluation, message, triad
from foreign_outputs import OUTPUTS
from output_schemas import read_output
from side_fixture import beside
from steelyard.compare.compared_sides import NOT_JUDGED
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.side import Side
from steelyard.compare.sides import compare_sides
from steelyard.importing import reading
from steelyard.importing.write_runs import describe_machine, write_run
from steelyard.judge.evaluation import evaluate
from steelyard.model import ForeignValue, Imported
from steelyard.show.command_line import cli
from steelyard.show.report import render


def imported(folder: Path, name: str, *files: str, faster: float = 1.0) -> Path:
    """An imported run of these real outputs; a value in which more is better times `faster`, any other divided by it."""
    values: list[ForeignValue] = []
    for file in files:
        read = reading.read((OUTPUTS / file).read_bytes(), reading.find_formats())
        values += [replace(v, file=file) for v in read.values]
    values = [replace(v, value=v.value * (faster if v.better == "higher" else 1 / faster)) for v in values]
    tools = {v.tool: 1 for v in values}
    return write_run(
        folder, name, describe_machine(name), "2020-11-20T10:00:00", Imported(tools=tools, values=tuple(values))
    )


def side(path: Path) -> Side:
    run = reduce_run(evaluate(path))
    return Side(name=run.run, kind="imported" if run.imported else "run", runs=(run,))


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    cli.run_words(list(words))
    return capsys.readouterr().out


def test_conditions_in_which_whole_imports_differ_prevent_no_comparison(tmp_path: Path) -> None:
    file = "pytest_benchmark_5.txt"
    sides = [imported(tmp_path, "old", file), imported(tmp_path, "new", file, faster=1.25)]
    old, new = map(side, sides)
    cases = tuple(replace(c, parameters={**c.parameters, "python_version": "3.12.1"}) for c in new.runs[0].cases)
    (other,) = compare_sides((old, replace(new, runs=(replace(new.runs[0], cases=cases),)))).others
    assert [round(total.ratio, 3) for total in other.benchmarks] == [0.8]
    assert any(
        "although these conditions differ: python version 3.11.7 and python version 3.12.1." in c
        for c in other.conditions
    )


def test_a_value_stands_beside_our_case_of_the_same_meaning(tmp_path: Path) -> None:
    ours = evaluation(
        [message(2e-6, 8), message(1e-3, 4 << 20), message(5e-6, 8, buffers="fresh"), triad(2e10, threads=2)]
    )
    own = Side(name="ours", kind="run", runs=(reduce_run(ours),))
    compared = compare_sides((own, side(imported(tmp_path, "imb", "imb_pingpong.txt"))), with_rows=True)
    rows = {row.parameters["message_bytes"]: row for row in compared.rows if row.metric == "latency"}
    assert set(rows) == {8, 4 << 20}
    own_cell, cell = rows[8].cells
    assert (cell.level, cell.call, cell.low) == ("FOREIGN", NOT_JUDGED, None)
    assert cell.ratio == pytest.approx(1.05e-6 / 2e-6)
    assert "the median of this run beside the mean" in own_cell.why


def test_two_imported_runs_have_ratios_and_no_call(tmp_path: Path) -> None:
    sides = [side(imported(tmp_path, name, "stream.txt", faster=f)) for name, f in (("a", 1.0), ("b", 2.0))]
    (other,) = compare_sides(sides).others
    assert set(other.counts) == {NOT_JUDGED}
    assert [b.ratio for b in other.benchmarks] == pytest.approx([0.5])


def test_different_statistics_are_named_between_imported_runs(tmp_path: Path) -> None:
    first, second = (side(imported(tmp_path, name, "stream.txt")) for name in "ab")
    cases = tuple(replace(c, statistic="median") if c.statistic.startswith("best") else c for c in second.runs[0].cases)
    second = replace(second, runs=(replace(second.runs[0], cases=cases),))
    (other,) = compare_sides((first, second)).others
    assert any("the median of b beside the best of" in text for text in other.conditions)


def test_a_group_of_imported_runs_has_their_mean(tmp_path: Path) -> None:
    runs = [
        side(imported(tmp_path, name, "stream.txt", faster=f)).runs[0]
        for name, f in (("a", 1.0), ("b", 2.0), ("c", 3.0))
    ]
    group = Side(name="all", kind="imported", runs=tuple(runs))
    (other,) = compare_sides((Side(name="a", kind="imported", runs=(runs[0],)), group)).others
    assert 0.3 < other.benchmarks[0].ratio < 0.6


def test_screen_query_export_and_comparison_take_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = tmp_path / "runs"
    imported(runs, "a", "stream.txt", "osu_latency.txt", "hpl.txt")
    imported(runs, "b", "stream.txt", faster=1.5)
    where = ["--runs", str(runs)]
    screen = said(capsys, "show", "a", *where)
    assert "Other tools measured these values" in screen
    assert "best of 9" in screen
    assert "363 GB/s" in screen
    query = (
        "select value, statistic, verdict from metrics where run = 'a' and kernel = 'triad' and metric = 'bandwidth'"
    )
    (row,) = json.loads(said(capsys, "query", query, "--json", *where))
    assert row == {"value": 363208.7e6, "statistic": "best of 9", "verdict": "FOREIGN"}
    exported = json.loads(said(capsys, "export", "a", "--format", "json", *where))
    assert {r["verdict"]["level"] for r in exported["results"]} == {"FOREIGN"}
    compared = json.loads(said(capsys, "compare", "a", "b", "--json", *where))
    assert [b["ratio"] for b in compared["others"][0]["benchmarks"]] == pytest.approx([1 / 1.5])


@pytest.mark.parametrize("file", ["nccl_last_ranks.txt", "nccl_allreduce.txt"])
def test_no_row_of_the_screen_is_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str) -> None:
    imported(tmp_path / "runs", "a", file)
    lines = said(capsys, "show", "a", "--runs", str(tmp_path / "runs")).splitlines()
    assert [line for line in lines if "◇" in line and line.strip()[0].isalpha()]
    assert not [line for line in lines if line.strip().endswith("–  ◇")]


def test_the_files_of_an_imported_run_follow_their_schemas(tmp_path: Path) -> None:
    path = imported(tmp_path, "a", "stream.txt", "imb_pingpong.txt")
    read_output("run.json", (path / "run.json").read_text(encoding="utf-8"))
    lines = (path / "values.jsonl").read_text(encoding="utf-8").splitlines()
    assert len({read_output("values.jsonl", line)["tool"] for line in lines}) == 2


def test_a_comparison_in_turn_needs_measured_runs(tmp_path: Path) -> None:
    imported(tmp_path, "a", "stream.txt")
    imported(tmp_path, "b", "stream.txt")
    code = cli.run_and_explain(lambda: cli.app(["compare", "a", "b", "--in-turn", "--runs", str(tmp_path)]))
    assert code == 2


def test_the_report_draws_it_on_the_axes_of_our_benchmark(tmp_path: Path) -> None:
    made = evaluate(imported(tmp_path, "a", "osu_latency.txt", "hpl.txt", "mlc.txt"))
    drawn = {
        figure.name: figure
        for benchmark in made.benchmarks.values()
        for figure in benchmark.figures(
            tuple(r for r in made.results if r.benchmark == benchmark.name), made.run.machine
        )
    }
    assert drawn["pingpong-time"].series[0].y
    assert "measured these values" in drawn["pingpong-time"].caption
    assert any(f.series for name, f in drawn.items() if name.startswith("application-hpl"))
    page = render(made)
    assert "Other tools measured these values" in page
    assert "0 B usable" not in page


def test_the_report_claims_nothing_that_only_holds_for_our_own_runs(tmp_path: Path) -> None:
    page = render(evaluate(imported(tmp_path, "osu", "osu_mbw_mr.txt", "osu_suite.txt", "osu_7.txt", "hpl.txt")))
    anchors = re.findall(r'<section class="page[^"]*" id="([^"]+)"', page)
    assert {"overview", "provenance", "application-hpl"} <= set(anchors)
    assert not {"method", "applications", "pace", "scaling", "roofline"} & set(anchors)
    assert not re.search(r"None window|NOT VERIFIED|INVALID</span>", page)


def test_nothing_stays_of_a_run_that_cannot_be_written(tmp_path: Path) -> None:
    class Broken:
        pass

    values = (Broken(),)
    with pytest.raises(Exception, match="Broken"):
        write_run(tmp_path, "a", describe_machine("a"), "", Imported(tools={}, values=values))
    assert not list(tmp_path.iterdir())


def test_a_damaged_line_of_values_is_left_out_with_a_note(tmp_path: Path) -> None:
    path = imported(tmp_path, "a", "stream.txt")
    file = path / "values.jsonl"
    file.write_bytes(file.read_bytes() + b'{"benchmark": 3}\nno JSON\n')
    made = evaluate(path)
    assert len(made.results) == 4
    assert sum("values.jsonl was left out" in note for note in made.run.notes) == 2


def test_sides_without_a_common_value_are_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [imported(tmp_path, "osu", "imb_pingpong.txt"), imported(tmp_path, "hpl", "hpl.txt")]
    screen = " ".join(said(capsys, "compare", *map(str, runs)).split())
    assert "hpl and osu have no case in common." in screen
    page = render(evaluate(runs[0]), beside(evaluate(runs[0]), evaluate(runs[1])))
    assert "so there is nothing to compare" in page
    assert "Total times" not in page


def test_an_imported_run_is_judged_once_and_answers_from_its_table(tmp_path: Path) -> None:
    path = imported(tmp_path, "once", "osu_7.txt", "stream.txt", "mdtest.txt")
    judged, restored = evaluate(path), evaluate(path)
    assert (path / "results.jsonl").exists()
    assert restored.results == judged.results
    assert restored.findings == judged.findings
    assert restored.condition == judged.condition
    assert restored.run.imported is not None
    assert judged.run.imported is not None
    assert list(restored.run.imported.values) == list(judged.run.imported.values)
    for name, benchmark in judged.benchmarks.items():
        again = restored.benchmarks[name]
        assert (again.title, again.summary, again.metrics, again.heading, again.roles) == (
            benchmark.title, benchmark.summary, benchmark.metrics, benchmark.heading, benchmark.roles,
        )  # fmt: skip
        of_benchmark = tuple(result for result in judged.results if result.benchmark == name)
        assert again.figures(of_benchmark, restored.run.machine) == benchmark.figures(of_benchmark, judged.run.machine)


def test_a_changed_value_of_an_imported_run_is_judged_again(tmp_path: Path) -> None:
    path = imported(tmp_path, "changed", "stream.txt")
    before = evaluate(path)
    lines = (path / "values.jsonl").read_text().splitlines()
    (path / "values.jsonl").write_text("\n".join(lines[1:]) + "\n")
    after = evaluate(path)
    assert sum(len(result.metrics) for result in after.results) < sum(len(r.metrics) for r in before.results)
