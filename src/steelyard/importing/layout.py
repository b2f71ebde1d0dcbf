"""The layout of an archive as a user writes it: which parts of the names of folders and files mean what."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from steelyard.errors import UsageError, one_line
from steelyard.importing import patterns
from steelyard.importing.dates import read_date_of_name
from steelyard.model import Scalar

# Parts of these names are digits, so that "{nodes}nodes_{cores}cores" divides a name in one way only.
NUMBERS = ("nodes", "ranks", "cores", "threads", "gpus", "sockets", "ranks_per_node")
IGNORED = ("", "repetition", "rep", "run", "job", "time")  # these parts only count repetitions
_PART = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z]\w{0,39}")
ENDINGS, LONGEST = 3, 6  # of a name that are left out, such as .out.txt.gz, and letters of one
EXAMPLE = "{app}/{system}/{nodes}nodes_{date}"


@dataclass(slots=True, kw_only=True)
class Named:
    """The facts that a layout finds in the name of a file; "" for a missing one."""

    system: str = ""
    host: str = ""
    date: str = ""
    parameters: dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """A layout such as '{app}/{system}/{nodes}nodes_{date}'.

    A part in braces is a system, a host, a date, or a parameter; one without a name, or with a name of `IGNORED`, counts
    repetitions. The last folders and the name of a file are matched, with or without the ending of the name.
    """

    text: str

    @classmethod
    def of(cls, text: str) -> "Layout":
        """Returns the layout of this text. UsageError if it is none."""
        names = [name for name in _PART.findall(text) if name not in IGNORED]
        rest = _PART.sub("", text)
        if not _PART.search(text):
            why = "it has no part in braces"
        elif "{" in rest or "}" in rest:
            why = "a brace has no partner"
        elif wrong := next((name for name in names if not _NAME.fullmatch(name)), ""):
            why = f"'{wrong}' is not a valid name: use letters, digits and _"
        elif twice := next((name for name in names if names.count(name) > 1), ""):
            why = f"it has two parts '{twice}'"
        elif re.search(r"\}\{", text):
            why = "nothing stands between two parts, so a name could be divided in several ways"
        else:
            return cls(text.strip("/"))
        raise UsageError(
            f"'{one_line(text)}' (given by --layout) is not a layout: {why}. Example: --layout '{EXAMPLE}'"
        )

    @cached_property
    def _pattern(self) -> str:
        words = _PART.split(self.text)  # literal text and names in turn
        parts = [re.escape(words[0])]
        for name, literal in zip(words[1::2], words[2::2], strict=True):
            inside = r"\d+" if name in NUMBERS else "[^/]+?"
            parts += [f"(?P<{name}>{inside})" if name not in IGNORED else inside, re.escape(literal)]
        return f"(?:^|/){''.join(parts)}$"

    def read(self, name: str) -> Named | None:
        """Returns what the name of a file says; None if it does not fit, or if its date is none."""
        found = (patterns.search(self._pattern, shorter) for shorter in _remove_endings(name))
        match = next(filter(None, found), None)
        if not match:
            return None
        parts = match.groupdict()
        named = Named(system=parts.pop("system", ""), host=parts.pop("host", ""))
        if printed := parts.pop("date", ""):
            named.date = read_date_of_name(printed)
            if not named.date:
                return None
        named.parameters = {
            name: int(word) if word.isdigit() and len(word) < 19 else word for name, word in parts.items()
        }
        return named


def _remove_endings(name: str) -> Iterator[str]:
    """Yields the name as it is, then without its endings, one after the other."""
    for _ in range(ENDINGS):
        yield name
        name, _, ending = name.rpartition(".")
        if not (name and ending.isalnum() and ending[0].isalpha() and len(ending) <= LONGEST):
            return
    yield name


def expect_match(layout: Layout, names: Iterable[str]) -> None:
    """UsageError if the layout fits none of the names of files."""
    given = list(names)
    if given and not any(map(layout.read, given)):
        raise UsageError(
            f"The layout '{layout.text}' (given by --layout) fits no file. The first one is '{one_line(given[0])}'."
        )
