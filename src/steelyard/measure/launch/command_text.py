"""The text of a command for a shell. A module of its own, so that callers need no plan."""

import os
from collections.abc import Mapping


def format_command(command: list[str], environment: Mapping[str, str]) -> str:
    """Returns the command for a shell, with the variables that differ from the user's environment."""
    words = [
        f"{name}={value}"
        for name, value in environment.items()
        if name.startswith("STEELYARD_") or (os.environ.get(name) != value)
    ]
    return " ".join([*words, *command])
