"""The command line. Each command is one file that reads its words, calls other packages, and prints the result."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from steelyard import __version__, doors
from steelyard.errors import MachineFailed, SteelyardError, describe_shortage, one_line
from steelyard.show.command_line import fault, streams
from steelyard.show.command_line.command_group import HELP, MARKUP, make_group
from steelyard.system import keeper, signals


def _find_packages() -> Iterator[Mapping[str, Path]]:
    """Yields the folders of commands. Our own come first, since the search for installed packages takes a while."""
    yield doors.inside("commands")
    yield doors.installed("commands")


app = typer.Typer(
    name="steelyard",
    cls=make_group(_find_packages),
    no_args_is_help=True,
    context_settings=HELP,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
    help="Measures computers honestly, from a laptop to a cluster, and explains what it measured.",
    epilog="Begin with **steelyard run**, which ends with findings and an HTML report. Exit codes: 0 fine, also if other "
    "work disturbed the run; 1 a serious finding about the machine; 2 wrong usage, also compiler flags that make results wrong; "
    "3 a wrong result; 4 a failure of the machine; 128 + N after signal N, such as 130 after Ctrl-C.",
)


def main() -> None:
    """Runs the command line. Errors are explained without a traceback, and a signal keeps the finished measurements."""
    signals.listen()
    signals.nudge()
    streams.prepare()
    try:
        with keeper.started():
            code = run_and_explain(app)
            code = run_and_explain(sys.stdout.flush, code)  # the last output may fail, too
    except Exception as error:  # tests call `run_and_explain`, which lets it pass
        fault.explain(error)
        code = fault.EXIT_CODE
    signals.ignore()
    sys.exit(run_and_explain(lambda: None, code))  # a signal may have come during the clean-up


def run_and_explain(work: Callable[[], object], before: int = 0) -> int:
    """Calls `work` and returns the exit code, or `before` instead of 0. Prints the reason if the code is not 0.

    After a signal, it is 128 + its number, whatever the work made of the interruption.
    """
    with signals.ending() as arrived:
        try:
            with signals.heard():
                work()
            code = 0
        except BaseException as error:
            code = 0 if arrived else _explain(error)
            signals.accept()
        if arrived:
            code = 128 + arrived[0]
            if signals.tell():
                print("steelyard: interrupted", file=sys.stderr)
    return code or before


def _explain(error: BaseException) -> int:
    """Prints why the work failed, and returns the exit code. Raises an error that nobody expects."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1 if error.code else 0
    if isinstance(error, SteelyardError):
        print(f"steelyard: {error.shown()}", file=sys.stderr)
        return error.exit_code
    if isinstance(error, OSError):
        where = f": '{one_line(str(error.filename))}'" if error.filename else ""
        print(f"steelyard: The operating system reports an error: {error.strerror or error}{where}.", file=sys.stderr)
        return MachineFailed.exit_code
    why = describe_shortage(error)
    if not why:
        raise error
    print(f"steelyard: {why}", file=sys.stderr)
    return MachineFailed.exit_code


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"steelyard {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def run_words(words: Sequence[str]) -> None:
    """Runs the command line with these words. Tests use it."""
    app(list(words), standalone_mode=False)
