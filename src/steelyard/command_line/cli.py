"""The command line. A command is a file of its own: it reads its words, calls the rooms that do it, and shows what came out."""

import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from steelyard import __version__, doors
from steelyard.command_line import streams
from steelyard.command_line.command_group import HELP, MARKUP, group
from steelyard.errors import MachineFailed, SteelyardError, spelled


def _packages() -> Iterator[Mapping[str, Path]]:
    """The folders of commands: first the product's own, since to ask for what a site has installed takes a while."""
    yield doors.inside("commands")
    yield {name: folder for name, folder in doors.packages("commands").items() if name not in doors.inside("commands")}


app = typer.Typer(
    name="steelyard",
    cls=group(_packages),
    no_args_is_help=True,
    context_settings=HELP,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
    help="Measures computers honestly, from a laptop to a cluster, and explains what it measured.",
    epilog="Begin with **steelyard run**, which ends with findings and an HTML report. Exit codes: 0 fine, 1 a serious finding, "
    "2 wrong usage, 3 a wrong result, 4 the machine failed.",
)


def main() -> None:
    """Mistakes are explained without a traceback, and Ctrl-C keeps what was measured."""
    streams.prepare()
    ended = _end_in_good_order()
    code = explained(app)
    code = explained(sys.stdout.flush) or code  # what is still to be written may fail, too
    sys.exit(128 + ended[0] if ended and code == 130 else code)


def _end_in_good_order() -> list[int]:
    """From now on SIGTERM (batch systems end jobs with it) and SIGHUP do what Ctrl-C does. Which of them has come."""
    came: list[int] = []

    def end(number: int, frame: object) -> None:
        for each in heard:
            signal.signal(each, signal.SIG_IGN)  # to a job they are often sent twice: the end must not be broken off
        came.append(number)
        raise KeyboardInterrupt

    # Not where it is ignored, as by nohup.
    heard = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_DFL]
    for each in heard:
        signal.signal(each, end)
    return came


def explained(work: Callable[[], object]) -> int:
    """Does the work; returns the exit code, and says why it is not 0."""
    try:
        work()
    except SystemExit as ended:
        if ended.code == 130:
            print("steelyard: interrupted", file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else 1 if ended.code else 0
    except SteelyardError as error:
        print(f"steelyard: {error.shown()}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("steelyard: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        where = f": '{spelled(str(error.filename))}'" if error.filename else ""
        print(f"steelyard: The system refused: {error.strerror or error}{where}.", file=sys.stderr)
        return MachineFailed.exit_code
    except Exception as error:
        why = _starved(error)
        if not why:
            raise
        print(f"steelyard: {why}", file=sys.stderr)
        return MachineFailed.exit_code
    return 0


def _starved(error: Exception) -> str:
    """A sentence if a limit of memory or threads (ulimit, a batch system's) is the cause; "" for any other mistake."""
    said = str(error)
    words = (
        "failed to map segment",
        "annot allocate memory",
        "Out of Memory Error",
    )  # of the loader, the system, DuckDB
    if isinstance(error, MemoryError) or any(each in said for each in words):
        return "There is not enough memory for this. Ask for less, or free some."
    if "can't start new thread" in said:
        return "No further thread may be started here. Allow more: ulimit -u."
    return ""


def _version(wanted: bool) -> None:
    if wanted:
        print(f"steelyard {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def arguments(words: Sequence[str]) -> None:
    """Runs the command line with these words; for tests."""
    app(list(words), standalone_mode=False)
