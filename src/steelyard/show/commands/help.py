"""`steelyard help`."""

from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

PLACE = 5


def command(
    ctx: typer.Context,
    topic: Annotated[
        list[str] | None,
        typer.Argument(metavar="TOPIC", help="Page of the manual, or command (default: list the pages)."),
    ] = None,
) -> None:
    """Print a page of the manual, or the help of a command without a page.

    Examples: **steelyard help** (lists the pages) · **steelyard help import** · **steelyard help memory.stream**
    """
    from steelyard.errors import UsageError, nearest
    from steelyard.show.command_line import manual

    words, pages, group = topic or [], manual.list_pages(), ctx.find_root().command
    commands = group.list_commands(ctx) if isinstance(group, TyperGroup) else []
    if not words:
        width = max(map(len, pages), default=0)
        print("\n".join(f"{name:<{width}}  {manual.read_title(path)}" for name, path in pages.items()))
    elif path := pages.get(manual.name_page(words[0])) if len(words) == 1 else None:
        show(path)
    elif words[0] in commands:
        group.main([*words, "--help"], "steelyard", standalone_mode=False)
    else:
        name = " ".join(words)
        raise UsageError(f"There is no page and no command '{name}'. {nearest(name, [*pages, *commands])}")


def show(path: Path) -> None:
    """Prints a page: formatted on a terminal, and as it is written otherwise."""
    import sys

    text = path.read_text(encoding="utf-8")
    if not sys.stdout.isatty():
        print(text, end="")
        return
    from rich.markdown import Markdown

    from steelyard.show.report.lines import console

    console().print(Markdown(text))
