"""Standard output and standard error. They survive a reader that exits, a full disk, and a terminal that lacks a character.

Without this module, Python prints a traceback in each case, and its libraries answer the first with exit code 1.
"""

import codecs
import contextlib
import io
import os
import select
import sys
import unicodedata
from typing import TextIO

from steelyard.errors import MachineFailed

# Characters that Unicode's own decomposition (² → 2, … → ...) does not replace.
PLAIN = str.maketrans(
    {
        "→": "->", "←": "<-", "↑": "^", "↓": "v", "×": "x", "·": "*", "÷": "/", "−": "-", "–": "-", "—": "-", "±": "+-",
        "≥": ">=", "≤": "<=", "≈": "~", "≠": "!=", "∞": "inf", "√": "sqrt", "∝": "~", "∑": "sum", "µ": "u", "μ": "u",
        "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "Δ": "D", "λ": "lambda", "σ": "sigma", "π": "pi",
        "’": "'", "‘": "'", "“": '"', "”": '"', "•": "*", "▲": "!", "▶": ">", "✓": "ok", "✗": "x", "●": "*", "○": "o",
        "◐": "~", "✕": "x", "†": "+", "∫": "int", "Σ": "sum", "∓": "-+", "½": "1/2", "¼": "1/4", "¾": "3/4",
        "°": " deg", "§": "par. ", "│": "|", "┃": "|", "─": "-", "━": "-", "█": "#", "░": ".", "▒": ":", "▓": "#",
    }
)  # fmt: skip


def spell_missing(error: UnicodeError) -> tuple[str | bytes, int]:
    """Handles the encoding errors of "steelyard": replaces a character that the terminal lacks by characters that it has."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    if all("\udc80" <= c <= "\udcff" for c in missing):  # bytes of a file's name that are not text stay unchanged
        return bytes(ord(c) - 0xDC00 for c in missing), error.end
    return "".join(map(_spell, missing)), error.end


def _spell(character: str) -> str:
    plain = character.translate(PLAIN)
    return unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode() or "?"


class _Output(io.FileIO):
    """Standard output. If its reader exits (as `| head` does), further output is dropped and the work continues."""

    dropped = False

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            _discard(self.fileno())
            _Output.dropped = True
            return len(memoryview(data))  # type: ignore[arg-type]
        except OSError as error:
            _discard(self.fileno())
            raise MachineFailed(
                f"Standard output cannot be written: {error.strerror or error}. Free some space, or choose another file."
            ) from None


class _Errors(io.FileIO):
    """Standard error. If it cannot be written, there is no other place for a message, and the exit code must be enough."""

    def write(self, data: object) -> int:
        with contextlib.suppress(OSError):
            return super().write(data)  # type: ignore[arg-type]
        return len(memoryview(data))  # type: ignore[arg-type]


def is_reader_gone() -> bool:
    """Returns whether the reader of standard output has exited, so that further output is useless."""
    if _Output.dropped:
        return True
    try:
        watched = select.poll()
        # No events but POLLERR, which poll always delivers: the other end is closed.
        watched.register(sys.stdout.fileno(), 0)
        return any(event & select.POLLERR for _, event in watched.poll(0))
    except (OSError, ValueError, io.UnsupportedOperation):  # no descriptor: Python runs within another program
        return False


def _discard(descriptor: int) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def prepare() -> None:
    """Replaces both streams. Streams that another program or a test has replaced stay unchanged."""
    # The caller may have closed a descriptor (>&-), and another file must not get its number.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        continue
    os.close(descriptor)
    codecs.register_error("steelyard", spell_missing)
    sys.stdout = _wrap(sys.stdout, sys.__stdout__, _Output, 1)
    sys.stderr = _wrap(sys.stderr, sys.__stderr__, _Errors, 2)


def _wrap(current: TextIO | None, original: TextIO | None, kind: type[io.FileIO], number: int) -> TextIO:
    if current is not original and current is not None:
        return current
    if current is not None:
        current.flush()
    raw = kind(number, "w", closefd=False)
    encoding = (current.encoding if current is not None else None) or "utf-8"
    by_line = number == 2 or raw.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors="steelyard", line_buffering=by_line)
