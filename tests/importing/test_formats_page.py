"""The rules for a format: a section in the docs with its address, and an example that it reads."""

import sys

from folders import ROOT
from steelyard.importing import reading

sys.path.insert(0, str(ROOT / "docs"))
from sources import foreign_formats

FORMATS = foreign_formats.formats()
PAGE = (ROOT / "docs" / "formats-of-other-tools.md").read_text(encoding="utf-8")
EXAMPLES = [file.read_bytes() for file in foreign_formats.OUTPUTS.iterdir()]


def test_each_format_has_a_section_with_its_address() -> None:
    for form in FORMATS:
        section = PAGE.partition(f"\n## {form.tool}\n")[2].partition("\n## ")[0]
        assert section, f"docs/formats-of-other-tools.md has no section for {form.tool}. Write it with: make docs"
        assert f"`{form.file.name}` recognises a file" in section
        assert "<https://" in section or "<http://" in section, form.tool


def test_each_format_reads_an_example() -> None:
    for form in FORMATS:
        marked = (data for data in EXAMPLES if any(mark.encode() in data for mark in form.marks))
        assert any(reading.read(data, [form]).values for data in marked), f"{form.name}: {form.marks}"


def test_each_tool_has_one_name() -> None:
    names = {form.name: form.tool for form in FORMATS}
    tools = {form.tool for form in FORMATS}
    assert len(names) == len({*names.values()}) == len(tools)
    assert not any("(" in tool for tool in tools)
