"""Texts that are slow to read if a pattern fits in many ways: literals and patterns of a format, with kinds of characters."""

import ast
import gc
import random
import re._constants as kinds
import re._parser as parser
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from steelyard import importing
from steelyard.importing.format import Format

UNITS = (
    " ", "\n", "\t", "7", "a", "f0", '"', "\\n", "{", "}", ",", ";", "-", ".", "|", "(", "<", "*", "[1]", "é", "1 ", "a ", "\n ",
    "=", ": ", "/", "#", ">", "> ",
)  # fmt: skip
SHARED = ("reading", "text", "margins", "grids", "doubts", "dates", "logs", "values")
LONGEST = 60  # characters of a literal
_PLACE = Path(importing.__path__[0])


def _strings(content: object) -> Iterator[str]:
    """Yields the texts in nested plain data."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list | tuple):
        for part in content.values() if isinstance(content, dict) else content:
            yield from _strings(part)


@cache
def strings(file: str) -> tuple[str, ...]:
    """Returns the texts in a module and in the modules of this wing that it imports, or in a description in TOML."""
    path = Path(file)
    if path.suffix == ".toml":
        return tuple(_strings(tomllib.loads(path.read_text())))
    nodes = list(ast.walk(ast.parse(path.read_text())))
    found = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    loaded = [module for module in sys.modules.values() if getattr(module, "__file__", None) == file]
    found += [
        text for module in loaded for name, value in vars(module).items() if name.isupper() for text in _strings(value)
    ]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("steelyard.importing."):
            other = _PLACE.joinpath(*node.module.split(".")[2:]).with_suffix(".py")
            if other.exists() and other.stem not in SHARED:
                found += strings(str(other))
    return tuple(dict.fromkeys(found))


@cache
def shared_strings() -> tuple[str, ...]:
    """Returns the texts in the modules that read every output."""
    return tuple(text for name in SHARED for text in strings(str(_PLACE / f"{name}.py")))


def fitting(pattern: str, chance: random.Random) -> str:
    """Returns a text that fits the pattern, apart from what it looks for around itself; other texts as they are."""
    try:
        return "".join(_fitting(parser.parse(pattern), chance, {}))
    except (parser.error, RecursionError, OverflowError):
        return pattern


def _fitting(items: Any, chance: random.Random, groups: dict[int, str]) -> Iterator[str]:
    for kind, given in items:
        match kind:
            case kinds.LITERAL:
                yield chr(given)
            case kinds.NOT_LITERAL | kinds.ANY:
                yield chance.choice("ax7 .")
            case kinds.IN:
                yield _member(given, chance)
            case kinds.MAX_REPEAT | kinds.MIN_REPEAT | kinds.POSSESSIVE_REPEAT:
                least, most, part = given
                for _ in range(least + chance.randrange(0, 3) if least + 3 < most else least):
                    yield from _fitting(part, chance, groups)
            case kinds.BRANCH:
                yield from _fitting(chance.choice(given[1]), chance, groups)
            case kinds.SUBPATTERN:
                groups[given[0]] = "".join(_fitting(given[3], chance, groups))
                yield groups[given[0]]
            case kinds.ATOMIC_GROUP:
                yield from _fitting(given, chance, groups)
            case kinds.GROUPREF:
                yield groups.get(given, "")


def _member(options: Any, chance: random.Random) -> str:
    kind, given = chance.choice([option for option in options if option[0] is not kinds.NEGATE])
    if options[0][0] is kinds.NEGATE:
        return "a7. "[0 if kind is not kinds.CATEGORY or given is kinds.CATEGORY_SPACE else 3]
    if kind is kinds.LITERAL:
        return chr(given)
    if kind is kinds.RANGE:
        return chr(chance.randint(*given))
    samples = {
        kinds.CATEGORY_DIGIT: "7",
        kinds.CATEGORY_SPACE: " ",
        kinds.CATEGORY_WORD: "a",
        kinds.CATEGORY_NOT_WORD: "-",
    }
    return samples.get(given, "x")


# From two texts, a kind of characters, and a size.
SHAPES: tuple[Callable[[str, str, str, int], str], ...] = (
    lambda a, b, u, n: a + u * (n // len(u)),
    lambda a, b, u, n: u * (n // len(u)) + a,
    lambda a, b, u, n: a * (n // len(a)),
    lambda a, b, u, n: (a + u) * (n // len(a + u)),
    lambda a, b, u, n: (a + u + "\n") * (n // len(a + u + "\n")),
    lambda a, b, u, n: a + (u + b) * (n // len(u + b)),
    lambda a, b, u, n: a + (b + "\n") * (n // len(b + "\n")),
    lambda a, b, u, n: a + u * (n // len(u)) + b,
    lambda a, b, u, n: (a + "\n" + b + u + "\n") * (n // len(a + b + u + "\n\n")),
    lambda a, b, u, n: "\n".join(f"{a}{u}{at}{b}" for at in range(n // len(a + u + b + "12345"))),
    lambda a, b, u, n: (a + u * 3000 + "\n") * (n // len(a + u * 3000 + "\n")),
)


class Recipe:
    """A text of a format in any size: the begin of a sample, then two texts and one kind of characters in some shape."""

    def __init__(self, form: Format, sample: str, chance: random.Random) -> None:
        lines = sample.splitlines(keepends=True)
        self.head = "".join(lines[: chance.choice((3, len(lines), chance.randrange(len(lines) + 1)))])
        self.mark = chance.choice(form.marks)
        own = [*strings(str(form.file)), *form.marks, chance.choice(lines).strip()]
        self.first, self.second = (self._text(own, chance) for _ in range(2))
        self.unit, self.shape = chance.choice(UNITS), chance.randrange(len(SHAPES))

    @staticmethod
    def _text(own: list[str], chance: random.Random) -> str:
        text = fitting(chance.choice(own if chance.random() < 0.8 else shared_strings()), chance)
        return text[: chance.choice((LONGEST, chance.randint(1, LONGEST)))] or "-"

    def __repr__(self) -> str:
        return f"shape {self.shape} of {self.first!r}, {self.second!r} and {self.unit!r} behind {len(self.head)} characters"

    def text(self, size: int) -> bytes:
        """Returns a text of some `size` bytes."""
        body = SHAPES[self.shape](self.first, self.second, self.unit, size)
        return f"{self.head}\n{body}\n{self.mark}\n".encode("utf-8", "replace")


def processor_seconds(work: Callable[[], object]) -> float:
    """Returns the processor time of this thread that the work needs, without a look at the objects that were there before."""
    gc.freeze()
    began = time.thread_time()
    try:
        work()
        return time.thread_time() - began
    finally:
        gc.unfreeze()
