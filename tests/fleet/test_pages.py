"""The pages History and Nodes of a report: what they draw, and when there is none."""

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from copied_runs import write_copy
from steelyard.compare.side import Side
from steelyard.fleet.pages import history, nodes
from steelyard.show.command_line.evaluated_run import find_summary, read
from steelyard.show.command_line.sides import read_side_run
from steelyard.show.report.sides_of_report import ReportSides

pytestmark = pytest.mark.wings


def write_history(folder: Path, runs: int = 10) -> list[Path]:
    """Runs a week apart, of which STREAM takes 7 % more time in the second half."""
    return [
        write_copy(
            folder / f"r{n:02d}", started=f"{date(2026, 1, 1) + timedelta(days=7 * n)}T10:00:00+00:00", seed=n,
            kernel="6.8.0" if n >= runs // 2 else "6.1.0",
            factor=lambda record, n=n: 1.07 if n >= runs // 2 and record["benchmark"] == "memory.stream" else 1.0,
        )
        for n in range(runs)
    ]  # fmt: skip


def test_the_page_draws_the_level_before_and_after_a_change(tmp_path: Path) -> None:
    runs = write_history(tmp_path)
    write_copy(tmp_path / "other", host="node2")
    for run in (*runs[:-1], tmp_path / "other"):
        find_summary(run, ())
    page = history.data(read(runs[-1], ()))
    assert page is not None
    assert (page.history.system, len(page.history.runs)) == ("node1", 10)
    head, parts = page.sentences[0]
    assert head.startswith("Since 2026-02-05 (run r05;")
    assert parts[0].startswith("Triad bandwidth (")
    first = page.figures[0]
    assert "slower since 2026-02-05" in first.title
    plot = json.loads(str(first.plot))
    points, level = plot["data"]
    assert len(points["x"]) == len(first.rows) == 10
    assert level["y"][0] > 1.05 * level["y"][3]
    assert level["y"][2] is None
    (mark,) = plot["layout"]["shapes"]
    assert mark["x0"] == "2026-02-05T10:00:00"
    assert plot["layout"]["annotations"][-1]["text"] == "kernel"
    assert {line.figure.partition(" (")[0]: line.course for line in page.lines}["Memory latency"] == "no change"


def test_runs_without_a_stored_summary_and_few_runs_have_no_page(tmp_path: Path) -> None:
    runs = write_history(tmp_path, 6)
    for run in runs[1:4]:
        find_summary(run, ())
    assert history.data(read(runs[-1], ())) is None


def sides(folders: list[Path]) -> ReportSides:
    made = tuple(Side(name=folder.name, kind="run", runs=(read_side_run(folder, ()),)) for folder in folders)
    return ReportSides(sides=made, own=0, figures=None, read_node=lambda _: None)  # type: ignore[arg-type,return-value]


def write_nodes(folder: Path, slow: int | None) -> list[Path]:
    """Runs of twelve nodes in racks of four; the memory of one takes 15 % more time."""
    made = []
    for n in range(12):
        host = f"n{n:02d}"
        run = write_copy(folder / host, host=host, seed=n, factor=1.15 if n == slow else 1.0)
        about = json.loads((run / "run.json").read_text())
        about["machine"]["enclosures"] = [
            {"kind": "rack", "hosts": [f"n{m:02d}" for m in range(first, first + 4)]} for first in (0, 4, 8)
        ]
        (run / "run.json").write_text(json.dumps(about))
        made.append(run)
    return made


def test_the_maps_frame_the_slow_node_and_put_it_first(tmp_path: Path) -> None:
    page = nodes.data(None, sides(write_nodes(tmp_path, 6)))
    assert page is not None
    of_figures, of_places = page.figures
    assert of_figures.title == "Time of each node compared with that of the others: n06 is slow"
    plot = json.loads(str(of_figures.plot))
    assert plot["layout"]["yaxis"]["ticktext"][0] == "n06"
    assert all(14 < share < 16 for share in plot["data"][0]["z"][0])
    assert len(plot["layout"]["shapes"]) == len(plot["data"][0]["z"][0])
    places = json.loads(str(of_places.plot))
    assert places["layout"]["yaxis"]["ticktext"] == ["rack n00 to n03", "rack n04 to n07", "rack n08 to n11"]
    assert places["data"][0]["z"][1][2] == max(share for row in places["data"][0]["z"] for share in row)
    assert places["data"][0]["text"][1][2].startswith("n06 ")


@pytest.mark.long
def test_equal_nodes_have_no_frame_and_two_nodes_no_page(tmp_path: Path) -> None:
    folders = write_nodes(tmp_path, None)
    page = nodes.data(None, sides(folders))
    assert page is not None
    assert page.figures[0].title.endswith("no slow node")
    assert json.loads(str(page.figures[0].plot))["layout"]["shapes"] == []
    assert nodes.data(None, sides(folders[:2])) is None
    assert nodes.data(None, sides([folders[0], folders[0], folders[0]])) is None
