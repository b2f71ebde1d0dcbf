"""The rules for a format: a section in the docs, an example that it reads, and few lines."""

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest

from folders import ROOT
from steelyard.importing import reading

sys.path.insert(0, str(ROOT / "docs"))
from sources import foreign_formats

FORMATS = foreign_formats.formats()
PAGE = (ROOT / "docs" / "formats-of-other-tools.md").read_text(encoding="utf-8")
OUTPUTS = foreign_formats.OUTPUTS
TEXTS = {file.name: file.read_text(encoding="utf-8", errors="replace") for file in OUTPUTS.iterdir()}
MOST_LINES = 40
OWN_TOOLS = ("hpl_mxp",)  # whose names begin like that of another tool


@pytest.mark.parametrize("module", FORMATS, ids=reading.short_name)
class TestFormat:
    def test_has_a_section_with_its_address(self, module: ModuleType) -> None:
        section = PAGE.partition(f"\n## {module.TOOL}\n")[2].partition("\n## ")[0]
        assert section, f"docs/formats-of-other-tools.md has no section for {module.TOOL}. Write it with: make docs"
        assert f"`{Path(str(module.__file__)).name}` recognises a file" in section
        assert "<https://" in section or "<http://" in section

    def test_its_tool_has_no_other_name_in_another_format(self, module: ModuleType) -> None:
        assert "(" not in module.TOOL
        main = {reading.short_name(other): other.TOOL for other in FORMATS}
        name = reading.short_name(module)
        assert name in OWN_TOOLS or main.get(name.partition("_")[0], module.TOOL) == module.TOOL

    def test_reads_an_example(self, module: ModuleType) -> None:
        marked = [name for name, text in TEXTS.items() if any(mark in text for mark in module.MARKS)]
        assert any(reading.read((OUTPUTS / name).read_bytes(), [module]).values for name in marked)

    def test_has_few_lines_of_code(self, module: ModuleType) -> None:
        file = Path(str(module.__file__))
        text = file.read_text(encoding="utf-8")
        count = count_code(text) if file.suffix == ".py" else sum(bool(line.strip()) for line in text.splitlines())
        assert count <= MOST_LINES, f"{file.name} has {count} lines"


def count_code(source: str) -> int:
    """The lines without blank ones and docstrings."""
    documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, documented) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    return sum(bool(text.strip()) and number not in docstrings for number, text in enumerate(source.splitlines(), 1))


def test_lines_are_counted_without_blank_ones_and_docstrings() -> None:
    assert count_code('"""A.\n\nB.\n"""\n\nX = 1  # one\n\n\ndef f():\n    """C."""\n    return """\n\n"""\n') == 4
