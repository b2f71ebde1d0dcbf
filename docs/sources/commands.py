"""The page of the commands, from the Typer application itself."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from sources.tables import table
from steelyard.commands.cli import app

# What stands for an option's value where the application names none.
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
    """Every command with its arguments and options."""
    root: Any = typer.main.get_command(app)
    meanings = _meanings(root)
    parts = [
        "# The commands\n",
        note,
        f"{root.help}\n",
        f"{root.epilog}\n",
        "`steelyard --version` prints the version; `--help`, also after a command, what follows here.\n",
    ]
    for name, command in _commands(root):
        parts += [f"## steelyard {name}\n", inspect.cleandoc(command.help or "") + "\n"]
        if rows := [_row(p, meanings) for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]:
            parts.append(table(("argument or option", "default", "meaning"), rows))
    return "\n".join(parts)


def _commands(root: Any) -> Iterator[tuple[str, Any]]:
    """Each by its name, those of a group after it."""
    for name, command in root.commands.items():
        yield name, command
        for inner, member in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", member


def _meanings(root: Any) -> dict[str, str]:
    """Option → help. One that says nothing in one command says it in another."""
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
            "" if p.required else "may be left out",
            meaning,
        )
    value = "" if p.is_flag else " " + (p.metavar or _WORDS.get(p.opts[0], "VALUE"))
    names = ", ".join(f"`{option}{value}`" for option in p.opts)
    environment = f" Environment: `{p.envvar}`." if p.envvar else ""
    default = "" if p.is_flag or p.default in (None, ()) else f"`{p.default}`"
    return names, default, meaning + environment
