"""The library of systems: what the five evaluations, public lists and the user's own files say about other machines."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from steelyard.errors import UsageError, similar
from steelyard.measure import published
from steelyard.measure.published import CORES, SOURCES, YEARS, Published
from steelyard.measure.published.our_case import find_cases
from steelyard.measure.published.system import Figure, System
from steelyard.measure.published.system_reader import load_system
from steelyard.measure.published.wording import TITLES, TOPICS, describe_conditions
from steelyard.system.user_cache import home

FOLDER = Path(__file__).with_name("systems")
SUFFIX = ".toml"
NODES = "nodes:"  # begins a note with the speeds of nodes, which are figures of their own
CLUSTERED = ("transfer", "nettest", "applications", "comd", "minife")  # benchmarks of clusters in the evaluations


def list_systems(*benchmarks: str) -> tuple[System, ...]:
    """Returns the shipped systems and those of the user's folder, which replace shipped ones of the same name. UsageError.

    `benchmarks`: see `list_shipped`.
    """
    folder = user_folder()
    mine = [load_system(path) for path in sorted(folder.glob(f"*{SUFFIX}"))] if folder else []
    return tuple({s.name: s for s in (*list_shipped(*benchmarks), *mine)}.values())


def list_readable(*benchmarks: str) -> tuple[System, ...]:
    """Returns the systems; without those of the user if one of his files is damaged, which `steelyard systems` names.

    `benchmarks`: see `list_shipped`.
    """
    try:
        return list_systems(*benchmarks)
    except UsageError:
        return list_shipped(*benchmarks)


def list_shipped(*benchmarks: str) -> tuple[System, ...]:
    """Returns the systems of the five evaluations, then those of public lists.

    With `benchmarks`, only the files that name one of them are read: most of the time goes into reading TOML.
    """
    files = (path for path, text in _read_texts().items() if not benchmarks or any(b in text for b in benchmarks))
    return (*_load_evaluated(), *map(_load_shipped, files))


def system_names() -> list[str]:
    """Returns the names of all systems. UsageError if a file of the user cannot be read."""
    return [system.name for system in list_systems()]


def suggest_system(name: str) -> str:
    """Returns the question whether a similar name was meant, or the command that lists the systems. UsageError."""
    return f"{similar(name, sorted(system_names()))} List all systems with: steelyard systems".strip()


def user_folder() -> Path | None:
    """Returns the folder in which the user's own systems lie; None without a home."""
    if above := os.environ.get("XDG_CONFIG_HOME"):
        return Path(above) / "steelyard" / "systems"
    folder = home()
    return folder / ".config" / "steelyard" / "systems" if folder else None


def find_system(name: str) -> System | None:
    """Returns the system of that name or file, or the only one whose name contains it; None without one. UsageError.

    A name that ends with ".toml" is a file.
    """
    if name.endswith(SUFFIX):
        return load_system(Path(name))
    systems, wanted = list_systems(), name.casefold()
    whole = [s for s in systems if s.name.casefold() == wanted]
    part = [s for s in systems if wanted and wanted in s.name.casefold()]
    return whole[0] if whole else part[0] if len(part) == 1 else None


@cache
def _read_texts() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob(f"*{SUFFIX}"))}


@cache
def _load_shipped(path: Path) -> System:
    return replace(load_system(path), path="")


@cache
def _load_evaluated() -> tuple[System, ...]:
    """Returns the systems of the five evaluations."""
    by_name: dict[str, list[Published]] = {}
    for entry in published.shipped():
        by_name.setdefault(entry.system, []).append(entry)
    return tuple(_make_evaluated_system(name, entries) for name, entries in by_name.items())


def _make_evaluated_system(name: str, entries: Sequence[Published]) -> System:
    sources = list(dict.fromkeys(entry.source for entry in entries))
    many = any(entry.benchmark in CLUSTERED or "nodes" in entry.parameters for entry in entries)
    return System(
        name=name,
        kind="cluster" if many else "node",
        year=max((YEARS[s] for s in sources if s in YEARS), default=None),
        about="",
        source="; ".join(SOURCES[s] for s in sources),
        figures=tuple(_printed(entry) for entry in entries),
        cores=CORES.get(name),
    )


def _printed(entry: Published) -> Figure:
    answer = find_cases(entry)
    return Figure(
        topic=TOPICS.get(entry.benchmark, entry.benchmark),
        title=TITLES.get(entry.metric, entry.metric),
        printed=entry.printed,
        value=entry.value,
        unit=entry.unit,
        cases=() if isinstance(answer, str) else answer,
        reason=answer if isinstance(answer, str) else "",
        conditions=describe_conditions(entry),
        place=entry.place,
        limit=published.theoretical(entry),
        note="" if entry.note.startswith(NODES) else entry.note,
    )
