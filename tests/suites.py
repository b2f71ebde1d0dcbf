"""Runs every suite of the project: python3 tests/suites.py. `make test-all` and `.ci/run` call it.

Suites that need no quiet machine run three at a time; those that measure run alone, afterwards. It prints the output of each
suite when the suite ends, and at the end the minutes of each suite, the ten slowest tests, and those that failed. A suite that
fails does not stop the others. After 88 minutes (STEELYARD_MINUTES=… for another limit) it stops everything and names what was
not done.
"""

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Targets of make, in the order in which they run. These two make what all others need: the Debian packages, and (lint) the
# whole virtual environment. Suites that run side by side never install anything at the same time.
FIRST = ("packages", "lint")
# The longest first, so all lanes end at about the same time.
SHARED = (
    "test-fresh",
    "test-long",
    "test-applications",
    "test-telemetry",
    "test-hosts",
    "test-slurm",
    "test-attack",
    "test-versions",
    "test-core",
    "test-site",
    "test-install",
    "test-numa",
    "test-fuzz",
    "test-opencl",
    "test-browser",
    "audit",
)
ALONE = ("test-machine",)
LANES = 3  # on two processors: some suites wait most of the time, for networks, nodes that are lost, or a guest
SLOWEST = 10
GRACE = 20.0  # seconds from SIGTERM to SIGKILL
DURATION = re.compile(r"^(\d+\.\d+)s (?:call|setup|teardown) +(\S.*)$", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests/.*)$", re.MULTILINE)


@dataclass
class Suite:
    """One target of make: its process while it runs, then its output, exit code, minutes and processor minutes."""

    name: str
    began: float
    output: Path
    process: subprocess.Popen[bytes]
    code: int | None = None
    minutes: float = 0.0
    processor_minutes: float = 0.0

    def text(self) -> str:
        return self.output.read_text(encoding="utf-8", errors="replace")


@dataclass
class Suites:
    """All suites that were started, by name: targets of the Makefile in `root`; `deadline` is a time of the monotonic clock."""

    root: Path
    folder: Path
    deadline: float
    all: dict[str, Suite] = field(default_factory=dict)
    signals: list[int] = field(default_factory=list)  # that arrived

    def running(self) -> list[Suite]:
        return [suite for suite in self.all.values() if suite.code is None]

    def start(self, name: str) -> None:
        output = self.folder / name
        with output.open("wb") as file:
            process = subprocess.Popen(
                ["make", name],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self.all[name] = Suite(name, time.monotonic(), output, process)
        say(f"make {name} begins")

    def wait_for_one(self) -> None:
        """Returns when a suite has ended. TimeoutError after the deadline; KeyboardInterrupt after a signal."""
        while time.monotonic() < self.deadline:
            if self.signals:
                raise KeyboardInterrupt
            for suite in self.running():
                if self.has_ended(suite):
                    show(suite)
                    return
            time.sleep(0.2)
        raise TimeoutError

    def has_ended(self, suite: Suite) -> bool:
        process, status, usage = os.wait4(suite.process.pid, os.WNOHANG)
        if process == 0:
            return False
        suite.code = suite.process.returncode = os.waitstatus_to_exitcode(status)
        suite.minutes = (time.monotonic() - suite.began) / 60
        suite.processor_minutes = processor_minutes(usage)
        return True

    def stop(self) -> None:
        """Ends all that runs, with everything that it started in its session."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for suite in self.running():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(suite.process.pid, number)
            until = time.monotonic() + GRACE
            while time.monotonic() < until and not all(self.has_ended(suite) for suite in self.running()):
                time.sleep(0.2)

    @contextlib.contextmanager
    def noting_signals(self) -> Iterator[None]:
        """Notes SIGINT and SIGTERM: raised within the start of a suite, their exception would leave its processes behind."""
        before = {n: signal.signal(n, lambda n, frame: self.signals.append(n)) for n in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def processor_minutes(usage: resource.struct_rusage) -> float:
    return (usage.ru_utime + usage.ru_stime) / 60


def say(text: str) -> None:
    print(f"\n== {time.strftime('%H:%M:%S')} {text}", flush=True)


def show(suite: Suite) -> None:
    say(f"make {suite.name} ended with {suite.code} after {suite.minutes:.1f} min; its output:")
    sys.stdout.write(suite.text())
    sys.stdout.flush()


def run(suites: Suites, names: Iterable[str], lanes: int) -> None:
    """Runs them in their order, so many at a time; returns when all have ended."""
    left = list(names)
    while left or suites.running():
        if left and len(suites.running()) < lanes:
            suites.start(left.pop(0))
        else:
            suites.wait_for_one()


def slowest_tests(texts: Iterable[str]) -> list[tuple[float, str]]:
    """Returns the ten slowest tests, as (seconds, name), of what each pytest printed of its ten slowest."""
    found = {(float(seconds), name) for text in texts for seconds, name in DURATION.findall(text)}
    return sorted(found, reverse=True)[:SLOWEST]


def summary(suites: Suites, minutes: float) -> str:
    lines = [f"{'suite':<20}{'minutes':>9}{'processor':>11}  result"]
    for suite in suites.all.values():
        result = "passed" if suite.code == 0 else f"FAILED, exit code {suite.code}"
        lines.append(f"{suite.name:<20}{suite.minutes:9.1f}{suite.processor_minutes:11.1f}  {result}")
    processor = sum(suite.processor_minutes for suite in suites.all.values())
    lines.append(f"{'all':<20}{minutes:9.1f}{processor:11.1f}")
    lines.append("\nThe ten slowest tests, in seconds:")
    texts = {suite.name: suite.text() for suite in suites.all.values()}
    lines += [f"{seconds:9.1f}  {name}" for seconds, name in slowest_tests(texts.values())]
    failed = [f"{name:<20}{test[:400]}" for name, text in texts.items() for test in FAILED.findall(text)]
    return "\n".join([*lines, *(["\nFailed tests:"] if failed else []), *failed])


Stages = tuple[tuple[tuple[str, ...], int], ...]  # names of suites, and how many of these run at a time
STAGES: Stages = ((FIRST, LANES), (SHARED, LANES), (ALONE, 1))


def carry_out(limit: float, root: Path = ROOT, stages: Stages = STAGES) -> int:
    """Runs all suites within `limit` minutes. Returns 0 if all passed, 1 otherwise."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="steelyard-suites-") as folder:
        suites = Suites(root, Path(folder), began + 60 * limit)
        late = False
        with suites.noting_signals():
            try:
                for names, lanes in stages:
                    run(suites, names, lanes)
            except TimeoutError:
                late = True
                unfinished = [suite.name for suite in suites.running()]
                unfinished += [name for names, _ in stages for name in names if name not in suites.all]
            finally:
                suites.stop()
        say("All suites\n")
        print(summary(suites, (time.monotonic() - began) / 60), flush=True)
        if late:
            print(
                f"\nsuites: stopped after {limit:g} minutes. Not finished: {', '.join(unfinished)}. "
                "Run these by hand (make NAME), or give more time: STEELYARD_MINUTES=120 make test-all",
                flush=True,
            )
        return int(late or any(suite.code != 0 for suite in suites.all.values()))


def minutes_allowed(text: str) -> float:
    """Returns the limit that a user gives. ValueError if it is no number above 0."""
    try:
        limit = float(text)
    except ValueError:
        limit = 0.0
    if not 0 < limit < float("inf"):
        raise ValueError(f"STEELYARD_MINUTES='{text}' is not a number of minutes above 0. Give one, for example 88.")
    return limit


if __name__ == "__main__":
    try:
        sys.exit(carry_out(minutes_allowed(os.environ.get("STEELYARD_MINUTES", "88"))))
    except ValueError as error:
        sys.exit(f"suites: {error}")
    except KeyboardInterrupt:
        print("\nsuites: interrupted; what was running has been ended.", file=sys.stderr)
        sys.exit(130)
