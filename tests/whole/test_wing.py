"""The wing of CONTRIBUTING.md: it works as it is printed, and each of its parts that fails costs only itself."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import report_fixture
from folders import ROOT
from golden_runs import copied
from steelyard.importing import reading
from steelyard.judge import findings
from steelyard.show import report
from steelyard.show.command_line import cli

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("### With many ranks")[2]
IMPORTS = (ROOT / "docs" / "import.md").read_text(encoding="utf-8").partition("## Add a format\n")[2]
FORMAT, RULE = "formats/sitebench.py", "findings/wide_intervals.py"
COMMAND, PAGE, TEMPLATE = "commands/widest.py", "pages/widest.py", "pages/widest.html"
# What is put behind each part: it fails when it is imported, or when it is called.
IMPORTED = '\nraise RuntimeError("broken")\n'
CALLED = {
    COMMAND: '\n\ndef command(name: RunName = None):\n    raise RuntimeError("broken")\n',
    RULE: '\n\ndef find(evaluation):\n    raise RuntimeError("broken")\n',
    PAGE: '\n\ndef data(evaluation):\n    raise RuntimeError("broken")\n',
    FORMAT: '\n\ndef read(text):\n    yield from ()\n    raise RuntimeError("broken")\n',
    TEMPLATE: "{{ page.no_such.thing }}\n",
}
FAILURES = [*((file, IMPORTED) for file in CALLED if file != TEMPLATE), *CALLED.items()]


def read_wing() -> dict[str, str]:
    """The files of the example, by their paths below `our_wing`."""
    files = dict(re.findall(r"^`our_wing/([\w/.]+)` .*?\n\n```\w+\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL))
    files |= dict(re.findall(r"`our_wing/([\w/.]+)`:\n\n```\w+\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL))
    code = re.findall(r"^```python\n(.*?)^```", IMPORTS, re.MULTILINE | re.DOTALL)[0]
    return {**files, FORMAT: code}


def read_output() -> str:
    """What the tool of the format prints."""
    return str(re.findall(r"^```text\n(.*?)^```", IMPORTS, re.MULTILINE | re.DOTALL)[0])


class Outcome:
    """What each part of the wing gives; "" where it is missing."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        def run(*words: str) -> tuple[int, str, str]:
            code = cli.run_and_explain(lambda: cli.app(list(words)))
            captured = capsys.readouterr()
            return code, captured.out, captured.err

        reading.find_formats.cache_clear()
        (folder / "sitebench.log").write_text(read_output(), encoding="utf-8")
        self.help = run("--help")
        self.command = run("widest", str(copied("run-format-2")))
        judged = findings.judge(report_fixture.evaluation())
        self.rules = {finding.rule: finding.seen for finding in judged.findings}
        self.report = report.render(judged)
        self.imported = run("import", str(folder / "sitebench.log"), "--dry-run", "--json", "--runs", str(folder))

    def find_working(self) -> set[str]:
        """The files of the parts that work."""
        tools = json.loads(self.imported[1])["tools"] if self.imported[0] == 0 else {}
        working = {
            COMMAND: self.command[0] == 0 and re.search(r"^ +[\d.]+%  \w+\.\w+ \w+: \w+", self.command[1]),
            RULE: self.rules.get("wide_intervals", "").startswith("The widest interval is"),
            PAGE: re.search(r"<h1>Widest intervals</h1>\n(?s:.*?)<table><tr><td>", self.report)
            and 'id="widest-intervals' in self.report,
            FORMAT: "SiteBench" in tools,
        }
        return {file for file, works in working.items() if works}

    def tell(self, file: str) -> str:
        """What is said where the part is missing."""
        command, rule = self.command[2], self.rules.get("wide_intervals", "")
        return {COMMAND: command, RULE: rule, PAGE: self.report, FORMAT: self.imported[2] + self.imported[1]}[file]


Install = Callable[[dict[str, str]], None]


@pytest.fixture
def install(install_wing: Install, tmp_path: Path) -> Install:
    """Installs the example with changed files, under a name of its own in this process."""

    def named(changes: dict[str, str]) -> None:
        files = {path: text + changes.get(path, "") for path, text in read_wing().items()}
        install_wing({path: text.replace("our_wing", f"wing_{tmp_path.name}") for path, text in files.items()})

    return named


def test_the_example_has_all_its_parts() -> None:
    wing = read_wing()
    assert set(wing) == {"intervals.py", COMMAND, RULE, PAGE, TEMPLATE, FORMAT}
    assert sum(text.count("\n") for text in wing.values()) < 200


def test_each_part_of_the_example_works(install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install({})
    outcome = Outcome(tmp_path, capsys)
    assert outcome.find_working() == {COMMAND, RULE, PAGE, FORMAT}
    assert "\n  widest " in outcome.help[1]
    assert (outcome.help[2], outcome.command[2]) == ("", "")
    assert "fault" not in outcome.imported[2]  # a slow import also prints its progress


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("file", "code"), FAILURES, ids=lambda text: text.split()[0])
def test_a_part_that_fails_costs_only_itself(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, code: str
) -> None:
    install({file: code})
    outcome, part = Outcome(tmp_path, capsys), PAGE if file == TEMPLATE else file
    assert outcome.find_working() == {COMMAND, RULE, PAGE, FORMAT} - {part}
    assert outcome.help[0] == 0
    assert "\n  scale " in outcome.help[1]
    said = outcome.tell(part)
    (path,) = tmp_path.rglob(file)
    assert f"The fault is in {path}, line " in said
    assert ("RuntimeError: broken" in said) != (file == TEMPLATE)
    assert "Traceback" not in said
    if file == COMMAND:
        assert outcome.command[0] == 4
        assert "steelyard: The command 'widest' failed: RuntimeError: broken" in said


@pytest.mark.long
def test_the_example_works_in_a_process_of_its_own(tmp_path: Path) -> None:
    texts = {f"our_wing/{path}": text for path, text in read_wing().items()}
    for folder in ("our_wing", *(f"our_wing/{door}" for door in ("commands", "findings", "pages", "formats"))):
        texts[f"{folder}/__init__.py"] = ""
    texts["our_wing-1.dist-info/METADATA"] = "Name: our-wing\nVersion: 1\n"
    texts["our_wing-1.dist-info/entry_points.txt"] = "[steelyard.wings]\nours = our_wing\n"
    for path, text in texts.items():
        (tmp_path / "site" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / path).write_text(text, encoding="utf-8")
    run, page = str(copied("run-format-2")), tmp_path / "report.html"

    def call(*words: str, **variables: str) -> Any:
        command = [str(Path(sys.executable).with_name("steelyard")), *words]
        there = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), **variables}
        return subprocess.run(command, env=there, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert call("widest", run).returncode == 0
    assert call("report", run, "--output", str(page)).returncode == 0
    assert "<h1>Widest intervals</h1>" in page.read_text(encoding="utf-8")
    (tmp_path / "site" / "our_wing" / COMMAND).write_text('"""A command that fails."""\nimport no_such_module\n')
    assert call("widest", run).returncode == 4
    completing = {"_STEELYARD_COMPLETE": "complete_bash", "COMP_WORDS": "steelyard ", "COMP_CWORD": "1"}
    assert "resume\n" in call(**completing).stdout
    (tmp_path / "site" / "our_wing" / "__init__.py").write_text("import no_such_module\n")
    broken = call("report", run, "--output", str(page))
    assert broken.returncode == 0
    assert broken.stderr.count("ModuleNotFoundError: No module named 'no_such_module'") == 1
    assert "<h1>Widest intervals</h1>" not in page.read_text(encoding="utf-8")
