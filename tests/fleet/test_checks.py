"""The answers of gate and fleet for other programs: valid JUnit, annotations on one line each, a table."""

import json
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from copied_runs import write_copy
from steelyard.errors import UsageError
from steelyard.fleet.checks import Check, choose_format, render
from steelyard.show.command_line.cli import app

pytestmark = pytest.mark.wings
CHECKS = [
    Check(name="Triad bandwidth (2 threads)", outcome="failed", text="15.0 % more time, 100 % sure"),
    Check(name="Memory latency", outcome="passed", text="as usual"),
    Check(name="Peak", outcome="undecided", text="two launches"),
]
TEXTS = st.text(min_size=1, max_size=40)


def test_junit_has_a_test_for_each_check() -> None:
    suite = ElementTree.fromstring(render("junit", "steelyard gate n1", CHECKS))
    assert suite.attrib == {"name": "steelyard gate n1", "tests": "3", "failures": "1", "errors": "1"}
    assert [(case.get("name"), [child.tag for child in case]) for case in suite] == [
        ("Triad bandwidth (2 threads)", ["failure"]), ("Memory latency", ["system-out"]), ("Peak", ["error"]),
    ]  # fmt: skip


def test_annotations_say_how_serious_a_check_is() -> None:
    assert render("github", "gate", CHECKS).splitlines() == [
        "::error title=gate%3A Triad bandwidth (2 threads)::15.0 %25 more time, 100 %25 sure",
        "::notice title=gate%3A Memory latency::as usual",
        "::warning title=gate%3A Peak::two launches",
    ]


def test_markdown_is_a_table() -> None:
    lines = render("markdown", "gate", CHECKS).splitlines()
    assert lines[0] == "**gate**"
    assert lines[2:] == [
        "| Check | Outcome | Measured |",
        "| --- | --- | --- |",
        "| Triad bandwidth (2 threads) | failed | 15.0 % more time, 100 % sure |",
        "| Memory latency | passed | as usual |",
        "| Peak | undecided | two launches |",
    ]


@given(TEXTS, TEXTS)
def test_no_name_breaks_a_form(name: str, text: str) -> None:
    checks = [Check(name=name, outcome="failed", text=text)] * 2
    suite = ElementTree.fromstring(render("junit", name, checks).encode("utf-8", "surrogatepass"))
    assert len(suite) == 2
    annotations = render("github", name, checks).split("\n")
    assert len(annotations) == 3
    assert all(re.fullmatch(r"::error title=[^:,\r\n]*::[^\r\n]*", line) for line in annotations[:2])
    assert "%" not in unquote(annotations[0]) or "%" in name + text
    table = render("markdown", "gate", checks).split("\n")[4:-1]
    assert all(len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 4 for line in table)


def test_a_fleet_has_a_test_for_each_node(tmp_path: Path) -> None:
    for number in range(8):
        write_copy(tmp_path / f"n{number}", host=f"n{number}", seed=number, factor=1.3 if number == 3 else 1.0)
    done = CliRunner().invoke(app, ["fleet", str(tmp_path), "--format", "junit"])
    suite = ElementTree.fromstring(done.stdout)
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert (failed, suite.get("tests")) == (["n3"], "8")
    same = CliRunner().invoke(app, ["fleet", str(tmp_path), "--format", "json"]).stdout
    assert json.loads(same) == json.loads(CliRunner().invoke(app, ["fleet", str(tmp_path), "--json"]).stdout)


@pytest.mark.parametrize("words", [("--all", "--json"), ("--json", "--format", "junit")])
def test_two_forms_of_a_fleet_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="cannot be used together"):
        raise CliRunner().invoke(app, ["fleet", str(tmp_path), *words]).exception


@pytest.mark.parametrize(("name", "json_"), [("junitt", False), ("junit", True), ("text", False)])
def test_formats_that_do_not_exist_or_contradict_are_refused(name: str, json_: bool) -> None:
    with pytest.raises(UsageError, match="--format|junit"):
        choose_format(name, json_=json_)
