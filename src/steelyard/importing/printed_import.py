"""The result of an import on the terminal and as JSON."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from steelyard.errors import one_line, spelled
from steelyard.importing.collecting import Collection
from steelyard.importing.doubts import WARNS
from steelyard.importing.findings.imported_outliers import find_outliers
from steelyard.importing.grouping import Group
from steelyard.importing.streams import Unread
from steelyard.importing.write_runs import UNREAD
from steelyard.model import Finding
from steelyard.words import plural

MOST_RUNS, MOST_REASONS, MOST_FILES = 12, 8, 3  # lines of the screen
MOST_SIDES = 6  # runs of a report

Planned = Sequence[tuple[str, Group]]  # the name or folder of each run, and its content


def as_json(collection: Collection, runs: Planned, written: bool) -> dict[str, Any]:
    """Returns everything about an import as plain data. `written` False: a dry run."""
    return {
        "written": written,
        "interrupted": collection.interrupted,
        "files": collection.count,
        "tools": {tool: {"files": n, "values": v} for tool, (n, v) in count_tools(collection).items()},
        "runs": [
            {
                "run": name,
                "host": group.host,
                "started": group.started,
                "tools": dict(group.tools),
                "files": sorted(group.files.values()),
                "values": len(group.values),
                "placed": group.placed,
                "repeated": group.repeated,
            }
            for name, group in runs
        ],
        "known": [{"file": file, "run": run} for file, run in collection.known.items()],
        "equal": [{"file": file, "same_as": other} for file, other in collection.equal.items()],
        "unread": [{"file": row.name, "reason": row.reason} for row in collection.unread],
        "partly": [{"file": row.name, "reason": row.reason} for row in collection.partly],
        "outliers": [{"seen": f.seen, "evidence": list(f.evidence)} for f in find_outlying_hosts(runs)],
    }


def print_import(collection: Collection, runs: Planned, written: bool, as_data: bool) -> None:
    """Prints the result: JSON, or what was read, what not and why, and the next commands."""
    if as_data:
        print(json.dumps(as_json(collection, runs, written), indent=1))
        return
    for line in _lines(collection, runs, written):
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


def _lines(collection: Collection, runs: Planned, written: bool) -> Iterator[str]:
    values = sum(len(file.reading.values) for file in collection.files)
    yield f"{len(collection.files):,} of {plural(collection.count, 'file')} have new values: {values:,}."
    if collection.files:
        tools = count_tools(collection)
        width = max(map(len, tools))
        yield f"\n{'Tool':<{width}}  {'files':>7}  {'values':>9}"
        yield from (f"{tool:<{width}}  {n:>7,}  {v:>9,}" for tool, (n, v) in tools.items())
    if runs:
        yield from _run_lines(runs, written)
    yield from _equal_lines(collection)
    yield from _unread_lines("not read", collection.unread)
    yield from _unread_lines("read in part", collection.partly)
    if collection.unread or collection.partly:
        where = f"{runs[0][0]}/{UNREAD}" if runs and written else "the same command with --json"
        yield f"\nThe complete list of these files: {where}"
    notes = (v.note for file in collection.files for v in file.reading.values if WARNS in v.note)
    yield from (f"\n{one_line(note)}" for note in [*dict.fromkeys(notes)][:MOST_RUNS])
    for finding in find_outlying_hosts(runs):
        yield f"\n{one_line(finding.seen)}"
        yield from (f"  {one_line(sentence)}" for sentence in finding.evidence)
    if runs and written:
        yield from _next_lines([shlex.quote(name) for name, _ in runs])


def find_outlying_hosts(runs: Planned) -> list[Finding]:
    """Returns which hosts have unlike values, also where each host is a run of its own."""
    return find_outliers((value.host or group.host, value) for _, group in runs for value in group.values)


def _run_lines(runs: Planned, written: bool) -> Iterator[str]:
    width = max(len(name) for name, _ in runs[:MOST_RUNS])
    yield f"\n{'Run' if written else 'Run that would be written':<{width}}  {'date':<10}  {'files':>7}  {'values':>9}"
    for name, group in runs[:MOST_RUNS]:
        yield f"{name:<{width}}  {group.date or 'unknown':<10}  {len(group.files):>7,}  {len(group.values):>9,}"
    if len(runs) > MOST_RUNS:
        yield f"… and {plural(len(runs) - MOST_RUNS, 'further run')} in the same folder"
    if placed := sum(group.placed for _, group in runs):
        yield f"The host or the date of {plural(placed, 'file')} comes from the name of a folder."
    if repeated := sum(group.repeated for _, group in runs):
        yield f"Several files of a run have the same case, so the values are repetitions ({plural(repeated, 'case')})."
    if any(not group.date for _, group in runs):
        yield "A run has no date, because its files state none. Give a date with --date 2024-05-03."


def _equal_lines(collection: Collection) -> Iterator[str]:
    if known := collection.known:
        file, run = next(iter(known.items()))
        yield f"\n{plural(len(known), 'file')} added nothing: already imported. First: {file}, in the run {run}"
    if equal := collection.equal:
        file, other = next(iter(equal.items()))
        yield f"\n{plural(len(equal), 'file')} added nothing: another file has the same content. First: {file}, equal to {other}"


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


def _next_lines(names: Sequence[str]) -> Iterator[str]:
    yield f"\nOne page:  steelyard report {' '.join(names[:MOST_SIDES])}"
    yield f"Compare:   steelyard compare {names[0]} {names[1] if len(names) > 1 else 'OTHER'}"
