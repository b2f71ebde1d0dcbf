"""Reads the texts of the benchmarks without importing the declarations, which would take longer."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from steelyard import doors
from steelyard.errors import UsageError

SECTIONS = ("Reading", "Caution", "Source")


@dataclass(frozen=True)
class Listed:
    """Name, title and summary of a benchmark, and its source files (`programs`)."""

    name: str
    title: str
    summary: str
    programs: tuple[str, ...]


def list_own() -> dict[str, Listed]:
    """Returns the package's benchmarks by name."""
    return {listed.name: listed for listed in sorted(map(_text, own_declarations()), key=lambda listed: listed.name)}


def own_declarations() -> list[Path]:
    """Returns the files that declare the benchmarks of the core and of the wings."""
    return [path for folder in doors.packages("benchmarks").values() for path in declarations(folder)]


def _text(path: Path) -> Listed:
    title, summary, _ = read_docstring(path.read_text(encoding="utf-8").split('"""')[1], path)
    folder = path.stem == "__init__"
    programs = sorted(path.parent.glob("*.cpp")) if folder else [path.with_suffix(".cpp")]
    return Listed(name_of(path), title, summary, tuple(map(str, programs)))


def declarations(root: Path) -> list[Path]:
    """Returns the files that declare a benchmark, in the groups under `root`."""
    single = [p for p in root.glob("*/*.py") if p.with_suffix(".cpp").exists()]
    return sorted([*single, *folders(root.glob("*/*/__init__.py"))])


def folders(declarations: Iterable[Path]) -> list[Path]:
    """Returns the declarations of benchmarks with one source file for each programming model."""
    return sorted(p for p in declarations if any(p.parent.glob("*.cpp")))


def name_of(path: Path) -> str:
    """Returns the full name of the benchmark that a file declares, as memory.stream."""
    place = path.parent if path.stem == "__init__" else path
    return f"{place.parent.name}.{place.stem}"


def read_docstring(text: str, path: Path) -> tuple[str, str, dict[str, str]]:
    """Returns title, summary and named paragraphs of a declaration. UsageError if one is missing."""
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
