"""Runs an external program: each run is one sample, timed from outside, with processor accounts and the pace around it."""

import gzip
import os
import signal
import subprocess
import tempfile
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from resource import struct_rusage
from typing import Any, BinaryIO

from steelyard.applications.foreign import Description, prepare_case, processor_accounts, read
from steelyard.applications.foreign.benchmark import LEAST, Prepared, Unfit
from steelyard.applications.foreign.foreign_record import Run, make_failed_record, make_record
from steelyard.applications.foreign.linked_mpi import describe_other_mpi
from steelyard.applications.foreign.output import Said, Unmatched, tail
from steelyard.applications.foreign.output import read as read_output
from steelyard.applications.foreign.pace_readings import Looks, Reading
from steelyard.measure.launch import local
from steelyard.measure.launch.command_text import format_command
from steelyard.measure.launch.scheduler import launcher
from steelyard.measure.launch.start import job, variant_environment
from steelyard.model import Launch, Machine, Parameters, Site
from steelyard.model.plain import scalar
from steelyard.system import files, keeper, signals
from steelyard.system.starts import find_program, start_program

SCRATCH = "STEELYARD_SCRATCH"  # a folder that all hosts share, for ranks on several hosts
MOST_INPUT, MOST_OUTPUT, BLOCK = 1 << 30, 256 << 20, 1 << 20  # bytes of an input file, of the output, of one read
SPARED = 5.0  # seconds of a case's time that are reserved for the error message
# Parameters that only Steelyard's own kernels obey, and what each controls.
OWN_KERNELS_ONLY = {
    "placement": "places its threads",
    "pinning": "pins its threads",
    "start": "starts its processes",
    "page_size": "chooses its page size",
    "memory_policy": "places its memory",
}


@dataclass
class Application:
    """A `Conversation` with a program that Steelyard does not build. The program is started anew for every sample."""

    path: Path
    site: Site
    machine: Machine
    launch: Launch
    looking: Path | None = None  # kernel program that reads the pace between the runs
    description: Description = field(init=False)

    def __post_init__(self) -> None:
        self.description = read(self.path)

    def ask(self, line: str, seconds: float) -> dict[str, Any]:
        """Runs the case. Returns a record with the reason if the case cannot be run."""
        asked = {name: scalar(text) for name, _, text in (word.partition("=") for word in line.split())}
        case = self.launch.cases[int(asked["case"])]
        parameters = {k: v for k, v in case.parameters.items() if k != "plant"}
        plant = str(case.parameters.get("plant", "none"))
        began = time.monotonic()
        try:
            self._refuse(parameters, plant)
            ready = prepare_case(self.description, parameters, self.machine)
            command, environment = self._command(ready, parameters)
            return self._run_samples(asked, ready, command, environment, plant == "wrong", began + seconds - SPARED)
        except Unfit as reason:
            return make_failed_record(reason)

    def close(self) -> None:
        """Nothing is left: `ask` waits for each run, or ends it."""

    def _refuse(self, parameters: Parameters, plant: str) -> None:
        name = self.description.name
        if plant not in ("none", "wrong"):
            raise Unfit(
                "plant",
                f"plant='{plant}' cannot be used with the external program {name}. Use plant=wrong or plant=none.",
            )
        if refused := next((n for n in OWN_KERNELS_ONLY if n in parameters), None):
            raise Unfit(
                "parameter",
                f"{refused}={parameters[refused]} cannot be used: Steelyard does not control how {name} "
                f"{OWN_KERNELS_ONLY[refused]}. Remove --set {refused}.",
            )

    def _command(self, ready: Prepared, parameters: Parameters) -> tuple[list[str], dict[str, str]]:
        """Returns the command line and the environment. Unfit if the program is missing or uses another MPI library."""
        program = self._program(ready.command[0])
        base = local.environment(self.machine)
        threads = {"OMP_NUM_THREADS": str(parameters.get("threads", 1))}
        variables = {**threads, **ready.environment, **variant_environment(self.site, parameters)}
        if not self.description.parallel:
            return [program, *ready.command[1:]], {**base, **variables}
        asked = job(self.site, self.machine, parameters, Path(program))
        if wrong := describe_other_mpi(program, asked.mpi):
            raise Unfit("another MPI", wrong)
        # The ranks are not pinned: the system places them, as in the runs of the program's users.
        asked = replace(asked, cpus=(), environment=variables, folder=None)
        starter = launcher(self.site.launcher)
        return [*starter.argv(asked), *ready.command[1:]], {**starter.environment(asked, base), **variables}

    def _program(self, name: str) -> str:
        beside = self.path.parent / name
        path = str(beside) if "/" in name and os.access(beside, os.X_OK) else find_program(name)
        if path is None:
            package = self.description.package
            install = f"Install it (Debian: apt-get install {package})" if package else "Install it"
            raise Unfit(
                "missing program",
                f"The program '{name}', which {self.path.name} names, was not found. "
                f"{install}, or put its path into the key 'command'.",
            )
        return os.path.abspath(path)

    def _copy(self, name: str, target: Path) -> None:
        """Copies an input file into the run's folder. A relative path starts at the folder of the description."""
        try:
            with files.ordinary(self.path.parent / name) as kept, target.open("wb") as copy:
                source: BinaryIO = gzip.GzipFile(fileobj=kept) if name.endswith(".gz") else kept  # type: ignore[assignment]
                while block := source.read(BLOCK):
                    if copy.tell() + len(block) > MOST_INPUT:
                        raise Unfit(
                            "too much input",
                            f"The input '{name}' of {self.path.name} has more than {MOST_INPUT >> 20} MiB. Use a smaller file.",
                        )
                    copy.write(block)
        except (OSError, EOFError, zlib.error) as problem:
            package = f" (Debian: apt-get install {self.description.package})" if self.description.package else ""
            raise Unfit(
                "missing input",
                f"The input '{name}' of {self.path.name} cannot be read: {problem}. "
                f"Install the package that contains it{package}, or name another file in the key 'copies'.",
            ) from None

    def _run_samples(
        self,
        asked: Mapping[str, Any],
        ready: Prepared,
        command: list[str],
        environment: dict[str, str],
        spoiled: bool,
        end: float,
    ) -> dict[str, Any]:
        """Runs the program as often as the sampling asks."""
        pace = Looks(self.looking, self.machine)
        first = pace.read()
        before, spent = processor_accounts.read_accounts(), processor_accounts.measure_own_seconds()
        runs: list[Run] = []
        outputs: list[Said] = []
        paces: list[Reading] = []
        begin, start = time.time(), time.monotonic()
        while not _has_enough_runs(asked, len(runs), time.monotonic() - start):
            run = self._once(ready, command, environment, start, end)
            runs.append(run)
            outputs.append(self._read_output(run, command, environment, spoiled))
            paces.append(pace.read())
        account = processor_accounts.make_accounts(
            before,
            processor_accounts.read_accounts(),
            processor_accounts.measure_own_seconds() - spent,
            time.monotonic() - start,
            len(self.machine.cpus),
        )
        return make_record(
            self.description,
            runs,
            outputs,
            (first, paces),
            {"began": begin, "ended": begin + runs[-1].at + runs[-1].seconds, **account},
            ready.amounts,
        )

    def _read_output(self, run: Run, command: list[str], environment: Mapping[str, str], spoiled: bool) -> Said:
        """Reads the output. Unfit if the program failed or a pattern does not match."""
        words = f"\nThe command was:\n  {format_command(command, environment)}\n"
        words += f"The last lines of its output were:\n{tail(run.text)}"
        words += f"\nThe last lines of its error output were:\n{tail(run.errors)}" if run.errors.strip() else ""
        if run.code is None:
            raise Unfit(
                "time",
                f"{self.description.name} was stopped after {run.seconds:.1f} s: the time limit was reached.{words}",
            )
        signals.await_own(run.code)
        if run.code:
            raise Unfit("exit", f"{self.description.name} ended with exit code {run.code}.{words}")
        try:
            return read_output(self.description, run.text, spoiled)
        except Unmatched as mistake:
            raise Unfit("pattern", f"{mistake} (in {self.path.name}){words}") from None

    def _once(self, ready: Prepared, command: list[str], environment: dict[str, str], start: float, end: float) -> Run:
        """Starts the program in a fresh folder with its input, and waits for its end."""
        place = Path(os.environ.get(SCRATCH) or tempfile.gettempdir())
        with keeper.temporary_folder(place) as folder, keeper.start() as kept:
            for name, text in ready.files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text, encoding="utf-8")
            for name, path in self.description.copies.items():
                self._copy(path, folder / name)
            out, err = folder / ".steelyard-output", folder / ".steelyard-errors"
            with out.open("wb") as output, err.open("wb") as errors:
                begin = time.monotonic()
                code, usage = self._wait_for_end(
                    command, {**environment, **kept.environment}, folder, (output, errors), end, kept
                )
                seconds = time.monotonic() - begin
            chosen = folder / self.description.output if self.description.output else out
            text = ""
            if chosen.is_file():
                self._expect_readable(chosen.stat().st_size)
                text = chosen.read_text("utf-8", "replace")
            said = err.read_text("utf-8", "replace")
            return Run(
                at=begin - start,
                seconds=seconds,
                processor_seconds=processor_accounts.cpu_time(usage),
                faults=usage.ru_minflt,
                code=code,
                text=text,
                errors=said,
            )

    def _expect_readable(self, size: int) -> None:
        if size > MOST_OUTPUT:
            raise Unfit(
                "too much output",
                f"{self.description.name} writes more than {MOST_OUTPUT >> 20} MiB of output. Make it write less.",
            )

    def _wait_for_end(
        self, command: list[str], environment: dict[str, str], folder: Path, streams: tuple[Any, Any], end: float,
        kept: keeper.Kept,
    ) -> tuple[int | None, struct_rusage]:  # fmt: skip
        """Returns the exit code (None: stopped at the time limit) and the resources of the process and its children."""
        try:
            process = start_program(
                command,
                environment,
                of_user=True,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=streams[0],
                stderr=streams[1],
                start_new_session=True,
            )
            while True:
                number, status, usage = os.wait4(process.pid, os.WNOHANG)
                if number:
                    process.returncode = os.waitstatus_to_exitcode(status)
                    return process.returncode, usage
                if time.monotonic() > end:
                    kept.end()
                    _, _, usage = os.wait4(process.pid, 0)
                    process.returncode = -signal.SIGKILL
                    return None, usage
                self._expect_readable(max(os.fstat(stream.fileno()).st_size for stream in streams))
                time.sleep(0.002)
        except BaseException:  # for example a signal while the program starts: it must end before its folder is removed
            kept.end()
            raise


def _has_enough_runs(asked: Mapping[str, Any], runs: int, elapsed: float) -> bool:
    """Returns whether `runs` runs in `elapsed` seconds satisfy the sampling.

    As with Steelyard's kernels, a case ends after four times its seconds even with fewer than `least` runs. It needs the
    number of runs that shows whether they agree.
    """
    least, most, seconds = int(asked["least"]), int(asked["most"]), float(asked["seconds"])
    if runs < max(1, min(least, LEAST)):
        return False
    return elapsed >= 4 * seconds or (runs >= least and (runs >= most or elapsed >= seconds))
