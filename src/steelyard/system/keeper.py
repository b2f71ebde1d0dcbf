"""A second process that outlives this one: it ends what this process started, and removes its temporary files."""

import contextlib
import os
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.system import signals
from steelyard.system.starts import start_program

NAME = "STEELYARD_COMMAND"  # variable that marks all processes of a command
PATIENCE = 10.0  # maximum seconds until the keeper ends: some processes cannot be killed
# It reads folders with temporary files until its input ends, with this process at the latest. It asks each marked process once
# to end, and kills those that are left after some seconds. A process that calls exec has no environment for a moment, so it
# searches several times.
_KEEPER = """
trap '' HUP INT TERM
while IFS= read -r folder; do set -- "$@" "$folder"; done
asked= gone=0 search=0
while [ $gone -lt 4 ] && [ $search -lt 50 ]; do
  gone=$((gone + 1)) search=$((search + 1))
  for file in $(grep -lsaF -- "$0" /proc/[0-9]*/environ); do
    gone=0 number=${file#/proc/} number=${number%/environ}
    case " $asked " in
      *" $number "*) [ $search -lt 20 ] || kill -s KILL "$number" ;;
      *) kill -s TERM "$number"; asked="$asked $number" ;;
    esac
  done
  [ $gone = 0 ] && sleep 0.1 || sleep 0.02
done
for folder; do rm -rf -- "$folder/.steelyard-$0-"*; done
"""


@dataclass
class Kept:
    """Processes that belong together: their environment contains `environment`. So do the names of temporary folders."""

    mark: str
    process: "subprocess.Popen[bytes]"
    _folders: set[str] = field(default_factory=set)

    @property
    def environment(self) -> Mapping[str, str]:
        """Returns the mark behind the marks of commands that started this one, whose keepers end the same processes."""
        return {NAME: ":".join(filter(None, (os.environ.get(NAME), self.mark)))}

    def end(self) -> None:
        """Ends the marked processes, and returns when they are gone."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            assert self.process.stdin
            self.process.stdin.close()
            self.process.wait(PATIENCE)

    def watch(self, folder: str) -> None:
        """Lets the keeper remove the temporary folders of this process in a folder."""
        if folder in self._folders or "\n" in folder:
            return
        self._folders.add(folder)
        with contextlib.suppress(OSError, ValueError):
            assert self.process.stdin
            self.process.stdin.write(os.fsencode(folder) + b"\n")
            self.process.stdin.flush()


_whole: list[Kept] = []  # of this process, at most one
_pipes: list[int] = []  # to all keepers


def _leave_to_parent() -> None:
    """Closes the pipes in a copy of this process: the keepers wait for the end of the first one only."""
    _whole.clear()
    while _pipes:
        os.close(_pipes.pop())


os.register_at_fork(after_in_child=_leave_to_parent)


@contextlib.contextmanager
def start() -> Iterator[Kept]:
    """Runs the keeper during the block. If this process is killed in it, or ended by a signal, the marked processes end.

    They can go on after any other end: a daemon belongs to the user.
    """
    mark = uuid.uuid4().hex
    quiet = subprocess.DEVNULL
    # In a new session neither Ctrl-C nor the end of the terminal reaches it.
    command = ["/bin/sh", "-c", _KEEPER, mark]
    keeper = start_program(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True)
    assert keeper.stdin
    _pipes.append(keeper.stdin.fileno())
    try:
        yield (kept := Kept(mark, keeper))
    finally:
        _pipes.pop()
        if signals.arrived():
            kept.end()
        keeper.kill()  # before its input ends
        keeper.wait()
        keeper.stdin.close()


@contextlib.contextmanager
def started() -> Iterator[None]:
    """Keeps all programs that this process starts in the block, and all its temporary files."""
    before, folder = os.environ.get(NAME), tempfile.tempdir
    try:
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # no more processes, no temporary folder: most commands need neither
                _whole.append(stack.enter_context(start()))
                os.environ.update(_whole[0].environment)
                tempfile.tempdir = str(stack.enter_context(temporary_folder(_find_temporary())))
            yield
    finally:
        tempfile.tempdir = folder
        _whole.clear()
        os.environ.pop(NAME, None)
        os.environ.update({NAME: before} if before else {})


@contextlib.contextmanager
def temporary_folder(within: Path) -> Iterator[Path]:
    """Makes a folder for the block. No other user can enter it. The keeper removes it if this process is killed."""
    prefix = ".steelyard-"
    for kept in _whole:
        prefix += f"{kept.mark}-"
        kept.watch(os.path.abspath(within))
    # A program that is being ended may still write into it; the keeper then removes the rest.
    with tempfile.TemporaryDirectory(prefix=prefix, dir=within, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _find_temporary() -> Path:
    """Returns the folder for temporary files. `tempfile` would write one to try it, which kill -9 could leave there."""
    folders = (*map(os.environ.get, ("TMPDIR", "TEMP", "TMP")), "/tmp", "/var/tmp")
    found = next((f for f in folders if f and os.path.isdir(f) and os.access(f, os.W_OK | os.X_OK)), None)
    return Path(found or tempfile.gettempdir()).absolute()
