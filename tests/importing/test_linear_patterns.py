"""No pattern that `re` matches in the text of a stranger can fit in many ways, so that each needs linear time."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ambiguity import find_ambiguity
from foreign_outputs import OUTPUTS
from steelyard import importing
from steelyard.importing import patterns, reading

pytestmark = pytest.mark.attack

PLACE = Path(importing.__path__[0])
ONCE, SEARCHES = ("match", "fullmatch"), ("search", "finditer", "findall", "sub", "split")
# Short by what calls them: at most 200 characters of a date, and 255 of a name.
SHORT = ("steelyard.importing.dates", "steelyard.importing.name_facts")


@cache
def calls() -> dict[str, set[str]]:
    """Returns for each name the methods that are called on it, also on the variable of a loop over it."""
    methods = dict[str, set[str]]()
    loops = dict[str, str]()
    for path in PLACE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                methods.setdefault(node.value.id, set()).add(node.attr)
            if isinstance(node, ast.For | ast.comprehension):
                match node.target, node.iter:
                    case ast.Name(id=variable), ast.Name(id=name):
                        loops[name] = variable
    return methods | {name: methods.get(variable, set()) for name, variable in loops.items()}


def compiled() -> Iterator[tuple[str, re.Pattern[Any], bool, bool]]:
    """Yields the compiled patterns of the modules: where, the pattern, whether it is looked for, and whether all must fit."""
    for module in [
        m for name, m in sorted(sys.modules.items()) if name.startswith("steelyard.importing") and name not in SHORT
    ]:
        for name, value in vars(module).items():
            used = calls().get(name, set())
            for pattern in value if isinstance(value, tuple) else (value,):
                if isinstance(pattern, re.Pattern) and used & {*ONCE, *SEARCHES}:
                    yield f"{module.__name__}.{name}", pattern, bool(used & {*SEARCHES}), "match" not in used


def called(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str, int, str]]:
    """Returns the patterns that the functions of `re` get while all samples are read: where, the pattern, flags, the function."""
    seen: set[tuple[str, str, int, str]] = set()
    real: Any = vars(re)["_compile"]

    def compile_(pattern: Any, flags: int) -> re.Pattern[Any]:
        made = real(pattern, flags)
        by, place = sys._getframe(1), sys._getframe(2).f_globals.get("__name__", "")
        if place.startswith("steelyard.importing") and by.f_code.co_name in (*ONCE, *SEARCHES) and place not in SHORT:
            seen.add((place, made.pattern, made.flags, by.f_code.co_name))
        return made

    monkeypatch.setattr(re, "_compile", compile_)
    formats = reading.find_formats()
    for path in OUTPUTS.iterdir():
        reading.read(path.read_bytes(), formats, path.name)
    return seen


def prepared(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, bool]]:
    """Returns the patterns that RE2 shall match while all samples are read, and whether at the begin of a line."""
    seen: set[tuple[str, bool]] = set()
    real = patterns.prepare

    def prepare(pattern: str, line: bool = False) -> Any:
        seen.add((pattern, line))
        return real(pattern, line)

    monkeypatch.setattr(patterns, "prepare", prepare)
    formats = reading.find_formats()
    for path in OUTPUTS.iterdir():
        reading.read(path.read_bytes(), formats, path.name)
    return seen


def _text(pattern: str | bytes) -> str:
    return pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern


def test_a_compiled_pattern_is_matched_in_linear_time() -> None:
    reading.find_formats()
    rows = list(compiled())
    assert len(rows) > 30
    wrong = [
        f"{where}: {why}: {pattern.pattern!r}"
        for where, pattern, search, whole in rows
        if (
            why := find_ambiguity(
                _text(pattern.pattern), search=search, whole=whole and not search, flags=pattern.flags
            )
        )
    ]
    assert not wrong, "\n".join(wrong)


def test_a_pattern_for_re_is_matched_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = called(monkeypatch)
    assert len(rows) > 30
    wrong = [
        f"{where}: {why}: {pattern!r}"
        for where, pattern, flags, function in sorted(rows)
        if (why := find_ambiguity(pattern, search=function in SEARCHES, whole=function == "fullmatch", flags=flags))
    ]
    assert not wrong, "\n".join(wrong)


def test_re2_matches_a_pattern_or_re_does_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = prepared(monkeypatch)
    others = [(pattern, line) for pattern, line in sorted(rows) if not patterns.prepare(pattern, line).by_re2]
    assert len(rows) > 400
    assert len(others) < 40
    wrong = [f"{why}: {pattern!r}" for pattern, line in others if (why := find_ambiguity(pattern, search=not line))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("pattern", "how", "linear"),
    [
        (r".*foo.*bar", {"search": False}, False),
        (r".*foo", {"search": False}, True),
        (r".*foo", {}, False),
        (r"^.*foo", {}, True),
        (r"^\s*foo", {}, False),
        (r"^[ \t]*foo", {}, True),
        (r"(a+)+b", {"search": False}, False),
        (r"(a|b|ab)*c", {"search": False}, False),
        (r"(?:a|ab)*c", {"search": False}, True),
        (r"\s*+a", {}, False),
        (r"a(b|c)*d", {}, True),
        (r"\d+\d", {}, False),
        (r"\S+", {}, True),
        (r"a*a*", {"search": False}, True),
        (r"a*a*", {"search": False, "whole": True}, False),
        (r"(?<!\S)-[ab]\S+x", {}, True),
        (r"\b\w+x", {}, True),
        (r"\w+x", {}, False),
        (r'"(?:[^"\\\n]|\\[^\n])*"', {}, False),
    ],
)
def test_an_ambiguous_pattern_is_found(pattern: str, how: dict[str, bool], linear: bool) -> None:
    assert (find_ambiguity(pattern, **how) == "") == linear
