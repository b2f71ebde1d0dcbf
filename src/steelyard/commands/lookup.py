"""Commands that are imported when they are looked up: half of the start would go into the others."""

import importlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from steelyard.errors import UsageError, nearest

MARKUP: Literal["markdown"] = "markdown"
MISUSE: Any = typer.BadParameter.__mro__[1]  # Typer's (earlier Click's) UsageError, which it does not export
MISUSE_CODE = 2
HELP = {
    "help_option_names": ["-h", "--help"]
}  # settings of the context of each command, also where it is used by itself
DASHES = (
    "steelyard.dashes"  # key in a context's `meta`: whether the words have two dashes alone, after which commands stand
)
# The docstring of a module's `command`, up to its first empty line.
SUMMARY = re.compile(r'^def command\(.*?"""(.+?)(?:\n\s*\n|""")', re.MULTILINE | re.DOTALL)


def group(package: str, names: Sequence[str]) -> type[TyperGroup]:
    """A group of those commands of a package, in their order: modules with a `command`, or with an `app` of further ones."""

    class Group(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**{**settings, "commands": _Commands(package, names)})

        def main(self, *args: Any, **settings: Any) -> Any:
            """A mistake is a sentence, as all others are: Typer would draw a box around it."""
            alone = settings.get("standalone_mode", True)
            try:
                code = super().main(*args, **{**settings, "standalone_mode": False})
            except MISUSE as mistake:
                raise _explain(mistake) from None
            if not alone:
                return code
            sys.exit(code if isinstance(code, int) else 0)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            from steelyard.commands import help_page

            help_page.show_group(self, ctx, {name: summary(package, name) for name in names})

    return Group


def summary(package: str, name: str) -> str:
    """The first paragraph of a command's help. It is read from the source: to import all commands takes ten times as long."""
    try:
        source = Path(sys.modules[package].__path__[0], f"{name}.py").read_text(encoding="utf-8")
    except OSError:
        source = ""
    found = SUMMARY.search(source)
    text = str(found[1] if found else _command(package, name).help or "")
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())


def _explain(mistake: Any) -> SystemExit | UsageError:
    """What the user sees of a mistake that Typer found. A command without words that it needs prints its help."""
    context = mistake.ctx
    if type(mistake).__name__ == "NoArgsIsHelpError":
        return SystemExit(MISUSE_CODE)
    text = mistake.format_message().rstrip(".")
    path = context.command_path if context else "steelyard"
    if context and (match := re.match(r"No such command '(.*?)'", text, re.DOTALL)):
        return UsageError(f"There is no command '{match[1]}'. {nearest(match[1], context.command.commands)}")
    return UsageError(f"{text[:1].upper()}{text[1:]}. For help: {path} --help")


class _Commands(Mapping[str, Any]):
    def __init__(self, package: str, names: Sequence[str]) -> None:
        self._package, self._names = package, names

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return _command(self._package, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class _Strict(TyperCommand):
    """A command whose options refuse an empty value (a variable of a script that was not set), with our page of help."""

    def get_usage(self, ctx: Any) -> str:
        braces = {ord("{"): None, ord("}"): None}  # by which Typer marks what is required
        return super().get_usage(ctx).translate(braces)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from steelyard.commands import help_page

        help_page.show_command(self, ctx)

    def make_parser(self, ctx: Any) -> Any:
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def parsed(args: list[str]) -> Any:
            ctx.meta[DASHES] = "--" in args
            values, left, order = parse(args)
            for param in order:
                found = values.get(param.name)
                if param.param_type_name == "option" and "" in (found if isinstance(found, list) else [found]):
                    raise UsageError(f"The value of {param.opts[0]} is empty. Give one, or leave the option out.")
            return values, left, order

        parser.parse_args = parsed  # type: ignore[method-assign]
        return parser


@cache
def _command(package: str, name: str) -> Any:
    module = importlib.import_module(f"{package}.{name}")
    if hasattr(module, "app"):
        return typer.main.get_command(module.app)
    alone = typer.Typer(add_completion=False, rich_markup_mode=MARKUP)
    alone.command(name, cls=_Strict, context_settings=HELP)(module.command)
    return typer.main.get_command(alone)
