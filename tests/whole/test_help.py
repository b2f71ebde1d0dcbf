"""Help pages, completion, and the page of a benchmark's parameters."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from golden_runs import copied
from steelyard.measure.machine import describe
from steelyard.measure.plan import EFFORTS, catalogue
from steelyard.measure.plan.catalogue import parameter_values
from steelyard.power.commands import power as power_commands
from steelyard.show.command_line import cli, command_group, help_page
from steelyard.show.commands import device as device_commands
from steelyard.show.commands import mpi as mpi_commands

STEELYARD = str(Path(sys.executable).with_name("steelyard"))


def commands_of(app: typer.Typer) -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    found: dict[str, Any] = group.commands
    return found


def all_commands() -> Iterator[tuple[str, Any]]:
    """Each command by its words."""
    groups = {"": cli.app, "device ": device_commands.app, "mpi ": mpi_commands.app, "power ": power_commands.app}
    for prefix, app in groups.items():
        for name, command in commands_of(app).items():
            if f"{name} " not in groups:
                yield prefix + name, command


COMMANDS = list(all_commands())


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_option_has_a_help_text_of_two_lines(name: str, command: Any) -> None:
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        text = parameter.help or ""
        assert text.endswith((".", ").")), (parameter.name, text)
        assert text[0].isupper() or text.split()[0].rstrip(":").islower(), (parameter.name, text)
        assert "may be repeated" not in text, "the page adds it"
        assert "left out" not in text, f"{parameter.name}: say (default: …)"


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_a_help_page_has_one_example_a_line(
    name: str, command: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.run_and_explain(lambda: cli.app([*name.split(), "-h"])) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Usage: ")
    assert "{" not in lines[0]
    start = lines.index("Examples") + 1
    examples = lines[start : lines.index("", start)]
    assert all(line.startswith(f"  steelyard {name}") for line in examples), examples
    assert not any(word in line for line in lines for word in ("<bool>", "<str>", "<path>", "<list", "**", " · "))
    assert all(len(line) <= 80 for line in lines if line not in examples), [x for x in lines if len(x) > 80]


@pytest.mark.parametrize("paragraph", [c.help for _, c in COMMANDS if "Examples: " in (c.help or "")])
def test_each_example_of_a_command_begins_with_steelyard_and_is_whole(paragraph: str) -> None:
    (examples,) = re.findall(r"^Examples: .*(?:\n.+)*", paragraph, re.MULTILINE)
    for line in help_page.split_examples(" ".join(examples.split())):
        assert line.startswith("steelyard ")
        assert not line.endswith("# *")


def test_notes_of_examples_are_comments_of_a_shell() -> None:
    paragraph = "Examples: **steelyard run** · **steelyard run --all** (everything) · **steelyard list**."
    assert help_page.split_examples(paragraph) == [
        "steelyard run", "steelyard run --all   # everything", "steelyard list",
    ]  # fmt: skip


# ---------------------------------------------------------------------- the TAB key


def asked(words: str) -> dict[str, str]:
    """The variables by which bash asks for the last word."""
    last = len(words.split(" ")) - 1
    return {"_STEELYARD_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(last)}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a run in RUNS."""
    (tmp_path / "RUNS").mkdir()
    (tmp_path / "RUNS" / "20200101-000000").symlink_to(copied("run-format-2"))
    return tmp_path


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("steelyard quer", ["query"]),
        ("steelyard power at", ["attach"]),
        ("steelyard run --only memory.st", ["memory.stream"]),
        ("steelyard run --only memory.stream --set pinn", ["pinning="]),
        ("steelyard run --only memory.stream --set kernel=t", ["kernel=triad"]),
        ("steelyard run --only nonsense --set k", []),
        ("steelyard run --preset st", ["standard"]),
        ("steelyard show --runs RUNS 2020", ["20200101-000000"]),
        ("steelyard list noise", ["noise", "noise.quanta"]),
    ],
)
def test_the_shell_is_offered_the_words_that_fit(
    words: str, offered: list[str], place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    for name, value in asked(words).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        cli.app(prog_name="steelyard")
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.split() == offered


def test_the_command_itself_answers_the_shell(place: Path) -> None:
    environment = {**os.environ, **asked("steelyard compare 20200101-000000 Celeron")}
    done = subprocess.run([STEELYARD], env=environment, cwd=place, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("Celeron educational cluster", "")


# ---------------------------------------------------------------------- steelyard list BENCHMARK


def test_the_parameters_of_a_benchmark_are_those_of_its_plan() -> None:
    stream = catalogue.find()["memory.stream"]
    values = parameter_values(stream, describe(), EFFORTS["quick"])
    assert set(values["kernel"]) == {"triad", "copy", "scale", "add", "rotation"}
    wide = parameter_values(stream, describe(), EFFORTS["full"])
    assert set(values["elements"]) <= set(wide["elements"])
    assert set(wide) == {*values, "page_size"}


def test_list_shows_the_parameters_and_units_of_a_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_and_explain(lambda: cli.app(["list", "memory.latency", "--json"])) == 0
    (page,) = json.loads(capsys.readouterr().out)
    assert {"threads", "chains", "bytes"} <= set(page["parameters"])
    assert {"name": "latency", "unit": "s", "better": "lower"} in page["metrics"]
    assert cli.run_and_explain(lambda: cli.app(["list", "memory"])) == 0
    text = capsys.readouterr().out
    assert text.count("\nMetrics: ") == 5
    assert cli.run_and_explain(lambda: cli.app(["list", "memroy.stream"])) == 2
    assert "Did you mean 'memory.stream'" in capsys.readouterr().err


def test_every_word_of_typer_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """The class of its mistakes is not exported: this fails if its place changes."""
    assert command_group.MISUSE.__name__ == "UsageError"
    assert issubclass(typer.BadParameter, command_group.MISUSE)
