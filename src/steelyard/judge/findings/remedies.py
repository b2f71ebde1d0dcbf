"""The remedy of a finding: a text, or a text with a command of Steelyard and the time that it takes."""

import shlex

from steelyard.model import Remedy
from steelyard.model.units import duration

ROUGH = 600  # seconds: a longer time is rounded to minutes
STAND_IN = "\N{OBJECT REPLACEMENT CHARACTER}"  # stands for the command while the text around it is shortened


def advise(text: str, command: str, then: str = "") -> Remedy:
    """Returns a remedy: a text that ends before its command, what stands after `steelyard` as in a shell, and the text behind."""
    return Remedy(text=text, command=tuple(shlex.split(command)), then=then)


def describe(remedy: str | Remedy) -> str:
    """Returns the remedy as one text: 'Measure again: steelyard run --only memory.stream (takes about 20 s)'."""
    text, command = split_command(remedy)
    return text.replace(STAND_IN, command)


def split_command(remedy: str | Remedy) -> tuple[str, str]:
    """Returns the text with STAND_IN where the command stands, and the command with its time; "" if there is none."""
    if isinstance(remedy, str):
        return remedy, ""
    time = ""
    if (seconds := remedy.seconds) is not None:
        rounded = 60 * round(seconds / 60) if seconds > ROUGH else max(1, round(seconds))
        time = f" (takes about {duration(rounded)})"
    return f"{remedy.text}{STAND_IN}{remedy.then}", f"steelyard {shlex.join(remedy.command)}{time}"
