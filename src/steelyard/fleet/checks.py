"""The answers of a gate or a fleet as other programs read them: JUnit, annotations of GitHub, a table in Markdown.

JUnit: https://github.com/testmoapp/junitxml. Annotations: https://docs.github.com/actions/reference/workflow-commands.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from xml.etree import ElementTree

from steelyard.errors import UsageError, nearest
from steelyard.show.report.documents import mark, write_table
from steelyard.show.report.lines import one_line

FORMATS = ("json", "junit", "github", "markdown")
Outcome = Literal["passed", "failed", "undecided"]
ANNOTATIONS: dict[Outcome, str] = {"passed": "notice", "failed": "error", "undecided": "warning"}
ELEMENTS: dict[Outcome, str] = {"failed": "failure", "undecided": "error"}  # of JUnit; what passed has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A question with its outcome, and the sentence that explains it."""

    name: str
    outcome: Outcome
    text: str


def choose_format(name: str, *, json_: bool) -> str:
    """Returns the chosen form; "" is the screen. UsageError for an unknown one, and for two of them."""
    if name and name not in FORMATS:
        raise UsageError(f"'{name}' (given by --format) is no format. {nearest(name, FORMATS)}")
    if name and json_ and name != "json":
        raise UsageError(f"--json and --format {name} cannot be used together. Choose one of them.")
    return "json" if json_ else name


def render(form: str, title: str, checks: Sequence[Check]) -> str:
    """Returns the checks in a form of `FORMATS` other than "json"."""
    # Names of hosts and runs may hold characters that XML forbids.
    clean = [replace(check, name=one_line(check.name), text=one_line(check.text)) for check in checks]
    renderers = {"junit": _render_junit, "github": _render_annotations, "markdown": _render_markdown}
    return renderers[form](one_line(title), clean)


def _render_junit(title: str, checks: Sequence[Check]) -> str:
    counts = {kind: str(sum(check.outcome == kind for check in checks)) for kind in ANNOTATIONS}
    suite = ElementTree.Element(
        "testsuite", name=title, tests=str(len(checks)), failures=counts["failed"], errors=counts["undecided"]
    )
    for check in checks:
        case = ElementTree.SubElement(suite, "testcase", classname=title, name=check.name)
        if element := ELEMENTS.get(check.outcome):
            ElementTree.SubElement(case, element, message=check.text, type=check.outcome)
        else:
            ElementTree.SubElement(case, "system-out").text = check.text
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _render_annotations(title: str, checks: Iterable[Check]) -> str:
    return "".join(
        f"::{ANNOTATIONS[check.outcome]} title={_escape(f'{title}: {check.name}', ':,')}::{_escape(check.text)}\n"
        for check in checks
    )


def _escape(text: str, more: str = "") -> str:
    """Returns the text with percent signs, ends of lines and the characters of `more` as codes, as GitHub reads them."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _render_markdown(title: str, checks: Iterable[Check]) -> str:
    rows = [(check.name, check.outcome, check.text) for check in checks]
    return f"**{mark(title)}**\n\n{write_table(('Check', 'Outcome', 'Measured'), rows, [False] * 3)}\n"
