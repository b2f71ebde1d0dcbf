"""What a user sees of a fault of Steelyard itself: one sentence with its place, and where the traceback is."""

import sys
import traceback
from contextlib import suppress
from pathlib import Path

import steelyard
from steelyard.errors import MachineFailed, one_line
from steelyard.system import files, user_cache

EXIT_CODE = 1  # that of Python for an exception that nobody catches
NAME = "traceback.txt"  # in the cache folder: the last traceback


def explain(error: Exception) -> None:
    """Prints the sentence. On a terminal, the traceback goes into a file; in a log, it stands before the sentence."""
    trace = "".join(traceback.format_exception(error))
    file = _keep(trace) if sys.stderr.isatty() else None
    if file is None:
        sys.stderr.write(trace)
    reason = one_line(f"{type(error).__name__}: {error}")
    print(
        f"steelyard: {_name_command()} failed because of a fault in Steelyard itself: {reason} ({_find_place(error)}). "
        f"Please report it with its traceback, which is {f'in {one_line(str(file))}' if file else 'above'}.",
        file=sys.stderr,
    )


def _keep(trace: str) -> Path | None:
    """Writes the traceback into the user's cache; returns None if that is not possible."""
    with suppress(OSError, MachineFailed):
        return files.write(user_cache.inside() / NAME, "The traceback", trace)
    return None


def _name_command() -> str:
    word = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    return f"The command '{one_line(word)}'" if word else "The command"


def _find_place(error: Exception) -> str:
    """Returns the innermost line of Steelyard that the traceback has."""
    package = Path(steelyard.__file__).parent
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    places = [f"{file.relative_to(package)}, line {line}" for file, line in frames if file.is_relative_to(package)]
    return places[-1] if places else "outside of its files"
