"""Finds on this machine the tools of an earlier run. Another user may have made the run, so its names are only data.

A compiler, an MPI or a launcher is used only if this machine has it. Compiler flags, paths of MPIs, words for the launcher and
variants can start any program: they are used if their form is known to be safe, if this user has measured with them, or with
--trust.
"""

import contextlib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.measure import build
from steelyard.measure.build.flags import list_unsafe
from steelyard.measure.launch import scheduler
from steelyard.measure.launch.hosts import HOST
from steelyard.measure.machine.tools import ask_mpi
from steelyard.measure.plan import catalogue, variants
from steelyard.measure.records import remembered
from steelyard.measure.run.setup import Setup
from steelyard.model import UNCHANGED, Machine, Run, Site, Tool, Toolchain, Variant
from steelyard.system.answers import Hangs
from steelyard.system.files import is_file


def again(run: Run, paths: Sequence[Path], here: Machine, trusted: bool) -> Setup:
    """The setup for the plan of an earlier run.

    UsageError if a tool is missing, or if it could start a foreign program and is not `trusted`.
    """
    changes = _variants(run, trusted)
    toolchains = _toolchains(run, here, trusted)
    if bad := [host.name for host in run.machine.hosts if not re.fullmatch(HOST, host.name)]:
        raise UsageError(
            f"The run {run.path} names the host {bad[0]!r}, which is not a valid host name. Start a new run."
        )
    words = run.site.extra
    if words and not (trusted or remembered.used("launcher", shlex.join(words))):
        raise _refuse_program(run, f"the launcher options '{shlex.join(words)}'")
    site = Site(_mpis(run, here, trusted), scheduler.launcher(run.site.launcher).name, words, changes)
    benchmarks = catalogue.find(remembered.folders(run, paths))
    if lost := [n for n in run.plan.benchmarks() if n not in benchmarks]:
        raise UsageError(
            f"The run {run.path} measured the benchmark '{lost[0]}', which Steelyard does not find now. Name the folder of "
            "this benchmark with --path."
        )
    for launch in run.plan.launches:
        able = {s.parallel for s in benchmarks[launch.benchmark].sources if s.model == launch.model}
        if not {"mpi" in case.parameters for case in launch.cases} <= able:
            raise UsageError(
                f"The run {run.path} has cases of '{launch.benchmark}' in the programming model {launch.model!r}, which this "
                "Steelyard does not have. Start a new run."
            )
    return Setup(here, toolchains, site, benchmarks).of(run.plan)


def _toolchains(run: Run, here: Machine, trusted: bool) -> dict[str, Toolchain]:
    """Returns the tools of the plan by their names in it."""
    toolchains: dict[str, Toolchain] = {}
    for then in run.toolchains.values():
        named = trusted or remembered.used("compiler", then.compiler)
        with contextlib.suppress(UsageError):  # a missing compiler is reported below
            word = shlex.quote(then.compiler) if is_file(Path(then.compiler)) else then.compiler
            toolchain = build.resolve(word if then.flags == build.FLAGS else f"{word} {then.flags}", here, named)
            toolchains[toolchain.name] = toolchain
    names = sorted({launch.toolchain for launch in run.plan.launches})
    if missing := [n for n in names if n not in toolchains]:
        raise _refuse_missing_compiler(run, missing[0], toolchains, trusted)
    for name in names:
        flags = toolchains[name].flags
        if (bad := list_unsafe(flags)) and not (trusted or remembered.used("flags", flags)):
            raise _refuse_program(run, f"the compiler flag '{bad[0]}'")
        earlier = run.toolchains.get(name)
        if earlier and earlier.flags != flags:
            raise UsageError(
                f"The programs of the run {run.path} were compiled with the flags '{earlier.flags}'. On this machine they "
                f"would now be compiled with '{flags}'. Start a new run."
            )
    return {n: toolchains[n] for n in names}


def _variants(run: Run, trusted: bool) -> tuple[Variant, ...]:
    """Returns the variants of the run, whose variables and options can start any program."""
    for variant in run.site.variants:
        variants.expect_valid(variant)
        if not (trusted or remembered.used("variant", variants.spell(variant))):
            raise _refuse_program(run, f"the variant '{variants.spell(variant)}'")
    for case in (case for launch in run.plan.launches for case in launch.cases):
        name = case.parameters.get("variant", UNCHANGED)
        if name != UNCHANGED and variants.find(run.site.variants, case.parameters) is None:
            raise UsageError(
                f"The run {run.path} has cases with the variant '{name}', which it does not define. Start a new run."
            )
    return run.site.variants


def _refuse_missing_compiler(run: Run, name: str, toolchains: Mapping[str, Toolchain], trusted: bool) -> UsageError:
    then = run.toolchains.get(name)
    path = Path(then.compiler) if then else Path()
    if path.is_absolute() and is_file(path) and not (trusted or remembered.used("compiler", str(path))):
        return _refuse_program(run, f"the compiler '{path}', which Steelyard does not find by itself")
    return UsageError(
        f"The programs of the run {run.path} were compiled with {name}, which this machine does not have now. From this run, "
        f"it has: {', '.join(toolchains) or 'no compiler'}. Start a new run."
    )


def _mpis(run: Run, here: Machine, trusted: bool) -> dict[str, Tool]:
    """Returns the MPIs of the plan by their names in it."""
    names = {str(c.parameters["mpi"]) for x in run.plan.launches for c in x.cases if "mpi" in c.parameters}
    return {name: _mpi(run, name, here, trusted) for name in sorted(names)}


def _mpi(run: Run, name: str, here: Machine, trusted: bool) -> Tool:
    then = run.site.mpis.get(name)
    path = then.path if then else ""
    detected = [mpi for mpi in here.mpis if build.mpi_name(mpi) == name]
    if detected:
        return next((mpi for mpi in detected if mpi.path == path), detected[0])
    if Path(path).is_absolute() and Path(path).exists():
        if not (trusted or remembered.used("mpi", path)):
            raise _refuse_program(run, f"the MPI '{path}', which Steelyard does not find by itself")
        try:
            candidate = ask_mpi(path)
        except Hangs:
            candidate = None
        if candidate and build.mpi_name(candidate) == name:
            return candidate
    raise UsageError(
        f"The run {run.path} was measured with the MPI {name} ({path or 'without a path'}), which this machine does not have "
        f"now. It has: {', '.join(map(build.mpi_name, here.mpis)) or 'no MPI'}. Load or install that MPI again, or start a "
        "new run."
    )


def _refuse_program(run: Run, what: str) -> UsageError:
    return UsageError(
        f"The run {run.path} uses {what}. This can start any program, and you have never measured with it. If you trust the "
        "person who made the run, repeat the command with --trust."
    )
