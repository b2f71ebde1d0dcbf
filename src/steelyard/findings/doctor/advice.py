"""A piece of advice about a machine."""

from dataclasses import dataclass
from typing import Literal

from steelyard.model import Setting


@dataclass(frozen=True)
class Advice:
    """One thing that was looked at: what was observed, why it spoils a measurement, and how to change it.

    "serious": figures will be wrong or cannot be had. "notice": figures are right for this setting, but know
    it. "fine": nothing to do. "unknown": it could not be read, `seen` says why. `remedy` is in words,
    `command` is what to paste, with sudo where `root` rights are needed; each is "" where there is none.

    Not a `Finding`, which says what was measured, of which benchmark, with its evidence and its weight. Advice is about a
    setting, before anything is measured; there is one also where all is well, or where nothing is known; and it has a command
    to paste.
    """

    name: str
    level: Literal["serious", "notice", "fine", "unknown"]
    seen: str
    why: str
    remedy: str = ""
    command: str = ""
    root: bool = False


def unknown(name: str, known: Setting, why: str) -> Advice:
    """The advice for a setting that could not be read."""
    return Advice(name, "unknown", f"Not known: {known.reason or 'it could not be read'}.", why)
