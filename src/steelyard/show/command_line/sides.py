"""The sides that a user names for a comparison: runs, groups of runs, and published systems."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from glob import glob
from itertools import islice
from pathlib import Path
from time import monotonic

from steelyard.compare.published_side import find_side
from steelyard.compare.reduced_run import reduce_run
from steelyard.compare.run_names import Named, name_run, tell_apart
from steelyard.compare.side import Side, SideRun
from steelyard.errors import UsageError, nearest, one_line
from steelyard.measure import records
from steelyard.measure.published.system_library import suggest_system
from steelyard.show.command_line.evaluated_run import read
from steelyard.show.command_line.progress_line import Line

GROUP = "--group"
SLOW = 0.5  # seconds of reading after which a second process helps


def read_sides(
    names: Sequence[str],
    groups: Sequence[str],
    runs: Path,
    paths: Sequence[Path],
    read_as: Callable[[Path, int], SideRun] | None = None,
) -> tuple[Side, ...]:
    """Returns the sides in the order of their names, then the groups ("old=runs/2025*"). UsageError for an unknown one.

    `read_as` reads the run in a folder for the side of that number (None: as `read_side_run` does).
    """
    named = [UnreadSide(name, find_named(name, runs)) for name in names] + [_find_group(text, runs) for text in groups]
    expect_apart(named)
    reads = [
        partial(read_as, folder, number) if read_as else partial(read_side_run, folder, paths)
        for number, one in enumerate(named)
        for folder in one.folders
    ]
    members = iter(_read_all(reads))
    sides = [one.make(tuple(islice(members, len(one.folders)))) for one in named]
    different = tell_apart([_name(side) for side in sides])
    _expect_once(different)
    return tuple(replace(side, name=name) for side, name in zip(sides, different, strict=True))


@dataclass(frozen=True)
class UnreadSide:
    """A side whose runs are not read yet: the folder of a run, those of a group, or a published system."""

    name: str
    found: Path | Sequence[Path] | Side

    @property
    def folders(self) -> Sequence[Path]:
        if isinstance(self.found, Side):
            return ()
        return (self.found,) if isinstance(self.found, Path) else self.found

    @property
    def identity(self) -> str:
        """What no other side may have: the path of a run, or the name of a system or group."""
        if isinstance(self.found, Path):
            return str(self.found.resolve())
        return self.found.name if isinstance(self.found, Side) else self.name

    def make(self, members: tuple[SideRun, ...]) -> Side:
        """Returns the side with its runs. UsageError for a group of imported and other runs."""
        if isinstance(self.found, Side):
            return self.found
        imported = [run.run for run in members if run.imported]
        if isinstance(self.found, Path):
            return Side(name=members[0].run, kind="imported" if imported else "run", runs=members)
        if imported and len(imported) < len(members):
            raise UsageError(
                f"The group '{self.name}' has imported runs ({', '.join(imported)}) and runs that Steelyard measured. "
                "Give each kind a group of its own."
            )
        return Side(name=self.name, kind="imported" if imported else "group", runs=members)


def _read_all(reads: Sequence[Callable[[], SideRun]]) -> list[SideRun]:
    """Reads the runs in their order, with progress."""
    done: list[SideRun] = []
    began = monotonic()
    with Line(quiet=False) as line:
        for number, read in enumerate(reads):
            words = f"Reading run {number + 1} of {len(reads)}"
            seconds = monotonic() - began
            if number == 0 or seconds < SLOW:
                line.begin(words)
            else:
                line.show(words, seconds / number * (len(reads) - number))
            done.append(read())
    return done


def read_side_run(path: Path, paths: Sequence[Path]) -> SideRun:
    """Returns a run as a side of a comparison. SteelyardError."""
    return reduce_run(read(path, paths))


def _name(side: Side) -> Named:
    run = side.runs[0]
    host = run.machine.host if run.machine else ""
    return name_run(side.name, host, run.path) if side.kind in ("run", "imported") else Named(*[side.name] * 3)


def name_baseline(sides: Sequence[Side], typed: Sequence[str], baseline: str | None) -> str | None:
    """Returns the name of the side that the user typed as the baseline, such as the path of a run; else the baseline as given."""
    return sides[typed.index(baseline)].name if baseline in typed else baseline


def put_first(sides: Sequence[Side], typed: Sequence[str], baseline: str | None) -> tuple[Side, ...]:
    """Returns the sides with the baseline first, else in their order. UsageError if no side has that name."""
    baseline = name_baseline(sides, typed, baseline)
    if baseline is None:
        return tuple(sides)
    names = [side.name for side in sides]
    exact = [side for side in sides if side.name == baseline]
    within = [side for side in sides if baseline.casefold() in side.name.casefold()]
    chosen = exact or (within if len(within) == 1 else [])
    if not chosen:
        raise UsageError(
            f"The baseline '{baseline}' (given by --baseline) is none of the sides. {nearest(baseline, names)}"
        )
    return (chosen[0], *(side for side in sides if side is not chosen[0]))


def expect_apart(named: Sequence[UnreadSide]) -> None:
    """Raises UsageError for a side that is given twice, and for a run on two sides: they would seem to be equal."""
    _expect_once(one.identity for one in named)
    owners: dict[Path, str] = {}
    for one in named:
        for path in (folder.resolve() for folder in one.folders):
            if path in owners:
                raise UsageError(
                    f"The run '{path.name}' is in '{owners[path]}' and in '{one.name}'. Give each run only once."
                )
            owners[path] = one.name


def _expect_once(names: Iterable[str]) -> None:
    if twice := [name for name, number in Counter(names).items() if number > 1]:
        raise UsageError(
            f"'{twice[0]}' is given twice. Give each run and each system only once, and each group another name."
        )


def find_named(name: str, runs: Path) -> Path | Side:
    """Returns the folder of the run of that name, or else the published system. UsageError if there is neither."""
    try:
        return records.find(runs, name)
    except UsageError as error:
        if side := find_side(name):
            return side
        raise UsageError(f"{error} There is no published system of that name, either. {suggest_system(name)}") from None


def _find_group(text: str, runs: Path) -> UnreadSide:
    name, equals, pattern = text.partition("=")
    if not (name and equals and pattern):
        raise UsageError(
            f"{GROUP} '{text}' is not NAME=RUNS. Give a name and a pattern, such as: {GROUP} old='runs/2025*'"
        )
    folders = sorted(_folders(pattern.split(","), runs))
    if not folders:
        raise UsageError(
            f"The group '{name}' is empty: no run matches '{pattern}'. "
            f"List the runs with: steelyard list --runs {one_line(str(runs))}"
        )
    return UnreadSide(name, folders)


def _folders(patterns: Iterable[str], runs: Path) -> set[Path]:
    """Returns the folders of the runs that match a pattern, as a path or within the folder of runs."""
    matched: set[Path] = set()
    for pattern in patterns:
        for one in (*glob(pattern), *glob(str(runs / pattern))):
            path = Path(one)
            if (path / "run.json").is_file():
                matched.add(path.resolve())
    return matched
