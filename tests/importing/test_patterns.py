"""A literal in a pattern shows where RE2 must search, and changes no match."""

from collections.abc import Iterator
from typing import Any

import pytest

from foreign_outputs import OUTPUTS
from steelyard.importing import patterns, reading


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (r"^ *Elapsed time \(sec\): +(\S+)", "Elapsed time (sec): "),
        (r"NCORES?= (\d+)", "NCORE"),
        ("ab*cd{2,3}ef", "ef"),
        ("a(?:bcd)?ef[^xyz]g", "ef"),
        (r"ab\x41cd", ""),
        ("(?i)nan", ""),
        ("abc|de", ""),
        (r"[\]abc]|x", ""),
        ("(abc|de)f", "f"),
        ("(?!)", ""),
    ],
)
def test_the_longest_literal_outside_of_groups_is_in_each_match(pattern: str, literal: str) -> None:
    assert patterns.find_literal(pattern) == literal


@pytest.mark.parametrize("pattern", [r"a\sb", r"a\nb", r"\Aab", r"[^x]ab", r"ab\Z", r"(?s)ab."])
def test_a_match_may_cross_lines_or_need_the_ends_of_the_text(pattern: str) -> None:
    text = "xa\nb\nxab\nx"
    whole = [match.spans for match in _find_anywhere(pattern, text)]
    assert [match.spans for match in patterns.find_all(pattern, text)] == whole


def test_no_sample_has_other_matches_without_the_literals(monkeypatch: pytest.MonkeyPatch) -> None:
    real, compared = patterns._Pattern.find, 0

    def find(pattern: Any, text: str) -> Iterator[patterns.Match]:
        nonlocal compared
        matches = [*real(pattern, text)]
        with monkeypatch.context() as whole:
            whole.setattr(patterns._Pattern, "_find_bounds", lambda _, text: (0, len(text)))
            assert [match.spans for match in matches] == [match.spans for match in real(pattern, text)]
        compared += len(matches)
        yield from matches

    monkeypatch.setattr(patterns._Pattern, "find", find)
    for path in sorted(OUTPUTS.iterdir())[::8]:
        reading.read(path.read_bytes(), reading.find_formats(), path.name)
    assert compared > 500


def _find_anywhere(pattern: str, text: str) -> Iterator[patterns.Match]:
    prepared = patterns._Pattern(pattern, line=False)
    prepared._literal, prepared._in_lines = "", False
    return prepared.find(text)
