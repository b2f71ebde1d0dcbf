"""What the commands do: from the words of a user to a plan, a run, and its report."""

import contextlib
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard import (
    __version__,
    build,
    catalogue,
    evaluation,
    files,
    forms,
    numbers,
    records,
    refusal,
    remembered,
    second,
    shown,
    site,
)
from steelyard import plan as planning
from steelyard import quiet as looks
from steelyard.errors import UsageError, nearest
from steelyard.launch import scheduler
from steelyard.model import Benchmark, Effort, Evaluation, Machine, Plan, Run, Scalar, Shown, Site, Toolchain
from steelyard.plain import to_plain
from steelyard.progress import BuildDisplay, Display
from steelyard.run import Evaluator, built_with
from steelyard.second import Patience
from steelyard.shown import Best

PHRASES = ("placement", "transport")  # parameters whose values may have spaces: the launcher's, not the program's


Settings = Mapping[str, Sequence[Scalar]]
Shape = Callable[[Mapping[str, Benchmark], Machine, Effort, Settings], tuple[Mapping[str, Benchmark], Settings]]


@dataclass(frozen=True)
class Asked:
    """What a user asked for, in his own words."""

    preset: str
    only: Sequence[str]
    settings: Sequence[str]
    toolchains: Sequence[str]
    budget: str | None
    system: str | None
    seed: int
    paths: Sequence[Path]
    mpis: Sequence[str] = ()
    hosts: str | None = None
    launcher: str | None = None
    launcher_words: Sequence[str] = ()
    wait: str | None = None
    shape: Shape | None = None  # what else is done to the chosen benchmarks and the settings


def machine(system: str | None) -> Machine:
    """This machine; with a system file's own words where one is named."""
    from steelyard.machine import describe
    from steelyard.machine.system_file import find_system

    return describe(system_file=find_system(system) if system else None)


Planned = tuple[Plan, Machine, dict[str, Toolchain], Site, dict[str, Benchmark]]


def plan(asked: Asked) -> Planned:
    """The plan, for which machine, the toolchains by name, how ranks are started, and the benchmarks with the programs to build.

    UsageError for what cannot be.
    """
    here = machine(asked.system)
    here = replace(here, hosts=site.hosts(asked.hosts))
    found = site.site(asked.mpis, asked.launcher, asked.launcher_words, here)
    chosen: Mapping[str, Benchmark] = site.possible(
        catalogue.choose(catalogue.find(asked.paths), asked.only), found, asked.only
    )
    preset = effort(asked.preset)
    toolchains = _toolchains(asked.toolchains, here)
    budget = numbers.length_of_time(asked.budget, "--budget") if asked.budget else None
    if asked.wait:
        numbers.length_of_time(asked.wait, "--wait")  # refused before anything is built
    wanted: Settings = settings(asked.settings)
    if asked.shape:
        chosen, wanted = asked.shape(chosen, here, preset, wanted)
    made = planning.make(
        chosen,
        here,
        preset,
        wanted,
        list(toolchains),
        budget,
        asked.seed,
        list(found.mpis),
    )
    for warning in refusal.warnings(made, here):
        print(f"steelyard: {warning}", file=sys.stderr)
    return made, here, toolchains, found, planning.needed(chosen, made)


def effort(preset: str) -> Effort:
    """That of a preset. UsageError for a name that is none."""
    if preset not in planning.EFFORTS:
        raise UsageError(f"There is no preset '{preset}' (given by --preset). {nearest(preset, planning.EFFORTS)}")
    return planning.EFFORTS[preset]


def settings(words: Sequence[str]) -> dict[str, list[Scalar]]:
    """'threads=1,2,4' → {'threads': [1, 2, 4]}. A list of processors (pinning=0,2) is one value; ';' separates several."""
    found: dict[str, list[Scalar]] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name or not text:
            raise UsageError(f"'{word}' (given by --set) must be NAME=VALUE[,VALUE…], as in --set threads=1,2,4")
        one = ";" in text or (name == "pinning" and re.fullmatch(r"[\d,-]+", text))
        values = [v for v in (text.split(";") if one else text.split(",")) if v]
        if not values or (name not in PHRASES and any(re.search(r"\s", v) for v in values)):
            raise UsageError(f"'{word}' (given by --set) has an empty value or one with a space in it")
        found.setdefault(name, []).extend(numbers.setting(name, v) for v in values)
    return found


def _toolchains(names: Sequence[str], here: Machine) -> dict[str, Toolchain]:
    found = [build.resolve(text, here) for text in (names or [build.default(here)])]
    return {toolchain.name: toolchain for toolchain in found}


def build_all(
    here: Machine,
    only: Sequence[str],
    names: Sequence[str],
    paths: Sequence[Path],
    mpis: Sequence[str] = (),
    quiet: bool = True,
) -> dict[tuple[str, str], Path]:
    """The programs of the chosen benchmarks with each toolchain."""
    found = site.site(mpis, None, (), here)
    chosen = site.possible(catalogue.choose(catalogue.find(paths), only), found, only)
    return _build(chosen, _toolchains(names, here), found, quiet)


def _build(
    chosen: Mapping[str, Benchmark], toolchains: Mapping[str, Toolchain], found: Site, quiet: bool
) -> dict[tuple[str, str], Path]:
    """The programs as the evaluator looks for them: (name, toolchain), the parallel ones with their MPI."""
    wanted = {}
    for t in toolchains.values():
        wanted.update({(p.name, t.name): p for p in build.programs(chosen.values(), t)})
        for label, mpi in found.mpis.items():
            with_it = build.programs(chosen.values(), t, mpi)
            wanted.update({(p.name, built_with(t.name, {"mpi": label})): p for p in with_it})
    with BuildDisplay(", ".join(toolchains), quiet) as display:
        build.make(list(wanted.values()), display.show)
    return {name: program.path for name, program in wanted.items()}


def start(asked: Asked, runs: Path, quiet: bool) -> Path:
    """A new run, carried out. Returns its folder; Ctrl-C leaves one that can be resumed."""
    made, here, toolchains, found, chosen = plan(asked)
    files.expect_folder(runs, "The run folder")  # first: where nothing can be written, nothing need be built
    programs = _build(chosen, toolchains, found, quiet)
    best, within = shown.load(here), scheduler.inside()
    about = {
        "shown": to_plain(best),
        "versions": {"steelyard": __version__, "python": platform.python_version(), "kernel": platform.release()},
        "toolchains": to_plain(toolchains),
        "site": to_plain(found),
        "job": f"{within[0].name} {within[1].job}" if within else None,
        "command": ["steelyard", *sys.argv[1:]],
        "budget": numbers.length_of_time(asked.budget, "--budget") if asked.budget else None,
        "paths": [str(p.resolve()) for p in asked.paths],
    }
    _look(asked, made, here, programs, best, quiet)
    folder = records.RunFolder.create(runs, here, made, about)
    evaluator = Evaluator(
        here,
        made,
        programs,
        folder,
        budget=about["budget"],
        site=found,
        best=Best(best.best),
        patience=Patience(),
    )
    return _carry_out(folder, evaluator, quiet)


def _look(
    asked: Asked, made: Plan, here: Machine, programs: Mapping[tuple[str, str], Path], best: Shown, quiet: bool
) -> None:
    """Says how quiet the machine is, where it is not; waits for it as long as the user asked for."""
    toolchain = made.launches[0].toolchain
    of_threads = [path for (_, built), path in programs.items() if built == toolchain]
    program = (
        of_threads[0] if of_threads else next(iter(build_all(here, ["memory.stream"], asked.toolchains, ()).values()))
    )
    wait = numbers.length_of_time(asked.wait, "--wait") if asked.wait else 0.0
    say = (lambda words: None) if quiet else looks.tell
    usual, restless = (second.length(made, restless) for restless in (False, True))
    looks.prepare(looks.looking(program, here, toolchain, best), wait, usual, restless, say)


def go_on(path: Path, paths: Sequence[Path], quiet: bool) -> Path:
    """The rest of a run that was interrupted."""
    run = records.read(path)
    if run.in_turn:
        raise UsageError(
            f"The run {path} was measured in turn with another: what is missing, measured alone, would be out of turn. "
            "Compare the two as far as they are, or measure both again with: steelyard compare --in-turn"
        )
    done = finished_cases(run)
    folder = records.RunFolder(path)  # first: where nothing can be written, nothing need be built
    try:
        programs, _, found = again(path, run, paths, machine(None), quiet)
    except BaseException:
        folder.close()
        raise
    if not quiet:
        print(
            f"Going on with {path}: {len(done)} of {sum(len(x.cases) for x in run.plan.launches)} cases are done.",
            file=sys.stderr,
        )
    evaluator = Evaluator(
        run.machine,
        run.plan,
        programs,
        folder,
        done,
        site=found,
        best=Best(run.shown.best),
        patience=Patience(),
        earlier=run.records,
    )
    return _carry_out(folder, evaluator, quiet)


def again(
    path: Path, run: Run, paths: Sequence[Path], here: Machine, quiet: bool
) -> tuple[dict[tuple[str, str], Path], dict[str, Toolchain], Site]:
    """What carries out the plan of an earlier run: its programs, built where they are not kept, its toolchains and its site.

    UsageError where a toolchain or a benchmark of it is gone.
    """
    names = sorted({launch.toolchain for launch in run.plan.launches})
    known: dict[str, Toolchain] = {}
    for words in remembered.commands(run):
        with contextlib.suppress(UsageError):  # a compiler that is gone is named below, with the run that needs it
            toolchain = build.resolve(words, here)
            known[toolchain.name] = toolchain
    if missing := [n for n in names if n not in known]:
        raise UsageError(
            f"The run {path} was built with {missing[0]}, which is not on this machine any more "
            f"(now: {', '.join(known) or 'none of its compilers'}). Start a new run."
        )
    chosen = planning.needed(catalogue.find(remembered.folders(run, paths)), run.plan)
    if lost := [n for n in evaluation.benchmarks_of(run) if n not in chosen]:
        raise UsageError(
            f"The run {path} has the benchmark '{lost[0]}', which is not found now; name its folder with --path."
        )
    toolchains = {n: known[n] for n in names}
    return _build(chosen, toolchains, run.site, quiet), toolchains, run.site


def finished_cases(run: Run) -> set[tuple[int, int]]:
    """(launch, case) of every record: what `resume` need not measure again."""
    return {(r.launch, r.case) for r in run.records}


def _carry_out(folder: records.RunFolder, evaluator: Evaluator, quiet: bool) -> Path:
    try:
        with Display(quiet) as display:
            evaluator.show = display.show
            notes = evaluator.run()
        shown.save(evaluator.machine, evaluator.best)
        folder.finish({"notes": notes, "seconds": evaluator.seconds, "repeating_seconds": evaluator.waiting})
        for note in notes:
            print(f"steelyard: {note}", file=sys.stderr)
    except KeyboardInterrupt:
        print(
            f"\nInterrupted; every finished case is kept in {folder.path}\n"
            f"Go on with:   steelyard resume {folder.path}\nSee it with:  steelyard show {folder.path}",
            file=sys.stderr,
        )
        raise
    finally:
        folder.close()
    return folder.path


def conclude(path: Path, paths: Sequence[Path], report: Path | None, form: forms.Form = "screen") -> None:
    """Shows a run's findings, writes its report, names it last, and ends with the exit code that the run deserves."""
    judged = _read(path, paths)
    where = _write(judged, report)  # first: whoever reads the rest may stop reading (| head)
    forms.show(judged, form, where)
    if form != "screen":
        print(f"\nThe report: {where}", file=sys.stdout if form == "all" else sys.stderr)
    if code := exit_code(judged):
        sys.exit(code)


def exit_code(judged: Evaluation) -> int:
    """3 where a result was wrong, 4 where a case could not be run, 1 for a serious finding, else 0."""
    last = [r for result in judged.results for r in result.records]
    if any(r.error is None and not r.check.passed for r in last):
        return 3
    if any(r.error for r in last):
        return 4
    return 1 if any(f.level == "serious" for f in judged.findings) else 0


def present(path: Path, paths: Sequence[Path], form: forms.Form = "screen") -> None:
    """A run's findings and figures on the terminal, or NPB's own blocks."""
    written = path / "report.html"
    forms.show(_read(path, paths), form, written if written.is_file() else None)


def write_report(path: Path, paths: Sequence[Path], output: Path | None, against: Path | None = None) -> Path:
    """The HTML report of a run, with its kernels of the node against those of another run; returns where it is."""
    return _write(_read(path, paths), output, _read(against, paths) if against else None)


def _read(path: Path, paths: Sequence[Path]) -> Evaluation:
    return evaluation.evaluate(path, paths)


def _write(judged: Evaluation, output: Path | None, base: Evaluation | None = None) -> Path:
    from steelyard import report

    return report.write(judged, output or Path(judged.run.path) / "report.html", base)
