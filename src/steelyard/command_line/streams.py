"""Standard output and standard error: a reader that goes away, a full disk, and a terminal that lacks a character.

Without this, Python ends each of them with a traceback, and its libraries end the first with exit code 1.
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

# What Unicode's own decomposition (² → 2, … → ...) has no answer for.
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


def spelled(error: UnicodeError) -> tuple[str | bytes, int]:
    """The handler "steelyard" of encoding errors: a character that the terminal lacks is spelled with those that it has."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    if all("\udc80" <= c <= "\udcff" for c in missing):  # bytes of a file's name that are no text: as they were
        return bytes(ord(c) - 0xDC00 for c in missing), error.end
    return "".join(map(_spelled, missing)), error.end


def _spelled(character: str) -> str:
    plain = character.translate(PLAIN)
    return unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode() or "?"


class _Output(io.FileIO):
    """Standard output. Its reader may go away (as `| head` does): what is left to say is dropped, and the work goes on."""

    dropped = False

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            _drop(self.fileno())
            _Output.dropped = True
            return len(memoryview(data))  # type: ignore[arg-type]
        except OSError as error:
            _drop(self.fileno())
            raise MachineFailed(
                f"Standard output cannot be written: {error.strerror or error}. Make room there, or name another file."
            ) from None


class _Errors(io.FileIO):
    """Standard error: where it cannot be written, nobody can be determined, and the exit code says enough."""

    def write(self, data: object) -> int:
        with contextlib.suppress(OSError):
            return super().write(data)  # type: ignore[arg-type]
        return len(memoryview(data))  # type: ignore[arg-type]


def left() -> bool:
    """Whether the reader of standard output has gone away, so that nobody reads what is still to be said."""
    if _Output.dropped:
        return True
    try:
        watched = select.poll()
        watched.register(sys.stdout.fileno(), 0)  # nothing but what cannot be left out: that the other end is closed
        return any(event & select.POLLERR for _, event in watched.poll(0))
    except (OSError, ValueError, io.UnsupportedOperation):  # no descriptor: within another program
        return False


def _drop(descriptor: int) -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def prepare() -> None:
    """Puts both in place; where they are not the process's own (in a test, within another program) nothing is changed."""
    while (
        descriptor := os.open(os.devnull, os.O_RDWR)
    ) <= 2:  # closed by the caller (>&-): else a file would get its number
        continue
    os.close(descriptor)
    codecs.register_error("steelyard", spelled)
    sys.stdout = _wrapped(sys.stdout, sys.__stdout__, _Output, 1)
    sys.stderr = _wrapped(sys.stderr, sys.__stderr__, _Errors, 2)


def _wrapped(now: TextIO | None, own: TextIO | None, kind: type[io.FileIO], number: int) -> TextIO:
    if now is not own and now is not None:
        return now
    if now is not None:
        now.flush()
    raw = kind(number, "w", closefd=False)
    encoding = (now.encoding if now is not None else None) or "utf-8"
    at_once = number == 2 or raw.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors="steelyard", line_buffering=at_once)
