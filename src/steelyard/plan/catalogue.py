"""Finds the benchmarks: in this package, under `--path`, and behind the entry point `steelyard.benchmarks`."""

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from steelyard import applications
from steelyard.errors import UsageError, nearest
from steelyard.files import is_folder
from steelyard.model import Benchmark, Source

OWN = Path(__file__).parents[1] / "benchmarks"
SECTIONS = ("Reading", "Caution", "Source")
DECLARED = ("axes", "metrics", "limit", "figures")


def find(paths: Iterable[Path] = ()) -> dict[str, Benchmark]:
    """All benchmarks by name, sorted. UsageError where a path holds none, or a declaration lacks something."""
    found = {b.name: b for b in map(_own, _declarations(OWN))}
    for point in importlib.metadata.entry_points(group="steelyard.benchmarks"):
        module = point.load()
        _add(found, _foreign(Path(str(module.__file__)).parent))
    for path in paths:
        if applications.described(path):
            described = applications.benchmark(applications.read(path), path)
            _add(found, {described.name: described})
            continue
        foreign = _foreign(path)
        if not foreign:
            raise UsageError(
                f"'{path}' given by --path holds no benchmark: expected <group>/<name>.py beside <group>/<name>.cpp, "
                "or a folder <group>/<name> with __init__.py and a .cpp for each programming model."
            )
        _add(found, foreign)
    return dict(sorted(found.items()))


def _add(found: dict[str, Benchmark], more: Mapping[str, Benchmark]) -> None:
    """UsageError where two benchmarks have one name: which of them was measured could not be determined."""
    for name, benchmark in more.items():
        known, new = ([Path(s.path).resolve() for s in b.sources] for b in (found.get(name, benchmark), benchmark))
        if known != new:
            raise UsageError(f"There are two benchmarks '{name}': {known[0]} and {new[0]}. Rename the file of one.")
        found[name] = benchmark


def choose(catalogue: dict[str, Benchmark], only: Iterable[str]) -> dict[str, Benchmark]:
    """The benchmarks named by `only` ("memory.stream", or a whole group "memory"); all of them when it is empty."""
    names: set[str] = set()
    for wanted in only:
        matching = {name for name in catalogue if name == wanted or name.startswith(wanted + ".")}
        if not matching:
            raise UsageError(f"There is no benchmark '{wanted}' (given by --only). {nearest(wanted, catalogue)}")
        names |= matching
    return {name: b for name, b in catalogue.items() if not names or name in names}


def _declarations(root: Path) -> list[Path]:
    single = [p for p in root.glob("*/*.py") if p.with_suffix(".cpp").exists()]
    return sorted([*single, *_folders(root.glob("*/*/__init__.py"))])


def _folders(declarations: Iterable[Path]) -> list[Path]:
    """Those of a benchmark in several programming models: a source a model lies beside them."""
    return sorted(p for p in declarations if any(p.parent.glob("*.cpp")))


def _name(path: Path) -> str:
    own = path.parent if path.stem == "__init__" else path
    return f"{own.parent.name}.{own.stem}"


def _own(path: Path) -> Benchmark:
    name = _name(path)
    return _declare(name, importlib.import_module(f"steelyard.benchmarks.{name}"), path)


def _foreign(root: Path) -> dict[str, Benchmark]:
    if not is_folder(root):
        raise UsageError(f"'{root}' given by --path is not a folder.")
    declarations = (
        _declarations(root)
        or [p for p in sorted(root.glob("*.py")) if p.with_suffix(".cpp").exists()]
        or _folders(root.glob("*/__init__.py"))
    )
    return {b.name: b for b in map(_load, declarations)}


def _load(path: Path) -> Benchmark:
    name = _name(path)
    spec = importlib.util.spec_from_file_location(f"steelyard_benchmark_{name.replace('.', '_')}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses of the declaration look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"The benchmark {path} cannot be read: {type(error).__name__}: {error}") from error
    return _declare(name, module, path)


def _declare(name: str, module: ModuleType, path: Path) -> Benchmark:
    missing = [d for d in DECLARED if not hasattr(module, d)]
    if missing:
        raise UsageError(f"The benchmark {path} lacks {', '.join(missing)}; it must declare {', '.join(DECLARED)}.")
    title, summary, sections = _read_docstring(module.__doc__ or "", path)
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
    )


def _sources(module: ModuleType, path: Path) -> tuple[Source, ...]:
    """The source beside a declaration, or all those of its folder: `parallel` is then the tuple of the models that are.

    A single source whose declaration has `openmp` is a second program, on the threads of the compiler's OpenMP runtime.
    """
    if path.stem != "__init__":
        own = Source(str(path.with_suffix(".cpp")), bool(getattr(module, "parallel", False)))
        return (own, replace(own, model="openmp")) if getattr(module, "openmp", False) else (own,)
    parallel = tuple(getattr(module, "parallel", ()))
    return tuple(Source(str(p), p.stem in parallel, p.stem) for p in sorted(path.parent.glob("*.cpp")))


def _read_docstring(text: str, path: Path) -> tuple[str, str, dict[str, str]]:
    title, _, rest = text.strip().partition("\n")
    sections, summary = {}, []
    for paragraph in filter(None, (" ".join(p.split()) for p in rest.split("\n\n"))):
        head, colon, body = paragraph.partition(":")
        if colon and head in SECTIONS:
            sections[head] = body.strip()
        else:
            summary.append(paragraph)
    missing = [s for s in SECTIONS if s not in sections]
    if not title or missing:
        raise UsageError(
            f"The docstring of {path} needs a title and the paragraphs {', '.join(s + ':' for s in SECTIONS)}"
            + (f" It lacks {', '.join(missing)}." if missing else ".")
        )
    return title, "\n\n".join(summary), sections
