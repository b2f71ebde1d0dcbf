"""Groups of commands. A command is imported when it is called, since to import all takes half of the start-up time."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, cached_property, partial
from inspect import Parameter, Signature, getdoc, signature
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from steelyard import doors
from steelyard.doors import Part, PartFailed
from steelyard.errors import SteelyardError, UsageError, nearest

MARKUP: Literal["markdown"] = "markdown"
MISUSE: Any = typer.BadParameter.__mro__[1]  # Typer's (earlier Click's) UsageError, which it does not export
MISUSE_CODE = 2
# The exceptions that a command raises on purpose: sentences, errors of the system and of the user, and the ends of Typer.
PASSING = (SteelyardError, OSError, MISUSE.__mro__[1], typer.Exit, typer.Abort)
# Settings of the context of each command, also of a command without a group.
HELP = {"help_option_names": ["-h", "--help"]}
DASHES = "steelyard.dashes"  # key in the `meta` of a context: whether the words contain "--", which precedes commands of the user
PLACE = re.compile(r"^PLACE = (\d+)", re.MULTILINE)  # position in the list of commands of the help
LAST = 1000  # position of a command without `PLACE`
# The first paragraph of the docstring of `command`.
SUMMARY = re.compile(r'^def command\(.*?"""(.+?)(?:\n\s*\n|""")', re.MULTILINE | re.DOTALL)


def make_group(packages: Callable[[], Iterable[Mapping[str, Path]]]) -> type[TyperGroup]:
    """Returns the class of a group that holds the commands of some packages, in the order of their `PLACE`.

    Each file or folder of a package is a command: a module with a function `command`, or with an `app` that holds further
    commands. `packages` yields mappings from dotted names to folders. A later mapping is read only for the help, or if the
    earlier ones lack a name.
    """

    class Group(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**{**settings, "commands": _Commands(packages)})

        def list_commands(self, ctx: Any) -> list[str]:
            return list(self.commands)  # Typer's method imports all of them

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            try:
                return super().get_command(ctx, cmd_name)
            except PartFailed:
                if ctx.resilient_parsing:  # a shell completes a word, and asks for all commands that begin with it
                    return None
                raise

        def main(self, *args: Any, **settings: Any) -> Any:
            """Runs the command. An error becomes a sentence like all others, without the box that Typer draws."""
            alone = settings.get("standalone_mode", True)
            try:
                code = super().main(*args, **{**settings, "standalone_mode": False})
            except MISUSE as mistake:
                raise _explain(mistake) from None
            if not alone:
                return code
            sys.exit(code if isinstance(code, int) else 0)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            from steelyard.show.command_line import help_page

            help_page.show_group(self, ctx, {name: read_summary(self.commands, name) for name in self.commands})

    return Group


def make_subgroup(name: str, package: str, folder: Path, text: str) -> typer.Typer:
    """Returns the `app` of a command that is a group: its commands are the files of `folder`, the package `package`."""
    app = typer.Typer(
        name=name,
        cls=make_group(lambda: [{package: folder}]),
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=MARKUP,
        help=text,
    )
    app.callback()(lambda: None)  # without a callback, Typer treats a group without own commands as empty
    return app


def read_summary(commands: Any, name: str) -> str:
    """Returns the first paragraph of a command's help. It is read from the source: an import takes ten times as long."""
    part = commands.parts[name]
    docstring = SUMMARY.search(_read_source(part))
    try:
        text = str(docstring[1] if docstring else commands[name].help or "")
    except PartFailed as failure:
        text = str(failure)
    return " ".join(text.split("\n\n", maxsplit=1)[0].split())


def _explain(mistake: Any) -> SystemExit | UsageError:
    """Returns the exception that shows an error of Typer to the user. A command without its required words prints its help."""
    context = mistake.ctx
    if type(mistake).__name__ == "NoArgsIsHelpError":
        return SystemExit(MISUSE_CODE)
    text = mistake.format_message().rstrip(".")
    path = context.command_path if context else "steelyard"
    if context and (match := re.match(r"No such command '(.*?)'", text, re.DOTALL)):
        return UsageError(f"There is no command '{match[1]}'. {nearest(match[1], context.command.commands)}")
    return UsageError(f"{text[:1].upper()}{text[1:]}. For help: {path} --help")


class _Commands(Mapping[str, Any]):
    def __init__(self, packages: Callable[[], Iterable[Mapping[str, Path]]]) -> None:
        self._packages = packages

    @cached_property
    def parts(self) -> dict[str, Part]:
        """The files of all commands by name, in the order in which the help lists them."""
        files = _find_parts({name: folder for folders in self._packages() for name, folder in folders.items()})
        return dict(sorted(files.items(), key=lambda item: (_read_place(item[1]), item[0])))

    def __getitem__(self, name: str) -> Any:
        for folders in self._packages():
            if part := _find_parts(folders).get(name):
                return _import_command(part)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


def _find_parts(folders: Mapping[str, Path]) -> dict[str, Part]:
    return {part.name: part for part in doors.parts("command", folders)}


@cache
def _read_source(part: Part) -> str:
    return part.file.read_text(encoding="utf-8", errors="replace")


def _read_place(part: Part) -> int:
    place = PLACE.search(_read_source(part))
    return int(place[1]) if place else LAST


class _Strict(TyperCommand):
    """A command with our help page. Its options refuse an empty value, which often comes from a variable that is not set."""

    def get_usage(self, ctx: Any) -> str:
        braces = {ord("{"): None, ord("}"): None}  # Typer marks required arguments by braces
        return super().get_usage(ctx).translate(braces)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from steelyard.show.command_line import help_page

        help_page.show_command(self, ctx)

    def make_parser(self, ctx: Any) -> Any:
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def parsed(args: list[str]) -> Any:
            ctx.meta[DASHES] = "--" in args
            values, left, order = parse(args)
            for param in order:
                given = values.get(str(param.name))
                if param.param_type_name == "option" and "" in (given if isinstance(given, list) else [given]):
                    raise UsageError(f"The value of {param.opts[0]} is empty. Give a value, or omit the option.")
            return values, left, order

        parser.parse_args = parsed  # type: ignore[method-assign]
        return parser


@cache
def _import_command(part: Part) -> Any:
    command = doors.call(part, _make_command, part.name, doors.load(part))
    if not part.module.startswith("steelyard."):  # an error in a command of Steelyard itself needs its traceback
        command.invoke = partial(doors.call, part, command.invoke, passing=PASSING)
    return command


def _make_command(name: str, module: ModuleType) -> Any:
    if hasattr(module, "app"):
        return typer.main.get_command(module.app)
    alone = typer.Typer(add_completion=False, rich_markup_mode=MARKUP)
    alone.command(name, cls=_Strict, context_settings=HELP)(unfold(module.command))
    return typer.main.get_command(alone)


def unfold(command: Callable[..., None]) -> Callable[..., None]:
    """Returns the command with the fields of each class of options that it takes as parameters, which Typer understands."""
    parameters = signature(command).parameters
    classes: dict[str, Any] = {name: p.annotation for name, p in parameters.items() if is_dataclass(p.annotation)}
    if not classes:
        return command
    flat: list[Parameter] = []
    for name, p in parameters.items():
        of_class = fields(classes[name]) if name in classes else ()
        flat += [Parameter(f.name, p.KEYWORD_ONLY, default=f.default, annotation=f.type) for f in of_class]
        flat += [] if name in classes else [p.replace(kind=p.KEYWORD_ONLY)]

    def unfolded(**given: Any) -> None:
        made = {name: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for name, kind in classes.items()}
        command(**given, **made)

    unfolded.__signature__ = Signature(flat)  # type: ignore[attr-defined]
    unfolded.__doc__, unfolded.__module__ = getdoc(command), command.__module__
    return unfolded
