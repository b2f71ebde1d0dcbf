"""A wing is a package with parts behind doors: a made-up one is installed, and each of its parts is found."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import report_fixture
from steelyard import doors, findings, report
from steelyard.command_line import cli
from steelyard.command_line.request import find_program
from steelyard.errors import UsageError
from steelyard.plan import catalogue
from steelyard.results.basis import find_rules

Install = Callable[[dict[str, str]], None]

COMMAND = '''"""`steelyard weather`."""

PLACE = 25


def command(town: str = "Ulm") -> None:
    """Print the weather of a town.

    Examples: **steelyard weather --town Ulm**
    """
    print(f"It rains in {town}.")
'''
FINDING = '''"""Rule: rain"""

from steelyard.model import Finding


def find(evaluation):
    return [Finding("rain", "notice", "It rains.", (), "Clouds.", "Wait.", reach="machine")]
'''
PAGE = '''"""The weather over the run."""

PLACE, TITLE = 25, "Weather"


def data(evaluation):
    return {"town": "Ulm"}
'''
BENCHMARK = '''"""Drops of rain

Counts drops.

Reading: More is wetter.

Caution: None.

Source: Made up.
"""

from steelyard.model import Axes, Metric


def axes(machine, effort):
    return (Axes({"kernel": ("drops",), "threads": (1,)}),)


metrics = (Metric("drops", "1/s", "higher", "drops each second", lambda seconds, record: 1 / seconds),)
limit = lambda metric, result, machine: None
figures = lambda results, machine: ()
'''
PROGRAMS = '''"""Door: programs that a file NAME.rain describes."""

SUFFIX = ".rain"


def is_described(path):
    return path.suffix == SUFFIX


def shipped():
    return {}


def benchmark_of(path):
    from steelyard.model import Benchmark, Source

    nothing = lambda *given: ()
    return Benchmark(
        name=f"weather.{path.stem}", title="Rain", summary="", reading="", caution="", source="",
        sources=(Source(str(path), False, foreign=True),), axes=nothing, metrics=(), limit=nothing, figures=nothing,
    )
'''
TRACES = '''"""Door: traces of clouds."""

FORMATS = {"drops": False}


def is_trace(path):
    return path.suffix == ".cloud"


def export(trace, form, output, machine):
    from types import SimpleNamespace

    output.write_text(form)
    return SimpleNamespace(apart=0)
'''
WING = {
    "commands/weather.py": COMMAND,
    "findings/rain.py": FINDING,
    "pages/weather.py": PAGE,
    "pages/weather.html": "<p>It rains in {{ page.town }}.</p>",
    "benchmarks/weather/drops.py": BENCHMARK,
    "benchmarks/weather/drops.cpp": "",
    "programs.py": PROGRAMS,
    "traces.py": TRACES,
}


@pytest.fixture
def wing(install_wing: Install) -> None:
    """The made-up wing, installed."""
    install_wing(WING)


def test_a_command_runs_and_stands_in_its_place_of_the_help(wing: None, capsys: pytest.CaptureFixture[str]) -> None:
    cli.run_words(["weather", "--town", "Bonn"])
    assert capsys.readouterr().out == "It rains in Bonn.\n"
    cli.run_and_explain(lambda: cli.app(["--help"]))
    text = capsys.readouterr().out
    assert text.index("\n  scale ") < text.index("\n  weather ") < text.index("\n  resume ")
    assert "Print the weather of a town." in text


def test_a_finding_is_judged(wing: None) -> None:
    judged = findings.judge(report_fixture.evaluation())
    assert [f.seen for f in judged.findings if f.rule == "rain"] == ["It rains."]
    assert (findings.rule("rain").__doc__ or "").startswith("Rule: rain")


def test_a_page_is_in_the_report(wing: None) -> None:
    assert "<p>It rains in Ulm.</p>" in report.render(report_fixture.evaluation())


def test_a_benchmark_is_listed(wing: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert catalogue.find()["weather.drops"].title == "Drops of rain"
    cli.run_words(["list", "--json"])
    assert "weather.drops" in {b["name"] for b in json.loads(capsys.readouterr().out)["benchmarks"]}


def test_a_program_runner_takes_files_of_its_own(wing: None, tmp_path: Path) -> None:
    path = tmp_path / "storm.rain"
    path.write_text("")
    assert find_program(str(path)) == path
    assert "weather.storm" in catalogue.find([path])
    with pytest.raises(UsageError, match=r"NAME\.rain"):
        find_program("nothing")


def test_a_trace_reader_exports(wing: None, tmp_path: Path) -> None:
    (tmp_path / "a.cloud").write_text("")
    cli.run_words(["export", str(tmp_path / "a.cloud"), "--format", "drops", "-o", str(tmp_path / "out")])
    assert (tmp_path / "out").read_text() == "drops"


def test_each_trace_is_read_by_the_reader_that_knows_it(wing: None, tmp_path: Path) -> None:
    assert doors.trace_reader(tmp_path / "a.cloud").FORMATS == {"drops": False}
    reader = doors.trace_reader(tmp_path / "a.sun")
    assert reader is None or reader.__name__.startswith("steelyard.")


def test_a_run_is_judged_anew_when_an_installed_rule_changes(install_wing: Install) -> None:
    keys = [find_rules({})]
    for rule in (FINDING, f"{FINDING}# changed"):
        install_wing({"findings/rain.py": rule})
        keys.append(find_rules({}))
    assert len(set(keys)) == 3


def test_a_wing_that_cannot_be_imported_is_named(install_wing: Install) -> None:
    install_wing({"commands/weather.py": COMMAND, "__init__.py": "raise ImportError('no clouds')"})
    with pytest.raises(UsageError, match=r"steelyard\.wings names cannot be imported \(no clouds\)"):
        doors.packages("commands")


def test_a_command_of_ours_does_not_look_for_installed_wings(monkeypatch: pytest.MonkeyPatch) -> None:
    doors.forget()
    monkeypatch.setattr(doors, "_installed_wings", lambda: pytest.fail("it looked"))
    assert cli.run_and_explain(lambda: cli.app(["list", "--help"])) == 0
