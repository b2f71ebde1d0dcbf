"""`steelyard help`: each page of the manual can be read without the repository, also from an installed wheel."""

import pytest
from typer.testing import CliRunner

from steelyard.errors import UsageError
from steelyard.show.command_line import manual
from steelyard.show.command_line.cli import app


def read(*words: str) -> str:
    found = CliRunner().invoke(app, ["help", *words])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_each_page_is_listed_with_its_title_and_printed() -> None:
    listed = read()
    for name, path in manual.list_pages().items():
        assert f"{name}  " in listed
        assert manual.read_title(path)
        assert read(name) == path.read_text()
    assert {"import", "method", "memory.stream"} <= manual.list_pages().keys()


@pytest.mark.parametrize(
    "name", ["docs/import.md", "import", "benchmarks/memory.stream", "docs/benchmarks/memory.stream.md"]
)
def test_a_page_may_be_named_as_in_a_message(name: str) -> None:
    assert read(name).startswith("# ")


def test_a_command_without_a_page_has_its_help() -> None:
    assert read("mpi", "install").startswith("Usage: steelyard mpi install")
    assert "Usage: steelyard doctor" in read("doctor")


def test_an_unknown_topic_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="no page and no command 'improt'. Did you mean 'import'"):
        raise CliRunner().invoke(app, ["help", "improt"]).exception
