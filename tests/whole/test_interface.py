"""`steelyard.open`: runs as rows and data frames, in agreement with what the commands print."""

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import steelyard
from copied_runs import write_copy
from folders import ROOT
from steelyard.errors import UsageError
from steelyard.show.command_line import cli


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for number in range(2):
        write_copy(folder / f"r{number}", started=f"2026-01-0{number + 1}T10:00:00+00:00", seed=number)
    return folder


def test_a_run_is_opened_by_folder_by_id_and_as_the_newest(runs: Path) -> None:
    assert steelyard.open(runs / "r0").paths == (runs / "r0",)
    assert steelyard.open("r0", runs=runs).paths == (runs / "r0",)
    assert steelyard.open(runs=runs).paths == (runs / "r1",)
    assert len(steelyard.open(runs)) == 2
    assert repr(steelyard.open(runs)) == "<steelyard.Results: r0, r1>"
    with pytest.raises(UsageError, match="There is no run 'r7'"):
        steelyard.open("r7", runs=runs)


def test_rows_have_a_column_for_each_parameter_and_agree_with_the_export(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = steelyard.open(runs / "r1").rows(benchmark="memory.stream", kernel="triad", metric="bandwidth")
    assert {(row["threads"], row["stores"]) for row in rows} == {(2, "ordinary"), (2, "streaming")}
    assert cli.run_and_explain(lambda: cli.app(["export", str(runs / "r1")])) == 0
    exported = json.loads(capsys.readouterr().out)["results"]
    expected = [
        result["metrics"]["bandwidth"]["value"]
        for result in exported
        if (result["benchmark"], result["kernel"]) == ("memory.stream", "triad")
    ]
    assert sorted(row["value"] for row in rows) == sorted(expected)
    two = steelyard.open(runs).rows(benchmark="memory.stream", kernel="triad", metric="bandwidth", threads=2)
    assert {(row["run"], row["threads"]) for row in two} == {("r0", 2), ("r1", 2)}
    both = steelyard.open(runs).rows(benchmark=["memory.stream", "memory.latency"])
    assert {row["benchmark"] for row in both} == {"memory.stream", "memory.latency"}


def test_samples_are_in_the_order_of_time(runs: Path) -> None:
    opened = steelyard.open(runs / "r0")
    rows = opened.rows("samples", benchmark="memory.stream", kernel="triad")
    assert rows
    assert all(row["seconds"] > 0 and row["aside"] is False for row in rows)
    records = [json.loads(line) for line in (runs / "r0" / "records.jsonl").read_text().splitlines()]
    assert len(opened.rows("samples")) == sum(len(record["samples"]) for record in records)
    first = next(record for record in records if record["benchmark"] == "memory.stream" and record["kernel"] == "triad")
    facts = {"launch": first["launch"], **{n: value for n, value in first["parameters"].items() if n in rows[0]}}
    same = [row for row in rows if all(row[name] == value for name, value in facts.items())]
    assert [row["seconds"] for row in same] == first["samples"]
    assert [row["sample"] for row in same] == list(range(1, 1 + len(same)))


def test_machine_findings_and_figures_are_those_of_the_newest_run(runs: Path) -> None:
    opened = steelyard.open(runs)
    assert opened.machine.host == "node1"
    assert all(finding.rule and finding.seen for finding in opened.findings)
    assert "Triad bandwidth" in {figure["title"] for figure in opened.figures}


@pytest.mark.parametrize(
    ("words", "names"), [(("metrics", "thread"), "There is no column"), (("sample", ""), "There is no table")]
)
def test_what_does_not_exist_is_refused(runs: Path, words: tuple[str, str], names: str) -> None:
    table, column = words
    with pytest.raises(UsageError, match=names):
        steelyard.open(runs / "r0").rows(table, **({column: 1} if column else {}))  # type: ignore[arg-type]


def test_a_frame_needs_pandas_or_polars(runs: Path) -> None:
    opened = steelyard.open(runs / "r0")
    if not any(importlib.util.find_spec(name) for name in ("pandas", "polars")):
        with pytest.raises(UsageError, match="A data frame needs pandas or polars. Do: pip install pandas"):
            opened.frame()
        return
    frame = opened.frame(kernel="triad", metric="bandwidth")
    assert len(frame) == len(opened.rows(kernel="triad", metric="bandwidth"))
    assert "threads" in frame.columns


def execute(blocks: Iterable[str]) -> dict[str, Any]:
    """Executes them in their order, and returns the names that they give. Without pandas, a frame is a list of rows."""
    given: dict[str, Any] = {}
    has_frames = any(importlib.util.find_spec(name) for name in ("pandas", "polars"))
    for block in blocks:
        is_frame = ".frame(" in block and not has_frames
        exec(
            block.replace(".frame(", ".rows(").partition("print(")[0].partition("triad[[")[0] if is_frame else block,
            given,
        )
    return given


@pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="matplotlib is not installed")
def test_the_notebook_runs_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    cells = json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    given = execute("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert {row["threads"] for row in given["results"].rows(kernel="triad")} == {1, 2}
    assert "samples are set aside" in capsys.readouterr().out


def test_the_page_of_the_manual_runs_as_it_is_written(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # in which the page's own run lies
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    assert len(blocks) == 4
    given = execute(
        block.replace('"runs"', repr(str(runs))).replace('"20261120-101500"', repr(str(runs / "r1")))
        for block in blocks
    )
    assert len(given["triad"]) > 0
    measured = given["measured"]
    assert isinstance(measured, steelyard.Results)
    assert {row["threads"] for row in measured.rows(kernel="triad")} == {1, 2}
    compared = given["compared"]
    assert isinstance(compared, dict)
    assert "memory.stream" in {whole["name"] for whole in compared["wholes"]}


def test_results_are_sides_of_a_comparison_in_their_order(runs: Path) -> None:
    one, other, both = (steelyard.open(path) for path in (runs / "r0", runs / "r1", runs))
    compared = steelyard.compare(other, one)
    assert (compared["a"], compared["b"]) == ("r1", "r0")
    sides = steelyard.compare(both, "Core 2 Duo E4600")
    assert [len(side["runs"]) for side in sides["sides"]] == [2, 1]
    assert sides["sides"][0]["letter"] == "a"
    with pytest.raises(UsageError, match="Give each run only once"):
        steelyard.compare(both, one)
    assert importlib.import_module("steelyard.compare").ROUNDS  # the package of this name stays one


def test_samples_of_a_row_are_those_of_its_case(runs: Path) -> None:
    opened = steelyard.open(runs)
    row = opened.rows(benchmark="memory.stream", kernel="triad", metric="bandwidth")[0]
    samples = opened.samples(row)
    named = {name: row[name] for name in ("run", "kernel", "threads", "stores", "elements")}
    assert samples == opened.samples(benchmark="memory.stream", **named)
    assert {sample["run"] for sample in samples} == {row["run"]}
    for wrong in ("triad", {"kernel": "triad"}, 3):
        with pytest.raises(UsageError, match="is not a case. Give a row of rows"):
            opened.samples(wrong)  # type: ignore[arg-type]


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is neither a run nor a folder with runs. A run has the file run.json"):
        steelyard.open(tmp_path)


def test_what_a_command_refuses_is_an_error(runs: Path) -> None:
    with pytest.raises(UsageError, match="no such machine"):
        steelyard.compare(runs / "r0", "no such machine")
    with pytest.raises(UsageError, match=r"There is no preset 'quickest' .*Did you mean 'quick'\?"):
        steelyard.run("memory.stream", preset="quickest", runs=runs)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="No such option: --nonsense"):
        steelyard.compare("--nonsense")


def test_the_package_itself_imports_nothing_of_it() -> None:
    code = "import steelyard, sys; print(sorted(name for name in sys.modules if name.startswith('steelyard')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['steelyard']"
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        steelyard.opne  # noqa: B018
