"""The man page, from the same application as the page of the commands. It leaves the options to `steelyard COMMAND --help`."""

import inspect
import re
from typing import Any

import typer

from sources.commands import _commands
from steelyard import __version__
from steelyard.show.command_line.cli import app


def page() -> str:
    """Returns steelyard.1 in the language of man(7)."""
    root: Any = typer.main.get_command(app)
    lines = [
        f'.TH STEELYARD 1 "" "steelyard {__version__}" "User Commands"',
        ".SH NAME",
        r"steelyard \- measures computers honestly, from a laptop to a cluster",
        ".SH SYNOPSIS",
        r"\fBsteelyard\fR \fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]",
        ".SH DESCRIPTION",
        _text(root.help),
        ".PP",
        _text(root.epilog),
        ".PP",
        _text(
            "**steelyard COMMAND --help** prints the options of a command. **steelyard help** lists the pages of the manual."
        ),
        ".SH COMMANDS",
    ]
    for name, command in _commands(root):
        lines += [f".SS steelyard {_text(name)}", _text(inspect.cleandoc(command.help or ""))]
    return "\n".join(lines) + "\n"


def _text(markdown: str) -> str:
    """Returns text of a help page for man(7): bold words stay bold, and no line begins a request."""
    plain = markdown.strip().replace("`", "").replace("\\", r"\e").replace("-", r"\-")
    bold = re.sub(r"\*\*(.+?)\*\*", r"\\fB\1\\fR", plain, flags=re.DOTALL)
    return re.sub(r"\n{2,}", "\n.PP\n", re.sub(r"^(['.])", r"\\&\1", bold, flags=re.MULTILINE))
