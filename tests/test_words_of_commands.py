"""Words of commands are taken without pydantic, and as Typer itself would take them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from steelyard.commands import lookup
from steelyard.commands.cli import COMMANDS

CONVERTS = pytest.mark.skipif(
    not hasattr(typer.core, "build_runtime_param"), reason="this Typer has no conversion of its own"
)
WORDS: tuple[Any, ...] = (None, "", "a b", "über", "-", "./runs", "/", "nosuch/../x", "\udcff", Path("runs"))


def params() -> list[Any]:
    commands = [lookup._command("steelyard.commands", name) for name in COMMANDS]
    return [lookup._spared(p) for command in commands for p in command.params]


def taken(how: Any, value: Any, param: Any) -> Any:
    try:
        return how.coerce(value, param=param, ctx=None)
    except Exception as error:  # Typer's own, by its name and words
        return type(error).__name__, str(error)


@CONVERTS
def test_words_are_taken_as_typer_takes_them() -> None:
    found = params()
    assert len(found) > 50
    for param in found:
        assert isinstance(param._runtime_param, lookup._Words)
        typers = typer.core.build_runtime_param(param.type_descriptor)
        for word in WORDS:
            value = [word, "b"] if word is not None and (param.multiple or param.nargs == -1) else word
            assert taken(param._runtime_param, value, param) == taken(typers, value, param), (param.name, value)


@CONVERTS
def test_a_file_that_may_not_be_read_is_refused_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    param = next(p for p in params() if p.name == "runs")
    assert taken(param._runtime_param, str(tmp_path), param)[0] == "BadParameter"


def test_list_does_not_import_pydantic(tmp_path: Path) -> None:
    source = f"""
import sys
sys.argv = ["steelyard", "list", "--runs", {str(tmp_path)!r}]
from steelyard.commands import cli
try:
    cli.main()
except SystemExit as ended:
    assert not ended.code
assert "pydantic" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", source], check=True, timeout=60, capture_output=True)
