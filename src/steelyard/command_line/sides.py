"""The sides that a user names for a comparison: runs, groups of runs, and published systems."""

from collections.abc import Callable, Iterable, Sequence
from glob import glob
from pathlib import Path

from steelyard import records
from steelyard.command_line.stored_runs import find_side_run
from steelyard.compare.published_side import find_side
from steelyard.compare.side import Side, SideRun
from steelyard.errors import UsageError, nearest, spelled
from steelyard.published.system_library import suggest_system

GROUP = "--group"
Read = Callable[[Path], SideRun]


def read_sides(
    names: Sequence[str],
    groups: Sequence[str],
    runs: Path,
    paths: Sequence[Path],
    read: Callable[[Path, int], SideRun] | None = None,
) -> tuple[Side, ...]:
    """Returns the sides in the order of their names, then the groups ("old=runs/2025*"). UsageError for an unknown one.

    `read` reads the run in a folder for the side of that number (None: from the user's cache if it was reduced before).
    """

    def of(number: int) -> Read:
        return (lambda path: read(path, number)) if read else (lambda path: find_side_run(path, paths))

    sides = [_side(name, runs, of(n)) for n, name in enumerate(names)]
    sides += [_group(text, runs, of(n)) for n, text in enumerate(groups, len(names))]
    twice = [s.name for i, s in enumerate(sides) if s.name in {other.name for other in sides[:i]}]
    if twice:
        raise UsageError(f"The side '{twice[0]}' is given twice. Give each run once, and each group a name of its own.")
    _expect_apart(sides)
    return tuple(sides)


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


def _expect_apart(sides: Sequence[Side]) -> None:
    """Refuses a run on two sides: their difference would look smaller than it is."""
    owners: dict[Path, str] = {}
    for side in sides:
        for path in (Path(run.path).resolve() for run in side.runs if side.kind != "published"):
            if path in owners:
                raise UsageError(
                    f"The run '{path.name}' is on two sides, '{owners[path]}' and '{side.name}'. Give each run once."
                )
            owners[path] = side.name


def find_named(name: str, runs: Path) -> Path | Side:
    """Returns the folder of the run of that name, or else the published system. UsageError if there is neither."""
    try:
        return records.find(runs, name)
    except UsageError as error:
        if side := find_side(name):
            return side
        raise unknown_side(name, error) from None


def _side(name: str, runs: Path, read: Read) -> Side:
    named = find_named(name, runs)
    if isinstance(named, Side):
        return named
    run = read(named)
    return Side(name=run.run, kind="imported" if run.imported else "run", runs=(run,))


def unknown_side(name: str, error: UsageError) -> UsageError:
    """Returns the error for a name that is neither a run, as `error` says, nor a published system."""
    return UsageError(f"{error} There is no published system of that name, either. {suggest_system(name)}")


def _group(text: str, runs: Path, read: Read) -> Side:
    name, equals, pattern = text.partition("=")
    if not (name and equals and pattern):
        raise UsageError(
            f"{GROUP} '{text}' is not NAME=RUNS. Give a name and a pattern, such as: {GROUP} old='runs/2025*'"
        )
    folders = sorted(_folders(pattern.split(","), runs))
    if not folders:
        raise UsageError(
            f"The group '{name}' is empty: no run matches '{pattern}'. "
            f"List the runs with: steelyard list --runs {spelled(str(runs))}"
        )
    members = tuple(map(read, folders))
    imported = [run.run for run in members if run.imported]
    if imported and len(imported) < len(members):
        raise UsageError(
            f"The group '{name}' has imported runs ({', '.join(imported)}) and runs that Steelyard measured. "
            "Give each kind a group of its own."
        )
    return Side(name=name, kind="imported" if imported else "group", runs=members)


def _folders(patterns: Iterable[str], runs: Path) -> set[Path]:
    """Returns the folders of the runs that match a pattern, as a path or within the folder of runs."""
    matched: set[Path] = set()
    for pattern in patterns:
        for one in (*glob(pattern), *glob(str(runs / pattern))):
            path = Path(one)
            if (path / "run.json").is_file():
                matched.add(path.resolve())
    return matched
