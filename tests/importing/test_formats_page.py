"""The rules for a format: a section in the docs with its address, and an example that it reads."""

import sys
from itertools import groupby

import pytest

from folders import ROOT
from steelyard.importing import reading
from steelyard.importing.format import Format

sys.path.insert(0, str(ROOT / "docs"))
from sources import foreign_formats

FORMATS = {tool: list(forms) for tool, forms in groupby(foreign_formats.formats(), key=lambda form: form.tool)}
PAGE = (ROOT / "docs" / "formats-of-other-tools.md").read_text(encoding="utf-8")
OUTPUTS = foreign_formats.OUTPUTS


@pytest.mark.parametrize("forms", FORMATS.values(), ids=FORMATS)
def test_a_tool_has_a_section_and_each_form_an_example(forms: list[Format]) -> None:
    section = PAGE.partition(f"\n## {forms[0].tool}\n")[2].partition("\n## ")[0]
    assert section, f"docs/formats-of-other-tools.md has no section for {forms[0].tool}. Write it with: make docs"
    assert "<https://" in section or "<http://" in section
    for form in forms:
        assert f"`{form.file.name}` recognises a file" in section
        marked = (
            file.read_bytes() for file in OUTPUTS.iterdir() if any(m.encode() in file.read_bytes() for m in form.marks)
        )
        assert any(reading.read(data, [form]).values for data in marked)


def test_each_tool_has_one_name() -> None:
    names = {form.name: form.tool for forms in FORMATS.values() for form in forms}
    assert len(names) == len({*names.values()}) == len(FORMATS)
    assert not any("(" in tool for tool in FORMATS)
