"""`steelyard whatif --demo`: a newcomer's way, from nothing to a page."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import builders
from mpis import mpi
from output_schemas import read_output
from replays import sets
from steelyard import whatif
from steelyard.errors import MachineFailed, UsageError
from steelyard.model import Machine
from steelyard.show.command_line.cli import app
from steelyard.whatif import demo, tracing


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("size", "calls"), [("S", 5_000), pytest.param(demo.SIZE, 10_000, marks=pytest.mark.long)])
def test_the_demo_traces_a_program_and_predicts_loss_and_noise(
    size: str, calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "SIZE", size)
    found = CliRunner().invoke(app, ["whatif", "--demo", "--json", "--set", "repeats=8"])
    assert found.exit_code == 0, found.output
    rows = read_output("whatif", found.stdout)
    lost = [r for r in rows if r["loss"]["probability"]]
    noisy = [r for r in rows if r["noise"]["duration"]]
    assert len(lost) + len(noisy) == len(rows)
    # Each message of LU is waited for: the longer a time-out and the more is lost, the longer it takes.
    (least,) = (r for r in lost if (r["loss"]["probability"], r["loss"]["rto"], r["affected"]) == (1e-5, 5e-3, 1))
    (most,) = (r for r in lost if (r["loss"]["probability"], r["loss"]["rto"], r["affected"]) == (1e-2, 0.2, 1))
    assert 1 <= least["slowdown"] < 2
    # How many times as long depends on the pace of the traced machine; how much longer does not.
    assert (most["slowdown"] - 1) * most["undisturbed"] > 5 * most["loss"]["rto"]
    assert all(r["slowdown"] >= 1 for r in noisy)
    assert rows[0]["traced"]["calls"] > calls
    assert rows[0]["traced"]["broken"] == []
    (page,) = tmp_path.glob("demo-*.html")
    text = page.read_text()
    assert "Lost packets" in text
    assert "Noise of the system" in text
    (folder,) = (path for path in tmp_path.glob("demo-*") if path.is_dir())
    assert sorted(path.name for path in folder.iterdir())[0] == "rank-0.trace"
    again = CliRunner().invoke(app, ["whatif", str(folder), "--set", "network=L=15us,o=3us,g=1us,G=0.8ns/B", "--json"])
    assert json.loads(again.stdout)["time"] == rows[0]["undisturbed"]


@pytest.mark.long
def test_every_mpi_of_this_machine_traces_the_demo(here: Machine, tmp_path: Path) -> None:
    assert here.mpis
    for place, own in enumerate((*here.mpis, mpi("mpich", here))):
        made = demo.trace(tmp_path / f"demo-{place}", replace(here, mpis=(own,)))
        assert (made.code, made.ranks) == (0, demo.choose_ranks(here))
        assert not (tmp_path / f"demo-{place}.found").exists()


@pytest.mark.long
def test_conditions_of_the_users_own_are_asked_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SIZE", "S")
    words = ["whatif", "--demo", *sets("core=2", "network=L=1us,G=0.1ns/B"), "--report", str(tmp_path / "own.html")]
    found = CliRunner().invoke(app, [*words, "--json", "--quiet"])
    assert found.exit_code == 0, found.output
    row = json.loads(found.stdout)
    assert (row["core"], row["network"]["across"][0]["L"]) == (2, 1e-6)
    assert (tmp_path / "own.html").is_file()


@pytest.mark.parametrize("words", [(), ("x.goal", "--demo")])
def test_a_trace_or_the_demo_is_named_and_not_both(words: tuple[str, ...]) -> None:
    found = CliRunner().invoke(app, ["whatif", *words])
    assert isinstance(found.exception, UsageError)
    assert "--demo" in found.exception.shown()


def test_without_an_mpi_the_demo_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="libopenmpi-dev"):
        demo.trace(tmp_path / "demo", builders.machine())
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_went_wrong_is_not_replayed(tmp_path: Path) -> None:
    found = tmp_path / "found"
    found.write_text('{"steelyard":"here"}\nmpiexec: no such host\n')
    made = tracing.Made(tmp_path / "demo", 1, 2, 100, 0.1)
    with pytest.raises(MachineFailed, match="ended with exit code 1 and without a correct result(.|\n)*no such host"):
        demo._expect_right(found, made)


def test_the_demo_with_two_ranks_has_no_section_on_some_ranks(tmp_path: Path) -> None:
    def sections(ranks: int) -> dict[str, tuple[whatif.Point, ...]]:
        return whatif.list_points(whatif.read_scenario(demo.make_scenario(ranks, []), []), tmp_path)

    assert list(sections(2)) == ["Lost packets", "Noise of the system"]
    assert sorted({p.affected for p in sections(4)[demo.SOME_RANKS]}) == [0.25, 0.5, 0.75, 1.0]
