"""A run's tables in Markdown and LaTeX: whole, marked, and with every special letter as it was."""

import re
from dataclasses import replace

import pytest

import report_fixture
from latex_tables import find_tables
from steelyard.model import Evaluation
from steelyard.show.report import documents, export
from steelyard.show.report.documents import latex, markdown
from steelyard.show.report.latex_letters import escaped

HOSTILE = r"a_b & 50 % of {x} $y #1 \input{/etc/passwd} <script>"


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return report_fixture.evaluation()


def test_each_result_is_a_row_with_its_interval_and_verdict(evaluation: Evaluation) -> None:
    text = markdown(evaluation)
    rows = re.findall(r"^\|.*\|$", text, re.M)
    headings = [number for number, row in enumerate(rows) if set(row) <= set("|-: ")]
    assert len(rows) - 2 * len(headings) == len(evaluation.results)
    assert re.findall(r"^## .*", text, re.M)[0] == "## Memory bandwidth (`memory.stream`)"
    assert "| 51.9 GB/s | 51.4 – 52.4 GB/s | 76 % | CLEAN |" in text


def test_a_value_is_never_without_its_verdict_and_an_invalid_one_has_none(evaluation: Evaluation) -> None:
    for text, end in ((markdown(evaluation), r" \|$"), (latex(evaluation), r" \\\\$")):
        counts = {
            level: len(re.findall(rf"{level}{end}", text, re.M))
            for level in ("CLEAN", "UNSETTLED", "DISTURBED", "INVALID")
        }
        assert counts == {"CLEAN": 134, "UNSETTLED": 3, "DISTURBED": 2, "INVALID": 1}
        (wrong,) = re.findall(rf".*INVALID{end}", text, re.M)
        assert "B/s" not in wrong


def test_a_longtable_has_as_many_columns_as_its_rows(evaluation: Evaluation) -> None:
    text = latex(evaluation)
    tables = find_tables(text)
    assert len(tables) == text.count("\\caption{") == text.count("\\label{")
    assert all(len(rows) > 3 and {len(row) for row in rows} == {columns} for columns, rows in tables)
    labels = re.findall(r"\\label\{(.*?)\}", text)
    assert len(labels) == len(set(labels))
    assert balanced(text)


def balanced(text: str) -> bool:
    """Whether every brace that opens a group is closed."""
    bare = re.sub(r"\\[\\{}]", "", re.sub(r"^%.*$", "", text, flags=re.M))
    depth = 0
    for character in bare:
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return False
    return depth == 0


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("memory_policy", r"memory\_policy"),
        ("50 % of 3 & 4", r"50 \% of 3 \& 4"),
        ("C:\\x{1}", r"C:\textbackslash{}x\{1\}"),
        ("$HOME #1 ~a ^b", r"\$HOME \#1 \textasciitilde{}a \textasciicircum{}b"),
        ("a < b > c | d", r"a \textless{} b \textgreater{} c \textbar{} d"),
        ("16\u202f384 µs × 2", r"16\,384 $\mu$s $\times$ 2"),
        ("5 – 7 ≤ α ≤ ∞", r"5 -- 7 $\le$ $\alpha$ $\le$ $\infty$"),
        ("n½ and r²", r"n$\frac{1}{2}$ and r$^2$"),
        ("“one” line\nand ‘two’", "``one'' line and `two'"),
        ("é ü", "é ü"),
        (
            HOSTILE,
            r"a\_b \& 50 \% of \{x\} \$y \#1 \textbackslash{}input\{/etc/passwd\} \textless{}script\textgreater{}",
        ),
    ],
)
def test_special_letters_are_set_as_they_are(text: str, right: str) -> None:
    assert escaped(text) == right
    assert balanced(escaped(text))


def test_a_row_that_begins_with_a_bracket_is_no_argument_of_the_line_before() -> None:
    assert documents._line(["[1]", "2"]) == r"{}[1] & 2 \\"
    assert documents._line(["*", "2"]) == r"{}* & 2 \\"


def test_hostile_names_are_words_in_both_forms(evaluation: Evaluation) -> None:
    stranger = replace(evaluation.run, machine=replace(evaluation.run.machine, host=HOSTILE + "\n# new | cell"))
    full = replace(evaluation, run=stranger)
    assert "\n# new" not in markdown(full)
    assert r"\<script\>" in markdown(full)
    assert r"\input{/etc" not in re.sub(r"^%.*$", "", latex(full), flags=re.M)
    assert balanced(latex(full))


def test_both_forms_are_formats_of_the_export(evaluation: Evaluation) -> None:
    assert set(documents.WRITERS) == set(export.DOCUMENTS) <= set(export.FORMATS)
    assert export.write(evaluation, "markdown", None).startswith("# ")
    assert export.write(evaluation, "latex", None).startswith(r"% Read this file with \input.")


def test_a_run_without_results_is_a_document_without_tables() -> None:
    assert "| ---" not in markdown(report_fixture.empty())
    assert "longtable}{" not in latex(report_fixture.empty())
