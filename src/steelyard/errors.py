"""The mistakes that users and machines make, each with the exit code that it ends with."""

import difflib
import re
from collections.abc import Iterable, Sequence

LONGEST_WORD = 300  # letters: a longer word of a user is a mistake, and would fill the terminal


# Characters that could move a terminal's cursor, colour its text or reverse it; the end of a line and a tab are allowed.
ACTING = "\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069"
_ACTING = re.compile(f"[{ACTING}]")
_BREAKING = re.compile("[\t\n\u2028\u2029]")


def spelled(text: str) -> str:
    """Returns the text without characters that act on a terminal: an escape character becomes '\\x1b'."""
    return _ACTING.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """Returns a foreign name or word for one line of a terminal: the end of a line in it becomes '\\n', too."""
    return _BREAKING.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), spelled(text))


class SteelyardError(Exception):
    """A failure that is explained to the user without a traceback. The process ends with `exit_code`."""

    exit_code = 4

    def shown(self) -> str:
        """Returns the sentence for the terminal."""
        return spelled(str(self))


class UsageError(SteelyardError):
    """The user asked for something impossible: exit code 2."""

    exit_code = 2

    def shown(self) -> str:
        """Returns the sentence for the terminal. A word of more than LONGEST_WORD letters is shortened to its two ends."""
        return re.sub(rf"\S{{{LONGEST_WORD},}}", lambda word: f"{word[0][:60]}…{word[0][-20:]}", super().shown())


class MachineFailed(SteelyardError):
    """The machine could not do the work (no compiler, full disk, a program that died): exit code 4."""


class ProgramFailed(MachineFailed):
    """A program that failed. The sentence has its purpose, the command, the exit code and the whole output."""

    def __init__(self, purpose: str, command: str, exit_code: int | None, output: str) -> None:
        self.command, self.code = command, exit_code
        self.output = output
        ended = "did not end in time" if exit_code is None else f"ended with exit code {exit_code}"
        super().__init__(
            f"{purpose}: the program {ended}.\nThe command was:\n  {command}\nIt said:\n{output.rstrip() or '(nothing)'}"
        )


def describe_shortage(error: BaseException) -> str:
    """Returns a sentence if a limit of memory or threads (from ulimit or a batch system) is the cause, else ""."""
    message = str(error)
    # The loader, the operating system and DuckDB print these words.
    words = ("failed to map segment", "annot allocate memory", "Out of Memory Error")
    if isinstance(error, MemoryError) or any(word in message for word in words):
        return "There is not enough memory for this command. Reduce the size of its data, or stop other programs that use memory."
    if "can't start new thread" in message:
        return "The system allows this user no more threads. Raise the limit: ulimit -u NUMBER"
    return ""


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Returns a hint that names the candidate nearest to `name`, or lists all candidates if none is near."""
    names = sorted(candidates)
    return similar(name, names) or f"Known are: {', '.join(names) or 'none'}."


def similar(name: str, names: Sequence[str]) -> str:
    """Returns the question whether the candidate nearest to `name` was meant; "" if none is near."""
    lower = {candidate.lower(): candidate for candidate in names}
    # Users often give only the last word: `stream` for `memory.stream`.
    close = [n for n in names if n.rsplit(".", 1)[-1] == name.lower()] or [
        lower[match] for match in difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    ]
    meant = " or ".join(f"'{one}'" for one in close)
    return f"Did you mean {meant}?" if close else ""
