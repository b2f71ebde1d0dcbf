"""The help of a group of commands, printed without Typer's own printer: that loads Markdown and Pygments, half of the time."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

BOLD = re.compile(r"\*\*(.+?)\*\*")


def show(group: Any, ctx: Any, summaries: Mapping[str, str]) -> None:
    """Prints how the group is used, its options, its commands with their `summaries`, and its epilogue."""
    console = Console(highlight=False)
    console.print(Padding(Text(group.get_usage(ctx).strip(), "yellow"), 1), style="bold")
    console.print(Padding(marked(group.help or ""), (0, 1, 1, 1)))
    options = [p for p in group.get_params(ctx) if p.param_type_name == "option" and not getattr(p, "hidden", False)]
    _panel(console, "Options", ((", ".join(p.opts), getattr(p, "help", None) or "") for p in options))
    _panel(console, "Commands", summaries.items())
    if group.epilog:
        console.print(Padding(marked(group.epilog), 1))


def marked(text: str) -> Text:
    """The text with what stands between ** in bold; the rest as it is."""
    out, end = Text(), 0
    for found in BOLD.finditer(text):
        out.append(text[end : found.start()]).append(found[1], "bold")
        end = found.end()
    return out.append(text[end:])


def _panel(console: Console, title: str, rows: Iterable[tuple[str, str]]) -> None:
    table = Table(show_header=False, expand=True, box=None, pad_edge=False, padding=(0, 1))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column(ratio=10)
    for name, text in rows:
        table.add_row(name, marked(text))
    if table.row_count:
        console.print(Panel(table, border_style="dim", title=title, title_align="left", box=box.ROUNDED))
