"""The page of the commands, from the Typer application itself."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from sources.tables import table
from steelyard.show.command_line.cli import app

# Names of option values that the application does not name.
_WORDS = {
    "--preset": "NAME",
    "--path": "FOLDER",
    "--runs": "FOLDER",
    "--output": "FILE",
    "--seed": "NUMBER",
    "--format": "FORMAT",
    "--only": "NAME",
}


def page(note: str) -> str:
    """Returns the page of all commands with their arguments and options."""
    root: Any = typer.main.get_command(app)
    meanings = _meanings(root)
    parts = [
        "# The commands\n",
        note,
        f"{root.help}\n",
        f"{root.epilog}\n",
        "`steelyard --version` prints the version. `--help`, also after a command, prints the text of this page.\n",
    ]
    for name, command in _commands(root):
        parts += [f"## steelyard {name}\n", inspect.cleandoc(command.help or "") + "\n"]
        if rows := [_row(p, meanings) for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]:
            parts.append(table(("argument or option", "default", "meaning"), rows))
    return "\n".join(parts)


def _commands(root: Any) -> Iterator[tuple[str, Any]]:
    """Yields each command with its name; the commands of a group follow it."""
    for name, command in root.commands.items():
        yield name, command
        for inner, member in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", member


def _meanings(root: Any) -> dict[str, str]:
    """Returns option → help. An option without help in one command has it in another."""
    found: dict[str, str] = {}
    for p in (p for _, command in _commands(root) for p in command.params):
        if told := (getattr(p, "help", None) or "").strip():
            found.setdefault(p.opts[0], told)
    return found


def _row(p: Any, meanings: Mapping[str, str]) -> tuple[str, str, str]:
    meaning = (getattr(p, "help", None) or "").strip() or meanings.get(p.opts[0], "")
    if p.param_type_name == "argument":
        return (
            f"`{(p.metavar or p.name).strip('[]').upper()}`",
            "" if p.required else "optional",
            meaning,
        )
    value = "" if p.is_flag else " " + (p.metavar or _WORDS.get(p.opts[0], "VALUE"))
    names = ", ".join(f"`{option}{value}`" for option in p.opts)
    environment = f" Environment: `{p.envvar}`." if p.envvar else ""
    default = "" if p.is_flag or p.default in (None, ()) else f"`{p.default}`"
    return names, default, meaning + environment
