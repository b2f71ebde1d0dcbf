"""The remedy of a finding: a text, or a text with a command of Steelyard and the time that it takes."""

import shlex

from steelyard.model import Remedy
from steelyard.model.units import duration

ROUGH = 600  # seconds: a longer time is rounded to minutes


def advise(text: str, command: str, then: str = "") -> Remedy:
    """Returns a remedy: a text that ends before its command, what stands after `steelyard` as in a shell, and the text behind."""
    return Remedy(text=text, command=tuple(shlex.split(command)), then=then)


def describe(remedy: str | Remedy) -> str:
    """Returns the remedy as one text: 'Measure again: steelyard run --only memory.stream (takes about 20 s)'."""
    return remedy if isinstance(remedy, str) else f"{remedy.text}{write_command(remedy)}{remedy.then}"


def write_command(remedy: Remedy) -> str:
    """Returns the command of a remedy, with its time if this is known."""
    time = ""
    if (seconds := remedy.seconds) is not None:
        rounded = 60 * round(seconds / 60) if seconds > ROUGH else max(1, round(seconds))
        time = f" (takes about {duration(rounded)})"
    return f"steelyard {shlex.join(remedy.command)}{time}"
