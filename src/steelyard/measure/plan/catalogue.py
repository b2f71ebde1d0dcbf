"""Finds the benchmarks: in this package, under `--path`, and behind the entry point `steelyard.benchmarks`."""

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from steelyard import doors
from steelyard.doors import Part
from steelyard.errors import UsageError, nearest
from steelyard.measure.benchmarks import texts
from steelyard.model import Benchmark, Effort, Machine, Scalar, Source
from steelyard.system.files import is_folder


def listed(paths: Iterable[Path] = ()) -> list[texts.Listed]:
    """Returns the benchmarks that `find` returns, with the same errors. Reads the texts of Steelyard's own without importing."""
    entries = texts.list_own()
    for name, b in _load_outside(paths).items():
        new = texts.Listed(name, b.title, b.summary, tuple(s.path for s in b.sources))
        _expect_one(name, (entries.get(name) or new).programs, new.programs)
        entries[name] = new
    return [entries[name] for name in sorted(entries)]


def find(paths: Iterable[Path] = ()) -> dict[str, Benchmark]:
    """Returns all benchmarks by name, sorted. UsageError if a path has none, or a declaration is incomplete."""
    ours = [b for package in doors.inside("benchmarks").items() for b in _load_package(*package, False)]
    sites = [b for package in doors.installed("benchmarks").items() for b in _load_package(*package, True)]
    benchmarks = {b.name: b for b in (*ours, *sites)}
    _add(benchmarks, _load_outside(paths))
    return dict(sorted(benchmarks.items()))


@cache
def _load_package(package: str, folder: Path, site: bool) -> list[Benchmark]:
    """Returns the benchmarks of a package; of a site's without those that fail."""
    declare: Callable[[Part], Benchmark | None] = partial(doors.attempt, _declare) if site else _declare
    parts = (Part("benchmark", p, f"{package}.{texts.name_of(p)}") for p in texts.declarations(folder))
    return [b for part in parts if (b := declare(part))]


@cache
def _load_entry_points() -> dict[str, Benchmark]:
    benchmarks: dict[str, Benchmark] = {}
    for point in importlib.metadata.entry_points(group="steelyard.benchmarks"):
        module = point.load()
        _add(benchmarks, _foreign(Path(str(module.__file__)).parent))
    return benchmarks


def _load_outside(paths: Iterable[Path]) -> dict[str, Benchmark]:
    """Returns the benchmarks behind the entry point and in `paths`."""
    benchmarks = dict(_load_entry_points())
    for path in paths:
        if runner := doors.program_runner(path):
            described = runner.benchmark_of(path)
            _add(benchmarks, {described.name: described})
            continue
        foreign = _foreign(path)
        if not foreign:
            raise UsageError(
                f"The folder '{path}' (given by --path) contains no benchmark. A benchmark is the file <group>/<name>.py "
                "beside <group>/<name>.cpp, or a folder <group>/<name> with __init__.py and one .cpp for each programming model."
            )
        _add(benchmarks, foreign)
    return benchmarks


def _add(benchmarks: dict[str, Benchmark], more: Mapping[str, Benchmark]) -> None:
    """Adds benchmarks. UsageError if two have the same name, since records would not show which one was measured."""
    for name, benchmark in more.items():
        _expect_one(name, *([s.path for s in b.sources] for b in (benchmarks.get(name, benchmark), benchmark)))
        benchmarks[name] = benchmark


def _expect_one(name: str, earlier_paths: Iterable[str], later_paths: Iterable[str]) -> None:
    earlier, later = (
        list(dict.fromkeys(Path(path).resolve() for path in paths)) for paths in (earlier_paths, later_paths)
    )
    if earlier != later:
        raise UsageError(
            f"There are two benchmarks '{name}': {earlier[0]} and {later[0]}. Rename the file of one of them."
        )


def choose(
    catalogue: dict[str, Benchmark], only: Iterable[str], given: str = " (given by --only)"
) -> dict[str, Benchmark]:
    """Returns the benchmarks named by `only` ("memory.stream", or a whole group "memory"); all if it is empty.

    UsageError for an unknown name; `given` says where the name comes from.
    """
    names: set[str] = set()
    for wanted in only:
        matching = {name for name in catalogue if name == wanted or name.startswith(wanted + ".")}
        if not matching:
            raise UsageError(f"There is no benchmark '{wanted}'{given}. {nearest(wanted, catalogue)}")
        names |= matching
    return {name: b for name, b in catalogue.items() if not names or name in names}


def parameter_values(benchmark: Benchmark, machine: Machine, effort: Effort) -> dict[str, tuple[Scalar, ...]]:
    """Returns the values of each parameter in the order of the benchmark's axes, with parameters that only --set can use."""
    values: dict[str, dict[Scalar, None]] = {}
    for block in benchmark.axes(machine, effort):
        for name in (*block.values, *block.further):
            values.setdefault(name, {}).update(dict.fromkeys(block.values.get(name, ())))
    return {name: tuple(axis) for name, axis in values.items()}


def _foreign(root: Path) -> dict[str, Benchmark]:
    if not is_folder(root):
        raise UsageError(f"'{root}' (given by --path) is not a folder.")
    declarations = (
        texts.declarations(root)
        or [p for p in sorted(root.glob("*.py")) if p.with_suffix(".cpp").exists()]
        or texts.folders(root.glob("*/__init__.py"))
    )
    return {b.name: b for b in map(_load, declarations)}


def _load(path: Path) -> Benchmark:
    try:
        return _declare(Part("benchmark", path))
    except doors.PartFailed as failure:  # the user has named it
        raise UsageError(str(failure)) from failure


def _declare(part: Part) -> Benchmark:
    module, path = doors.load(part), part.file
    title, summary, sections = texts.read_docstring(module.__doc__ or "", path)
    return Benchmark(
        name=texts.name_of(path),
        title=title,
        summary=summary,
        reading=sections["Reading"],
        caution=sections["Caution"],
        source=sections["Source"],
        sources=_sources(module, path),
        axes=module.axes,
        metrics=tuple(module.metrics),
        limit=getattr(module, "limit", None),
        figures=module.figures,
        roles=tuple(getattr(module, "roles", ())),
        demands=getattr(module, "demands", {}),
        unread=tuple(getattr(module, "unread", ())),
    )


def _sources(module: ModuleType, path: Path) -> tuple[Source, ...]:
    """Returns the source beside a declaration, or all sources of its folder; then `parallel` lists the parallel models.

    If a declaration has `openmp`, its source for threads makes a second program that uses the compiler's OpenMP runtime.
    """
    if path.stem != "__init__":
        sources = [Source(str(path.with_suffix(".cpp")), bool(getattr(module, "parallel", False)))]
        threads = sources
    else:
        parallel = tuple(getattr(module, "parallel", ()))
        sources = [Source(str(p), p.stem in parallel, p.stem) for p in sorted(path.parent.glob("*.cpp"))]
        threads = [source for source in sources if source.model == "threads"]
    second = [replace(source, model="openmp") for source in threads] if getattr(module, "openmp", False) else []
    return (*sources, *second)
