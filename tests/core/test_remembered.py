"""A run names folders with benchmarks, which are programs: only those that the user measured with are carried out."""

import json
from pathlib import Path

import pytest

from damage import unpack
from steelyard.judge import evaluation
from steelyard.measure.records import remembered
from steelyard.show.command_line import cli

DECLARED = '''"""What someone else left

It writes a file when it is read.

Reading: r.

Caution: c.

Source: s.
"""

from pathlib import Path

Path(__file__).with_name("carried-out").touch()
metrics = ()


def axes(machine, effort):
    return ()


def limit(metric, result, machine):
    return None


def figures(results, machine):
    return ()
'''


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A run that came from someone else, and the folder with a benchmark that it names."""
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "theirs" / "left"
    folder.mkdir(parents=True)
    (folder / "behind.py").write_text(DECLARED)
    (folder / "behind.cpp").write_text("")
    run = unpack(tmp_path / "runs")
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**about, "paths": [str(folder.parent)]}))
    return run, folder.parent


def carried_out(folder: Path) -> bool:
    return (folder / "left" / "carried-out").exists()


def test_a_folder_that_a_strange_run_names_is_not_read(
    foreign: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    run, folder = foreign
    assert evaluation.evaluate(run).results
    assert cli.run_and_explain(lambda: cli.app(["show", str(run)])) in (0, 1)
    assert f"Steelyard did not read the benchmarks in '{folder}'" in capsys.readouterr().err
    assert not carried_out(folder)


def test_it_is_read_where_the_user_names_it(foreign: tuple[Path, Path]) -> None:
    run, folder = foreign
    assert not evaluation.evaluate(run, [folder]).run.notes
    assert carried_out(folder)


def test_it_is_read_once_the_user_has_measured_with_it(foreign: tuple[Path, Path]) -> None:
    run, folder = foreign
    remembered.trust([folder])
    remembered.trust([folder])
    assert not evaluation.evaluate(run).run.notes
    assert carried_out(folder)
    assert len((folder.parent / "cache" / "measured-with").read_text().splitlines()) == 1
