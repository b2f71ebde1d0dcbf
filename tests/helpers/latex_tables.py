"""The tables of a part of a document in LaTeX."""

import re


def find_tables(text: str) -> list[tuple[int, list[list[str]]]]:
    """For each longtable, the number of its columns, and its rows as cells."""
    found = re.findall(r"\\begin\{longtable\}\{([^\n]*)\}\n(.*?)\\end\{longtable\}", text, re.DOTALL)
    assert len(found) == text.count(r"\begin{longtable}") == text.count(r"\end{longtable}")
    return [
        (len(columns.split()), [re.split(r"(?<!\\)&", row) for row in body.splitlines() if row.endswith(r" \\")])
        for columns, body in found
    ]
