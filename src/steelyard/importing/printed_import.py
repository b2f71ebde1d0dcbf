"""The result of an import on the terminal and as JSON."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.errors import one_line, spelled
from steelyard.importing.collecting import Collection
from steelyard.importing.findings.imported_doubts import find_doubtful
from steelyard.importing.findings.imported_outliers import find_outliers
from steelyard.importing.grouping import DAY, Group
from steelyard.importing.layout import Layout
from steelyard.importing.parts import FILE, FOLDER, Part
from steelyard.importing.streams import Unread
from steelyard.importing.write_runs import UNREAD
from steelyard.model.words import plural
from steelyard.show.report.json_output import print_json

MOST_RUNS, MOST_REASONS, MOST_FILES = 12, 8, 3  # lines of the screen
MOST_SIDES = 6  # runs of a report
DATES = 24  # letters of a line that two dates need

MOST_VALUES = 3  # of a part of the names
MEANINGS = {  # of parts of names, in words
    "file": "not certain: a parameter 'file'", "folder": "not certain: a parameter 'folder'",
    "repetition": "counts repetitions", "job": "number of a job", "date": "date of the values", "host": "host of the values",
}  # fmt: skip

Planned = Sequence[tuple[str, Group]]  # the name or folder of each run, and its content


@dataclass(frozen=True, slots=True)
class Understood:
    """What was understood of the names of files: parts that differ, and the layout that a user gave, which fits some files."""

    parts: Sequence[Part] = ()
    layout: Layout | None = None
    fitting: int = 0


def as_json(collection: Collection, runs: Planned, understood: Understood, written: bool) -> dict[str, Any]:
    """Returns everything about an import as plain data. `written` False: a dry run."""
    return {
        "written": written,
        "interrupted": collection.interrupted,
        "files": collection.count,
        "tools": {tool: {"files": n, "values": v} for tool, (n, v) in count_tools(collection).items()},
        "runs": [
            {
                "run": name,
                **{field: getattr(group, field) for field in ("system", "host", "started", "last")},
                "tools": dict(group.tools),
                "files": sorted(group.files.values()),
                "values": len(group.values),
                "placed": group.placed,
                "repeated": group.repeated,
            }
            for name, group in runs
        ],
        "layout": understood.layout.text if understood.layout else None,
        "parts": [
            {
                "folder": None if part.folder is None else part.folder + 1,
                "meaning": part.meaning,
                "guessed": part.guessed,
                "values": [str(value) for value in part.values],
            }
            for part in understood.parts
        ],
        "shared": [{"file": file, "run": run} for file, runs in collection.shared.items() for run in runs],
        "known": [{"file": file, "run": run} for file, run in collection.known.items()],
        "equal": [{"file": file, "same_as": other} for file, other in collection.equal.items()],
        "unread": [{"file": row.name, "reason": row.reason} for row in collection.unread],
        "partly": [{"file": row.name, "reason": row.reason} for row in collection.partly],
        **{
            name: [{"seen": f.seen, "evidence": list(f.evidence)} for _, group in runs for f in find(group.values)]
            for name, find in (("doubts", find_doubtful), ("outliers", find_outliers))
        },
    }


def print_import(collection: Collection, runs: Planned, understood: Understood, written: bool, as_data: bool) -> None:
    """Prints the result: JSON, or what was read, what not and why, and the next commands."""
    if as_data:
        print_json(as_json(collection, runs, understood, written))
        return
    for line in _lines(collection, runs, understood, written):
        print(spelled(line))


def count_tools(collection: Collection) -> dict[str, tuple[int, int]]:
    """Returns the numbers of files and of values by tool, in the order of the tools' names."""
    counted: dict[str, Counter[str]] = {"files": Counter(), "values": Counter()}
    for file in collection.files:
        counted["files"].update(file.reading.tools)
        counted["values"].update(value.tool for value in file.reading.values)
    return {
        tool: (counted["files"][tool], counted["values"][tool]) for tool in sorted(counted["files"], key=str.casefold)
    }


def _lines(collection: Collection, runs: Planned, understood: Understood, written: bool) -> Iterator[str]:
    yield from _shared_lines(collection, written)
    if collection.count == len(collection.shared):
        return
    values = sum(len(file.reading.values) for file in collection.files)
    have = "has" if 1 in (len(collection.files), collection.count) else "have"
    yield f"{len(collection.files):,} of {plural(collection.count, 'file')} {have} new values: {values:,}."
    if collection.files:
        tools = count_tools(collection)
        width = max(map(len, tools))
        yield f"\n{'Tool':<{width}}  {'files':>7}  {'values':>9}"
        yield from (f"{tool:<{width}}  {n:>7,}  {v:>9,}" for tool, (n, v) in tools.items())
    if runs:
        yield from _run_lines(runs, written)
        yield from _name_lines(understood)
    yield from _equal_lines(collection)
    yield from _unread_lines("not read", collection.unread)
    yield from _unread_lines("read in part", collection.partly)
    if collection.unread or collection.partly:
        where = f"{runs[0][0]}/{UNREAD}" if runs and written else "the same command with --json"
        yield f"\nThe complete list of these files: {where}"
    for finding in (f for _, group in runs for f in (*find_doubtful(group.values), *find_outliers(group.values))):
        yield f"\n{one_line(finding.seen)}"
        yield from (f"  {one_line(sentence)}" for sentence in finding.evidence)
    if runs and written:
        yield from _suggest_commands([shlex.quote(name) for name, _ in runs])
        if system := next((group.name for _, group in runs if group.last and not group.date), ""):
            yield f"Over time: steelyard history {shlex.quote(system)}"


def _shared_lines(collection: Collection, written: bool) -> Iterator[str]:
    shared = [run for runs in collection.shared.values() for run in runs]
    if shared:
        yield f"{plural(len(shared), 'run')} that others shared{'' if written else ', which would be copied'}:"
        yield from map(one_line, shared[:MOST_RUNS])
        yield from [f"… and {plural(len(shared) - MOST_RUNS, 'further run')}"] if len(shared) > MOST_RUNS else []
        yield from _suggest_commands([shlex.quote(run) for run in shared]) if written else ()


def _run_lines(runs: Planned, written: bool) -> Iterator[str]:
    width = max(len(name) for name, _ in runs[:MOST_RUNS])
    yield f"\n{'Run' if written else 'Run that would be written':<{width}}  {'date':<{DATES}}  {'files':>7}  {'values':>9}"
    for name, group in runs[:MOST_RUNS]:
        days = group.date or (f"{group.started[:DAY]} to {group.last}" if group.last else "unknown")
        yield f"{name:<{width}}  {days:<{DATES}}  {len(group.files):>7,}  {len(group.values):>9,}"
    if len(runs) > MOST_RUNS:
        yield f"… and {plural(len(runs) - MOST_RUNS, 'further run')} in the same folder"
    if placed := sum(group.placed for _, group in runs):
        yield f"The system, the host or the date of {plural(placed, 'file')} comes from names of files and folders."
    if repeated := sum(group.repeated for _, group in runs):
        yield f"Several files of a run have the same case, so the values are repetitions ({plural(repeated, 'case')})."
    if any(not group.started for _, group in runs):
        yield "A run has no date, because its files state none. Give a date with --date 2024-05-03."


def _name_lines(understood: Understood) -> Iterator[str]:
    """Yields what was understood of the names of folders and files."""
    if understood.layout:
        yield f"\nThe layout '{understood.layout.text}' fits {plural(understood.fitting, 'file')}."
    if not understood.parts:
        return
    rows = [
        (
            "file" if part.folder is None else f"folder {part.folder + 1}",
            f"{'not certain: the ' * part.guessed}{MEANINGS.get(part.meaning, part.meaning)}",
            f"{len(part.values):,}: {', '.join(map(str, part.values[:MOST_VALUES]))}{' …' * (len(part.values) > MOST_VALUES)}",
        )
        for part in understood.parts
    ]
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    yield f"\n{'Names differ in':<{max(first, 15)}}  {'meaning':<{second}}  values"
    yield from (
        f"{place:<{max(first, 15)}}  {meaning:<{second}}  {one_line(values)}" for place, meaning, values in rows
    )
    if any(part.guessed or part.meaning in (FILE, FOLDER) for part in understood.parts):
        yield "Say what these parts mean with --layout, for example --layout '{system}/{nodes}nodes_{date}'."


def _equal_lines(collection: Collection) -> Iterator[str]:
    if known := collection.known:
        file, run = next(iter(known.items()))
        yield f"\n{plural(len(known), 'file')} added nothing: already imported. First: {file}, in the run {run}"
    if equal := collection.equal:
        file, other = next(iter(equal.items()))
        added = f"\n{plural(len(equal), 'file')} added nothing: another file has the same content or numbers."
        yield f"{added} First: {file}, equal to {other}"


def _unread_lines(title: str, rows: Sequence[Unread]) -> Iterator[str]:
    """Yields the reasons, the most frequent first, each with its first files. Reasons that differ in numbers alone are one."""
    if not rows:
        return
    reasons: dict[str, list[Unread]] = {}
    for row in rows:
        reasons.setdefault(re.sub(r"\d+", "#", row.reason), []).append(row)
    names = len({row.name for row in rows})
    yield f"\n{plural(names, 'file')} {'was' if names == 1 else 'were'} {title}:"
    for group in sorted(reasons.values(), key=len, reverse=True)[:MOST_REASONS]:
        yield f"  {len(group):,}: {one_line(group[0].reason)}"
        yield from (f"     {row.name}" for row in group[:MOST_FILES])
        if len(group) > MOST_FILES:
            yield "     …"
    if len(reasons) > MOST_REASONS:
        yield f"  … and {plural(len(reasons) - MOST_REASONS, 'further reason')}"


def _suggest_commands(names: Sequence[str]) -> Iterator[str]:
    yield f"\nOne page:  steelyard report {' '.join(names[:MOST_SIDES])}"
    yield f"Compare:   steelyard compare {names[0]} {names[1] if len(names) > 1 else 'OTHER'}"
