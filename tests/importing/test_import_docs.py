"""The page on imports and the tutorial: their examples are run as they are printed."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from folders import ROOT
from import_fixture import imported, write
from steelyard.importing import reading
from steelyard.measure import records
from steelyard.show.command_line import cli

PAGE = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
MOST = 40  # lines of code of a format


def block(text: str, language: str) -> str:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0]


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example of a format and its output, in a folder."""
    monkeypatch.chdir(tmp_path)
    section = PAGE.partition("## Add a format\n")[2]
    return write(tmp_path, {"formats/sitebench.py": block(section, "python"), "logs/a.log": block(section, "text")})


def test_the_example_of_a_format_reads_its_output(example: Path, capsys: Any) -> None:
    (run,) = imported(capsys, "logs", "--path", "formats")["runs"]
    assert (run["host"], run["started"]) == ("node17", "2024-05-03T09:25:44")
    values = records.read(Path(run["run"])).imported.values
    assert [(v.metric, v.value, v.unit, v.better, v.parameters) for v in values[:2]] == [
        ("bandwidth", 301.5e9, "B/s", "higher", {"threads": 48, "elements": 1_000_000}),
        ("time", 80e-6, "s", "lower", {"threads": 48, "elements": 1_000_000}),
    ]
    assert len(values) == 4


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (("passed", "failed"), "the verification failed or is missing"),
        (("301.5 ", "301,5 "), "'301,5' is not a number"),
        (("301.5", ""), "line 5 has 2 columns, but its heading has 3"),
    ],
)
def test_the_example_refuses_what_does_not_fit(example: Path, changed: tuple[str, str], reason: str) -> None:
    data = (example / "logs" / "a.log").read_text().replace(*changed)
    result = reading.read(data.encode(), reading.find_formats((example / "formats",)))
    assert reason in " ".join(result.problems)
    assert 301.5e9 not in [v.value for v in result.values]


def test_the_example_has_at_most_forty_lines_of_code(example: Path) -> None:
    code = re.sub(r'"""[^"]*"""', "", (example / "formats" / "sitebench.py").read_text(encoding="utf-8"))
    assert len([line for line in code.splitlines() if line.strip()]) <= MOST


def test_the_tutorial_gets_a_page_from_a_folder_of_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    shutil.copytree(ROOT / "examples" / "logs", tmp_path / "examples" / "logs")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    section = text.partition("## Use the logs that you have\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert len(steps) == 4
    for line, printed in steps:
        cli.run_words(shlex.split(line)[1:])
        output = capsys.readouterr().out.splitlines()
        assert [x for x in printed.splitlines() if x != "…" and x not in output] == []
    page = (tmp_path / "runs" / "osu" / "report.html").read_text(encoding="utf-8")
    assert all(word in page for word in ("OSU micro-benchmarks", "Intel MPI Benchmarks", "others"))
