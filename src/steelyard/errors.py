"""The mistakes that users and machines make, each with the exit code that it ends with."""

import difflib
import re
from collections.abc import Iterable

LONGEST_WORD = 300  # letters: of what a user gave, more is a mistake, and fills his terminal


# What could move a terminal's cursor, colour it or turn its text around; a line's end and a tab stay.
ACTING = "\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069"
_ACTING = re.compile(f"[{ACTING}]")


def spelled(text: str) -> str:
    """The text with no character that acts on a terminal: an escape character reads '\\x1b'."""
    return _ACTING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


class SteelyardError(Exception):
    """A failure that is explained to the user without a traceback. `exit_code` is the process's own."""

    exit_code = 4

    def shown(self) -> str:
        """The sentence for the terminal."""
        return spelled(str(self))


class UsageError(SteelyardError):
    """The user asked for something that cannot be: exit code 2."""

    exit_code = 2

    def shown(self) -> str:
        """The sentence for the terminal; of a word of thousands of letters only its ends are repeated."""
        return re.sub(rf"\S{{{LONGEST_WORD},}}", lambda word: f"{word[0][:60]}…{word[0][-20:]}", super().shown())


class MachineFailed(SteelyardError):
    """The machine did not do what it was asked (no compiler, full disk, a program that died): exit code 4."""


class ProgramFailed(MachineFailed):
    """A program that ended badly, shown whole: what it was for, the command, the exit code, its output."""

    def __init__(self, purpose: str, command: str, exit_code: int | None, output: str) -> None:
        self.command, self.code = command, exit_code
        self.output = output
        ended = "did not end in time" if exit_code is None else f"ended with exit code {exit_code}"
        super().__init__(
            f"{purpose}: the program {ended}.\nThe command was:\n  {command}\nIt said:\n{output.rstrip() or '(nothing)'}"
        )


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names the nearest of `known` to `name`, or lists them all when none is near."""
    names = sorted(known)
    lower = {candidate.lower(): candidate for candidate in names}
    # A bare last word is a common shortening: `stream` for `memory.stream`.
    close = [n for n in names if n.rsplit(".", 1)[-1] == name.lower()] or [
        lower[match] for match in difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    ]
    meant = " or ".join(f"'{one}'" for one in close)
    return f"Did you mean {meant}?" if close else f"Known are: {', '.join(names) or 'none'}."
