"""Measures the same cases on each host alone, so many hosts at a time, and goes on when a host fails.

Each host writes a run into a folder that all hosts reach under the same path. So a sweep that was interrupted goes on there.
"""

import heapq
import os
import platform
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import msgspec

from steelyard.errors import MachineFailed, SteelyardError, UsageError, one_line
from steelyard.measure import records
from steelyard.measure.launch.reachable import AGENTS
from steelyard.measure.launch.scheduler import find_allocation, launcher
from steelyard.measure.machine.hostlist import short_name
from steelyard.measure.screen import Screen
from steelyard.model import Host
from steelyard.model.units import duration
from steelyard.model.words import plural
from steelyard.show.command_line.progress_line import Line
from steelyard.system import files, signals
from steelyard.system.starts import start_program

OUTPUT = "fleet-output"  # below the folder of the runs: the output of each host, and the words of the sweep
WORDS = "words.json"
KEPT = "Interrupted. The same command goes on. Finished nodes, and finished cases of the others, are kept."
MEASURED = (0, 1, 3)  # exit codes of a run that has all its cases
# Ends the command when the input ends: the host then knows that the sweep was ended, however it was.
GUARD = (
    'cd "$0" || exit 2; exec 3<&0; "$@" </dev/null 3<&- & run=$!; { cat <&3; kill "$run"; } >/dev/null 2>&1 & watch=$!; '
    'wait "$run"; code=$?; kill "$watch"; echo "run-ended $code"; exit "$code"'
)
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
LOOK = 0.1  # seconds between two looks at the hosts
UNKNOWN = 600.0  # seconds of a run of which nothing is known yet
LATE, MORE = 3.0, 600.0  # a run that takes so many times the usual time, and so many seconds more, has failed
GRACE = 15.0  # seconds in which a run that was ended keeps its finished cases
LONGEST_REASON = 300  # letters


@dataclass(frozen=True, slots=True)
class Task:
    """A run of a host, which lies in `folder`."""

    host: str
    folder: Path


@dataclass(kw_only=True)
class Started:
    """A run that was started. `known` is the length that its plan states, in seconds; None if there is none yet."""

    task: Task
    process: "subprocess.Popen[bytes]"
    output: Path
    began: float = field(default_factory=time.monotonic)
    known: float | None = None
    late: bool = False

    @property
    def age(self) -> float:
        """Returns the seconds since its start."""
        return time.monotonic() - self.began

    def find_length(self) -> float | None:
        """Returns the seconds until its end by its plan, with those before it; None if it has no plan yet."""
        if self.known is None and (self.task.folder / "run.json").is_file():
            with suppress(SteelyardError):
                self.known = self.age + records.head(self.task.folder).plan.seconds
        return self.known

    def end(self) -> None:
        """Asks the host to end its run. What it started here is killed if it does not follow."""
        with suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()
        try:
            self.process.wait(GRACE)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def list_tasks(hosts: Sequence[Host], folder: Path, times: int) -> list[Task]:
    """Returns the runs of each host: all first ones, then all second ones. UsageError for a name that no folder can have."""
    names = {host.name: host.name.replace(":", "-") for host in hosts}
    if bad := [name for name, of_run in names.items() if not records.writing.NAME.fullmatch(of_run)]:
        raise UsageError(f"'{bad[0]}' cannot be the name of a run. Use names of hosts, such as node[01-16].")
    return [
        Task(host.name, folder / (names[host.name] + (f"-{number}" if number > 1 else "")))
        for number in range(1, times + 1)
        for host in hosts
    ]


def begin(folder: Path, words: Sequence[str]) -> None:
    """Makes the folder, or checks that an earlier sweep into it measured the same. UsageError; MachineFailed."""
    path = folder / OUTPUT / WORDS
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = msgspec.json.decode(files.settings_in(path), type=list[str]) if path.exists() else None
    except (OSError, ValueError) as error:
        raise MachineFailed(
            f"The folder {folder} cannot be used: {error}. Choose another folder with --runs."
        ) from None
    if before is None:
        files.write(path, "The folder of the sweep", msgspec.json.encode(list(words)).decode())
    elif before != list(words):
        raise UsageError(
            f"The runs in '{one_line(str(folder))}' were measured with '{shlex.join(before)}'. Give the same words to go on, or "
            "another folder with --runs."
        )


def choose_starter(name: str | None) -> Callable[[str, Sequence[str]], list[str]]:
    """Returns the function that makes the command line for a host: by srun or flux, by the agent of an MPI, or by ssh.

    `name` is a launcher; None: that of the allocation, if it is in one. UsageError for one that cannot start commands.
    """
    within = find_allocation()
    chosen = launcher(name) if name else (within[0].launcher if within else None)
    if chosen and chosen.alone:
        alone = chosen.alone
        inside = bool(within and within[0].launcher is chosen)
        return lambda host, command: [*alone(host, inside), *command]
    if name not in (None, "ssh", "mpiexec"):
        raise UsageError(
            f"'{name}' (given by --launcher) cannot start a command on a host. Use srun or flux, or leave it out."
        )
    agent = next((os.environ[n] for n in AGENTS if os.environ.get(n) and not n.endswith(("LAUNCHER", "BOOTSTRAP"))), "")
    words = shlex.split(agent) or list(SSH)

    def start(host: str, command: Sequence[str]) -> list[str]:
        if short_name(host) in (short_name(platform.node()), "localhost"):
            return list(command)
        return [*words, host, shlex.join(command)]

    return start


def measure(
    tasks: Sequence[Task],
    starter: Callable[[str, Sequence[str]], list[str]],
    command: Callable[[Task], Sequence[str]],
    at_once: int,
    screen: Screen,
    quiet: bool,
) -> dict[str, str]:
    """Carries out the runs that are not finished, and returns the reason for each host that has none in the end.

    `command` returns the words that carry out a run on its host.
    """
    left = [task for task in tasks if not (task.folder / "finished.json").is_file()]
    total, lengths, failed = len(tasks), list[float](), dict[str, str]()
    if len(left) < total:
        screen.inform(
            f"steelyard: {plural(total - len(left), 'run')} of {total} measured already. For new ones: --runs FOLDER"
        )
    running: list[Started] = []
    with screen.keeping(KEPT), ExitStack() as stack:
        line = stack.enter_context(Line(quiet))
        try:
            while left or running:
                busy = {one.task.host for one in running}
                while len(running) < at_once and (task := next((t for t in left if t.host not in busy), None)):
                    left.remove(task)
                    busy.add(task.host)
                    running.append(_start(task, starter(task.host, ["sh", "-c", GUARD, os.getcwd(), *command(task)])))
                expected = _expect(lengths, running)
                for one in list(running):
                    one.late = one.age > LATE * expected + MORE
                    if one.process.poll() is None and not one.late:
                        continue
                    running.remove(one)
                    one.end()
                    if reason := _find_failure(one):
                        failed[one.task.host] = reason
                        screen.warn(f"{one.task.host} {reason}")
                    else:
                        lengths.append(one.age)
                        failed.pop(one.task.host, None)
                done = total - len(left) - len(running)
                ahead = estimate_left(_expect(lengths, running), [one.age for one in running], len(left), at_once)
                words = f"{done} of {plural(total, 'run')} done, {len(running)} under way"
                line.show(words + (f", {plural(len(failed), 'node')} failed" if failed else ""), ahead or None)
                time.sleep(LOOK)
        except KeyboardInterrupt:
            signals.accept()
            raise
        finally:
            for one in running:
                with suppress(OSError):
                    if one.process.stdin:
                        one.process.stdin.close()  # all hosts at the same time
            for one in running:
                one.end()
    return failed


def _start(task: Task, words: Sequence[str]) -> Started:
    output = task.folder.parent / OUTPUT / f"{task.folder.name}.txt"
    with output.open("wb") as file:
        try:
            process = start_program(words, stdin=subprocess.PIPE, stdout=file, stderr=file, start_new_session=True)
        except OSError as error:
            raise UsageError(f"The command '{words[0]}' cannot be started: {error.strerror}.") from None
    return Started(task=task, process=process, output=output)


def _expect(lengths: Sequence[float], running: Iterable[Started]) -> float:
    """Returns the seconds that a run is expected to take: as the finished ones, or else as the plans state."""
    stated = [length for one in running if (length := one.find_length()) is not None]
    return median(lengths or stated or [UNKNOWN])


def estimate_left(expected: float, ages: Sequence[float], waiting: int, at_once: int) -> float:
    """Returns the seconds until the last run ends, if each takes `expected` seconds and so many run at once.

    `ages` are the seconds since the start of each that runs.
    """
    free = [max(0.0, expected - age) for age in ages] + [0.0] * (min(at_once, len(ages) + waiting) - len(ages))
    heapq.heapify(free)
    for _ in range(waiting):
        heapq.heapreplace(free, free[0] + expected)
    return max(free, default=0.0)


def _find_failure(one: Started) -> str:
    """Returns why a run is not complete, as words that follow the name of the host; "" if it is."""
    if one.late:
        return f"did not end within {duration(one.age)}, so its run was ended. Its output: {one.output}"
    if (one.task.folder / "finished.json").is_file():
        return ""
    code = one.process.returncode
    try:
        text = one.output.read_text(errors="replace")
    except OSError:
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ended = f"run-ended {code}"
    if code in MEASURED and ended in lines:
        return f"has measured, but its run is not in {one.task.folder}. All hosts must reach this folder under the same path."
    lines = [line for line in lines if line != ended]
    said = next(
        (line for line in reversed(lines) if line.startswith("steelyard: ")), lines[-1] if lines else "no output"
    )
    why = one_line(said.removeprefix("steelyard: "))[:LONGEST_REASON].rstrip(".")
    return f"was not measured (exit code {code}): {why}. Its output: {one.output}"


def list_failures(failed: Mapping[str, str]) -> list[str]:
    """Returns a sentence for each host without a run, without the full stop."""
    return [f"{host} {reason}".rstrip(".") for host, reason in failed.items()]
