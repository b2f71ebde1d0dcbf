"""Help pages as plain text. Typer's own printer loads parsers of Markdown and source code: half of the start-up time."""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import Any

from rich.console import Console
from rich.text import Text

BOLD = re.compile(r"\*\*(.+?)\*\*")
EXAMPLES = re.compile(r"Examples?: ")
DEFAULT = re.compile(r"(\(default: [^()]+)\)")
BETWEEN = " · "  # separates two examples of a docstring
LEFT = 26  # columns of an option with its value; the help of a longer one begins below it
WIDEST = 100  # columns: longer lines are hard to read
GENERAL = "Options"

Row = tuple[str, str]


def show_group(group: Any, ctx: Any, summaries: Mapping[str, str]) -> None:
    """Prints the usage of a group, its options, its commands with their `summaries`, and its epilogue."""
    _print_head(group.get_usage(ctx), group.help or "")
    _print_section("Commands", summaries.items())
    _print_section(GENERAL, (_describe_option(p) for p in _list_options(group, ctx)))
    if group.epilog:
        _print_paragraph(group.epilog)


def show_command(command: Any, ctx: Any) -> None:
    """Prints the usage of a command, its help, one example per line, and its arguments and options in their groups."""
    paragraphs = [" ".join(p.split()) for p in (command.help or "").split("\n\n")]
    examples = [p for p in paragraphs if EXAMPLES.match(p)]
    _print_head(command.get_usage(ctx), "\n\n".join(p for p in paragraphs if p not in examples))
    if examples:
        _print_title("Examples")
        for line in split_examples(examples[0]):
            print(f"  {line}")
        print()
    arguments = (p for p in command.get_params(ctx) if p.param_type_name == "argument")
    _print_section("Arguments", ((p.metavar or p.name.upper(), p.help or "") for p in arguments))
    panels: dict[str, list[Row]] = {}
    for parameter in _list_options(command, ctx):
        panels.setdefault(getattr(parameter, "rich_help_panel", None) or GENERAL, []).append(
            _describe_option(parameter)
        )
    for title in sorted(panels, key=lambda title: title == GENERAL):
        _print_section(title, panels[title])


def split_examples(paragraph: str) -> list[str]:
    """Returns the command lines of a paragraph "Examples: **a** · **b** (why)" without marks: `a`, and `b   # why`."""
    lines = []
    for part in paragraph[len(EXAMPLES.match(paragraph)[0]) :].split(BETWEEN):  # type: ignore[index]
        command, note = (BOLD.match(part) or [part, part])[1], BOLD.sub("", part, count=1).strip(" .")
        lines.append(f"{command}   # {note.strip('()')}" if note and note != part else command)
    return lines


def mark_bold(text: str) -> Text:
    """Returns the text with the words between ** in bold."""
    out, end = Text(), 0
    for match in BOLD.finditer(text):
        out.append(text[end : match.start()]).append(match[1], "bold")
        end = match.end()
    return out.append(text[end:])


def _list_options(command: Any, ctx: Any) -> Iterator[Any]:
    return (p for p in command.get_params(ctx) if p.param_type_name == "option" and not getattr(p, "hidden", False))


def _describe_option(parameter: Any) -> Row:
    names = ", ".join(sorted(parameter.opts, key=len) + parameter.secondary_opts)
    flag = getattr(parameter, "is_flag", False) or getattr(parameter, "is_bool_flag", False)
    value = "" if flag else f" {parameter.metavar or parameter.name.upper()}"
    notes = []
    if getattr(parameter, "multiple", False):
        notes.append("may be repeated")
    default = parameter.default
    if not flag and default not in (None, "", ()) and not callable(default):
        notes.append(f"default: {default}")
    if parameter.envvar:
        notes.append(f"or the variable {parameter.envvar}")
    text = getattr(parameter, "help", None) or ""
    if notes and (stated := DEFAULT.search(text)):
        return names + value, f"{text[: stated.end(1)]}; {'; '.join(notes)}{text[stated.end(1) :]}"
    return names + value, f"{text.removesuffix('.')} ({'; '.join(notes)})." if notes else text


def _measure_width() -> int:
    return min(WIDEST, shutil.get_terminal_size().columns)


def _print_head(usage: str, text: str) -> None:
    Console(highlight=False, soft_wrap=True).print(Text(" ".join(usage.split()), "bold yellow"))
    print()
    for paragraph in text.split("\n\n"):
        _print_paragraph(paragraph)


def _print_title(title: str) -> None:
    Console(highlight=False).print(Text(title, "bold"))


def _print_paragraph(text: str) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for line in _fold(text, _measure_width()):
        console.print(line)
    print()


def _print_section(title: str, rows: Iterable[Row]) -> None:
    listed = list(rows)
    if not listed:
        return
    _print_title(title)
    console = Console(highlight=False, soft_wrap=True)
    for name, text in listed:
        lines = _fold(text, _measure_width() - LEFT - 4)
        left = Text(f"  {name:<{LEFT}}  ", "cyan")
        if len(name) > LEFT or not lines:
            console.print(left)
        else:
            console.print(left + lines.pop(0))
        for line in lines:
            console.print(Text(" " * (LEFT + 4)) + line)
    print()


def _fold(text: str, width: int) -> list[Text]:
    """Returns lines of at most `width` columns, with the bold words of `text`."""
    plain = BOLD.sub(lambda match: match[1], text)
    styled = mark_bold(text)
    lines, place = [], 0
    for line in wrap(plain, max(20, width), break_long_words=False, break_on_hyphens=False):
        place = plain.index(line, place)
        lines.append(styled[place : place + len(line)])
        place += len(line)
    return lines
