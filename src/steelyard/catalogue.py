"""Finds the benchmarks: in this package, under `--path`, and behind the entry point `steelyard.benchmarks`."""

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from steelyard.errors import UsageError, nearest
from steelyard.model import Benchmark

OWN = Path(__file__).with_name("benchmarks")
SECTIONS = ("Reading", "Caution", "Source")
DECLARED = ("axes", "metrics", "limit", "figures")


def find(paths: Iterable[Path] = ()) -> dict[str, Benchmark]:
    """All benchmarks by name, sorted. UsageError where a path holds none, or a declaration lacks something."""
    found = {b.name: b for b in map(_own, _declarations(OWN))}
    for point in importlib.metadata.entry_points(group="steelyard.benchmarks"):
        module = point.load()
        found.update(_foreign(Path(str(module.__file__)).parent))
    for path in paths:
        foreign = _foreign(path)
        if not foreign:
            raise UsageError(
                f"'{path}' given by --path holds no benchmark: expected <group>/<name>.py beside <group>/<name>.cpp."
            )
        found.update(foreign)
    return dict(sorted(found.items()))


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
    return sorted(p for p in root.glob("*/*.py") if p.with_suffix(".cpp").exists())


def _own(path: Path) -> Benchmark:
    group, name = path.parent.name, path.stem
    return _declare(f"{group}.{name}", importlib.import_module(f"steelyard.benchmarks.{group}.{name}"), path)


def _foreign(root: Path) -> dict[str, Benchmark]:
    if not root.is_dir():
        raise UsageError(f"'{root}' given by --path is not a folder.")
    declarations = _declarations(root) or [p for p in sorted(root.glob("*.py")) if p.with_suffix(".cpp").exists()]
    return {b.name: b for b in map(_load, declarations)}


def _load(path: Path) -> Benchmark:
    name = f"{path.parent.name}.{path.stem}"
    spec = importlib.util.spec_from_file_location(f"steelyard_benchmark_{path.parent.name}_{path.stem}", path)
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
        program=str(path.with_suffix(".cpp")),
        axes=module.axes,
        metrics=tuple(module.metrics),
        limit=module.limit,
        figures=module.figures,
        parallel=bool(getattr(module, "parallel", False)),
    )


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
