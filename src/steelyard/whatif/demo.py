"""The demonstration: a trace that is recorded on this machine, and its scenario.

The program is the solver LU of the NAS Parallel Benchmarks: its ranks pass their borders on in a pipeline of small messages.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from steelyard.errors import MachineFailed, UsageError
from steelyard.measure import build
from steelyard.measure.launch import local, scheduler
from steelyard.measure.machine.rank_placement import place_ranks
from steelyard.measure.mpi import Job
from steelyard.measure.plan import catalogue
from steelyard.model import Machine, Tool
from steelyard.model.settings_file import SettingsFile, read_settings
from steelyard.whatif import tracing

BENCHMARK, KERNEL, SIZE = "application.npb_lu", "lu", "W"
MOST_RANKS = 8
# The program reads its case and the word that ends it from its input, since not every launcher passes on the end of the input.
# Its output goes to a file.
START = 'case=$1 found=$2; shift 2; printf "%s\\nend\\n" "$case" | "$@" > "$found" 2>&1'
LAST = 5  # lines of the output that are shown after a failure
SCENARIO = Path(__file__).with_name("demo.toml")
SOME_RANKS = "Lost packets at some ranks"


def make_scenario(ranks: int, settings: Sequence[str]) -> SettingsFile:
    """Returns the scenario of the demonstration. Its sections give way to the disturbances that `settings` name."""
    file = read_settings(SCENARIO, "The scenario")
    sections = file.content["scenario"]
    sections[SOME_RANKS]["affected"] = [number / ranks for number in range(1, ranks + 1)]
    if ranks == 2:  # each of two ranks has all messages
        del sections[SOME_RANKS]
    if any(re.match(r"\s*(loss|noise|core|tree)\b", setting) for setting in settings):
        del file.content["scenario"]
    return file


def choose_ranks(machine: Machine) -> int:
    """Returns the number of ranks: a power of two from 2 to 8 that fits the processors."""
    return 1 << (min(MOST_RANKS, max(2, len(machine.cpus))).bit_length() - 1)


def compile_program(machine: Machine, show: build.Show) -> None:
    """Compiles the program and the tracer if the cache lacks them, with the progress to `show`. UsageError without an MPI."""
    mpi = _choose_mpi(machine)
    _compile(machine, mpi, show)
    tracing.compile_tracer(machine, mpi, show)


def _choose_mpi(machine: Machine) -> Tool:
    mpi = build.default_mpi(machine)
    if mpi is None:
        raise UsageError(tracing.NO_MPI)
    return mpi


def trace(folder: Path, machine: Machine) -> tracing.Made:
    """Traces the program, and compiles it if necessary. UsageError without an MPI, MachineFailed if its result is wrong."""
    mpi = _choose_mpi(machine)
    tracing.expect_folder(folder)
    ranks, passed = choose_ranks(machine), dict.fromkeys(("LD_PRELOAD", tracing.FOLDER), "")
    job = Job(_compile(machine, mpi), ranks, mpi, cpus=place_ranks(machine, ranks, None, "compact"), environment=passed)
    starter, output = scheduler.launcher("mpiexec"), folder.with_name(folder.name + ".found")
    case = f"case=1 kernel={KERNEL} class={SIZE} model=mpi ranks={ranks} least=1 most=1"
    words = ["sh", "-c", START, "sh", case, str(output), *starter.argv(job)]
    try:
        environment = starter.environment(job, local.environment(machine))
        made = tracing.record(words, folder, machine, mpi, environment, of_user=False)
        _expect_right(output, made)
    finally:
        output.unlink(missing_ok=True)
    return made


def _compile(machine: Machine, mpi: Tool, show: build.Show = lambda progress: None) -> Path:
    benchmarks = {BENCHMARK: catalogue.find()[BENCHMARK]}
    programs = build.programs(benchmarks.values(), build.resolve(build.default(machine), machine), mpi)
    (program,) = (program for program in programs if program.name == build.program_name(BENCHMARK, "mpi"))
    build.make([program], show)
    return program.path


def _expect_right(output: Path, made: tracing.Made) -> None:
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    records = [json.loads(line) for line in lines if line.startswith('{"') and '"check"' in line]
    if made.code or not (records and records[0]["check"]["passed"]):
        printed = "\n".join(line for line in lines[-LAST:] if not line.startswith('{"'))
        raise MachineFailed(
            f"The traced program ended with exit code {made.code} and without a correct result. Its trace is in "
            f"'{made.folder}'. For the cause: steelyard run --only {BENCHMARK} --set model=mpi\n{printed}".rstrip()
        )
