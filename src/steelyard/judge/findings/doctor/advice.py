"""A piece of advice about a machine."""

from dataclasses import dataclass
from typing import Literal

from steelyard.model import Setting


@dataclass(frozen=True)
class Advice:
    """One checked setting: its value, the reason why it spoils a measurement, and the way to change it.

    "serious": figures will be wrong or impossible. "notice": figures are valid for this setting only. "fine": nothing
    to do. "unknown": the setting could not be read, and `seen` gives the reason. `remedy` is a sentence, `command` a
    command line, with sudo if it needs `root` rights; each is "" if there is none.

    Advice is not a `Finding`: it is about a setting before any measurement, also if the setting is fine or unknown.
    """

    name: str
    level: Literal["serious", "notice", "fine", "unknown"]
    seen: str
    why: str
    remedy: str = ""
    command: str = ""
    root: bool = False


def report_unknown(name: str, setting: Setting, why: str) -> Advice:
    """Returns the advice for a setting that could not be read."""
    return Advice(name, "unknown", f"Unknown: {setting.reason or 'the setting could not be read'}.", why)
