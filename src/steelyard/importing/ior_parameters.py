"""The parameters of a test of IOR: its list of options, the row of a summary, and the options of its command."""

import re
from collections.abc import Mapping

from steelyard.importing.patterns import Match, match
from steelyard.importing.text import Text
from steelyard.importing.values import Given, read_word, size

COMMAND = r"[$#>+].*?\b(?:ior|IOR)\S*( +-)"  # at a prompt, or printed by a shell
_LISTED = r"^\s*Command line(?: used)?\s*: *\S*\b(?:ior|IOR)\S*(.*)"
_SAME = ("api", "access", "type", "segments", "nodes")
_NAMES = {**dict(zip(_SAME, _SAME, strict=True)), "ordering in a file": "order", "tasks": "ranks", "clients": "ranks"}
_SIZES = {"transfer_bytes": "xfersize", "block_bytes": "blocksize"}
_COLUMNS = {"#Tasks": "ranks", "xsize": "transfer_bytes", "blksiz": "block_bytes", "segcnt": "segments"}
# Options that change what is measured, but are in no list: fsync, direct I/O, fsync after each write, a limit of the time.
_FLAGS, _LONG = "eBY", ("--posix.odirect",)
_WITH_VALUES = "abdfijlostADGJMNOPQSTUX"  # a word that begins with one of these options has a value behind it
_UNIMPORTANT = "doif"  # options with names of files, and the number of repetitions


def find_command(begin: Match | None, part: Text, before: str) -> str:
    """Returns the options of the command of a part of a text: that of the part, else the one `before` it."""
    typed = match(COMMAND, begin.string) if begin else None
    if begin and typed:
        return begin.string[typed.start(1) :]
    return part.find(_LISTED, default="" if begin and "Coordinated" in begin[0] else before)


def find_parameters(part: Text, command: str) -> Given:
    """Returns the parameters of a test. Without a list of options, those of the command are one parameter."""
    pairs = part.pairs(r"\s*[:=]\s+")
    words = {ours: pairs[theirs].split()[0].rstrip(",") for theirs, ours in _NAMES.items() if theirs in pairs}
    sizes = {ours: size(pairs.get(theirs, "")) for ours, theirs in _SIZES.items()}
    order = order_of_ranks(pairs.get("ordering inter file", ""))
    options = find_flags(command) if words else _join(command.split())
    listed = {name: read_word(word) for name, word in words.items()}
    given: Given = {**listed, **sizes, "order_of_ranks": order, "options": options}
    return {name: word for name, word in given.items() if word is not None}


def row_parameters(row: Mapping[str, str]) -> Given:
    """Returns the parameters that the columns of a summary say."""
    counts = {ours: row.get(theirs, "") for theirs, ours in _COLUMNS.items()}
    return {"api": row.get("API"), **{name: int(word) for name, word in counts.items() if word.isdecimal()}}


def order_of_ranks(printed: str) -> str | None:
    """Returns how ranks read what others wrote; None if each reads what it wrote, perhaps from its cache."""
    words = printed.strip("= ")
    return None if words in ("", "no tasks offsets") else words


def find_flags(command: str) -> str | None:
    """Returns the options of a command that no list of IOR shows, in the order of the alphabet."""
    words = command.replace("'", "").replace('"', "").split()
    groups = [word[1:] for word in words if re.fullmatch(rf"-(?![{_WITH_VALUES}])[A-Za-z]+", word)]
    flags = {f"-{flag}" for group in groups for flag in group if flag in _FLAGS}
    return " ".join(sorted(flags | {word for word in words if word in _LONG})) or None


def _join(words: list[str]) -> str | None:
    kept = []
    for at, word in enumerate(words):
        before = words[at - 1] if at else ""
        if not re.match(rf"-[{_UNIMPORTANT}]", word) and not re.fullmatch(rf"-[{_UNIMPORTANT}]", before):
            kept.append(word)
    return " ".join(kept)[:1000] or None
