"""Finds the benchmarks: in this package, under `--path`, and behind the entry point `steelyard.benchmarks`."""

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from steelyard import doors
from steelyard.benchmarks import texts
from steelyard.errors import UsageError, nearest
from steelyard.files import is_folder
from steelyard.model import Benchmark, Effort, Machine, Scalar, Source

DECLARED = ("axes", "metrics", "limit", "figures")


def listed(paths: Iterable[Path] = ()) -> list[texts.Listed]:
    """Returns the benchmarks that `find` returns, with the same errors. Reads the texts of Steelyard's own without importing."""
    entries = texts.own()
    for name, b in _outside(paths).items():
        new = texts.Listed(name, b.title, b.summary, tuple(s.path for s in b.sources))
        _expect_one(name, (entries.get(name) or new).programs, new.programs)
        entries[name] = new
    return [entries[name] for name in sorted(entries)]


def find(paths: Iterable[Path] = ()) -> dict[str, Benchmark]:
    """Returns all benchmarks by name, sorted. UsageError if a path has none, or a declaration is incomplete."""
    benchmarks = {
        b.name: b
        for package, folder in doors.packages("benchmarks").items()
        for b in (_own(package, path) for path in texts.declarations(folder))
    }
    _add(benchmarks, _outside(paths))
    return dict(sorted(benchmarks.items()))


def _outside(paths: Iterable[Path]) -> dict[str, Benchmark]:
    """Returns the benchmarks behind the entry point and in `paths`."""
    benchmarks: dict[str, Benchmark] = {}
    for point in importlib.metadata.entry_points(group="steelyard.benchmarks"):
        module = point.load()
        _add(benchmarks, _foreign(Path(str(module.__file__)).parent))
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


def _own(package: str, path: Path) -> Benchmark:
    name = texts.name_of(path)
    return _declare(name, importlib.import_module(f"{package}.{name}"), path)


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
    name = texts.name_of(path)
    spec = importlib.util.spec_from_file_location(f"steelyard_benchmark_{name.replace('.', '_')}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses of the declaration look up their module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"The benchmark {path} cannot be read: {type(error).__name__}: {error}") from error
    return _declare(name, module, path)


def _declare(name: str, module: ModuleType, path: Path) -> Benchmark:
    missing = [d for d in DECLARED if not hasattr(module, d)]
    if missing:
        raise UsageError(
            f"The benchmark {path} does not declare {', '.join(missing)}. It must declare {', '.join(DECLARED)}."
        )
    title, summary, sections = texts.read_docstring(module.__doc__ or "", path)
    return Benchmark(
        name=name,
        title=title,
        summary=summary,
        reading=sections["Reading"],
        caution=sections["Caution"],
        source=sections["Source"],
        sources=_sources(module, path),
        axes=module.axes,
        metrics=tuple(module.metrics),
        limit=module.limit,
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
