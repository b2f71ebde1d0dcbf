"""In which line of a TOML file a key stands: what its parser does not say, and a user wants to know."""

import re

Path = tuple[str | int, ...]  # ("figures", 0, "unit")

# For a line without blanks at its ends. Neither pattern looks at a letter twice.
_TABLE = re.compile(r"(\[\[?)([^\]]+)\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


def places(text: str) -> dict[Path, int]:
    """Every table and key with its line, the first being 1."""
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    closing = ""  # what ends the text of several lines in which the next line lies
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if closing:
            closing = "" if closing in line else closing
            continue
        if header := _TABLE.fullmatch(line):
            table = _table(_parts(header[2]), header[1] == "[[", counts)
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault((*table, *_parts(key[1])), number)
            closing = _open(line[key.end() :])
    return found


def line_of(path: Path, known: dict[Path, int]) -> int:
    """That of the key, or of the nearest above it."""
    while path and path not in known:
        path = path[:-1]
    return known.get(path, 1)


def _parts(words: str) -> Path:
    return tuple(part.strip("\"'") for part in _PART.findall(words))


def _table(parts: Path, many: bool, counts: dict[Path, int]) -> Path:
    """Its path, with the number of the element where it is one of many, or within one."""
    if many:
        counts[parts] = counts.get(parts, -1) + 1
    path: Path = ()
    for end in range(1, len(parts) + 1):
        path = (*path, parts[end - 1])
        if parts[:end] in counts:
            path = (*path, counts[parts[:end]])
    return path


def _open(rest: str) -> str:
    """The quotes that a value opens and does not close in its line; "" where it does."""
    for quotes in ('"""', "'''"):
        if rest.lstrip().startswith(quotes) and rest.count(quotes) == 1:
            return quotes
    return ""
