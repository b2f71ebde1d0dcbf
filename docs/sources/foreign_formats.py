"""The page of the formats that `steelyard import` reads, made from their declarations and from the outputs in the tests."""

import csv
import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

from sources.tables import table
from steelyard.importing import reading
from steelyard.importing.doubts import SEVERAL
from steelyard.importing.format import Format
from steelyard.importing.reading import Reading
from steelyard.model import Benchmark, ForeignValue

ROOT = Path(__file__).parents[2]
OUTPUTS = ROOT / "tests" / "importing" / "outputs"
WRITTEN = "written for this test"  # instead of a repository
MOST_BENCHMARKS, MOST_KERNELS, MOST_PARAMETERS = 16, 8, 10  # named in a row
ABOUT = """\
`steelyard import PATH…` reads the outputs of these tools. It recognises a file by its content. [Import](import.md) says how to
use it, and how to add a format. Each table below lists the values that the formats of a tool yield from the example files in
`tests/importing/outputs`. They may yield more from other files.

Every value keeps the statistic that its tool printed. If the benchmark is one of Steelyard, the value has the same meaning, and
`compare` puts it beside your own results. The notes say what still differs.
"""


@cache
def outputs() -> Mapping[str, Reading]:
    """Returns what the formats of Steelyard read from each example file, by the name of the file."""
    files = (file for file in sorted(OUTPUTS.iterdir()) if file.suffix != ".csv" or file.stem not in tables())
    return {file.name: reading.read(file.read_bytes(), formats()) for file in files}


@cache
def tables() -> Mapping[str, list[dict[str, str]]]:
    """Returns the tables of the values that must come out of the files, by the name of the table."""
    read = {file.stem: list(csv.DictReader(file.open(encoding="utf-8"))) for file in OUTPUTS.glob("*.csv")}
    return {name: rows for name, rows in read.items() if rows and {"file", "figure", "value"} <= set(rows[0])}


def formats() -> list[Format]:
    """Returns the formats of Steelyard, without those of wings that a site has installed."""
    return [form for form in reading.find_formats() if ROOT / "src" in form.file.parents]


def page(benchmarks: Mapping[str, Benchmark], note: str) -> str:
    """Returns docs/formats-of-other-tools.md. `benchmarks` are those of Steelyard."""
    of_tool: dict[str, list[Format]] = {}
    for form in formats():
        of_tool.setdefault(form.tool, []).append(form)
    rows = [(f"[{tool}](#{_anchor(tool)})", *_counts(tool)) for tool in of_tool]
    return "\n".join(
        [
            "# Formats of other tools\n",
            note,
            ABOUT,
            table(("tool", "example files", "values in them"), rows),
            *(_section(tool, forms, benchmarks) for tool, forms in of_tool.items()),
        ]
    )


def _counts(tool: str) -> tuple[str, str]:
    values = list(_values(tool))
    return str(len({file for file, _ in values})), f"{len(values):,}"


def _section(tool: str, forms: Sequence[Format], benchmarks: Mapping[str, Benchmark]) -> str:
    found = list(_values(tool))
    return "\n".join(
        [
            f"## {tool}\n",
            *_describe(forms),
            table(("benchmark (kernels)", "metric", "unit", "statistic", "parameters"), _rows(found, benchmarks)),
            *_notes(found),
            f"Example files: {_examples(dict.fromkeys(file for file, _ in found))}.\n",
        ]
    )


def _describe(forms: Sequence[Format]) -> Iterator[str]:
    """Yields for each file the versions and the addresses in its description, and how it recognises an output."""
    for file, of_file in groupby(forms, key=lambda form: form.file):
        same = list(of_file)
        about, _, rest = inspect.cleandoc(same[0].about).partition("\n\n")
        addresses = ", ".join(f"<{word.rstrip('.,;')}>" for word in rest.split() if word.startswith("http"))
        marks = ", ".join(f"`{' '.join(mark.split())}`" for form in same for mark in form.marks)
        yield f"{' '.join(about.split())} {addresses}\n\n`{file.name}` recognises a file by one of these texts: {marks}.\n"


def _values(tool: str) -> Iterator[tuple[str, ForeignValue]]:
    return ((file, v) for file, read in outputs().items() for v in read.values if v.tool == tool)


def _rows(found: Sequence[tuple[str, ForeignValue]], benchmarks: Mapping[str, Benchmark]) -> Iterator[tuple[str, ...]]:
    """Yields one row for all benchmarks that have the same metric, unit, statistics and parameters; ours come first."""
    of_benchmark: dict[tuple[str, str, str], list[ForeignValue]] = {}
    for _, v in found:
        of_benchmark.setdefault((v.benchmark, v.metric, v.unit), []).append(v)
    alike: dict[tuple[str, ...], list[str]] = {}
    for (benchmark, metric, unit), members in sorted(
        of_benchmark.items(), key=lambda item: _order(item[0], benchmarks)
    ):
        statistics = ", ".join(dict.fromkeys(v.statistic for v in members))
        parameters = _some({name for v in members for name in v.parameters}, MOST_PARAMETERS)
        name = f"[{benchmark}](benchmarks/{benchmark}.md)" if benchmark in benchmarks else f"`{benchmark}`"
        kernels = {v.kernel for v in members}
        alone = kernels == {benchmark.rpartition(".")[2]}
        entry = name if alone else f"{name} ({_some(kernels, MOST_KERNELS)})"
        alike.setdefault((metric, unit or "–", statistics, parameters), []).append(entry)
    for key, names in alike.items():
        rest = f" and {len(names) - MOST_BENCHMARKS} more" if len(names) > MOST_BENCHMARKS else ""
        yield ", ".join(names[:MOST_BENCHMARKS]) + rest, *key


def _order(key: tuple[str, str, str], benchmarks: Mapping[str, Benchmark]) -> tuple[object, ...]:
    return key[0] not in benchmarks, key


def _some(names: set[str], most: int) -> str:
    ordered = sorted(names)
    rest = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(f"`{name}`" for name in ordered[:most]) + rest if ordered else "–"


def _notes(found: Sequence[tuple[str, ForeignValue]]) -> Iterator[str]:
    notes: dict[str, set[str]] = {}
    for _, v in found:
        if note := v.note.partition(SEVERAL)[0].strip():  # of the tool, not of the file
            notes.setdefault(note, set()).add(v.benchmark)
    lines = [f"- {_some(benchmarks, MOST_KERNELS)}: {note}" for note, benchmarks in sorted(notes.items())]
    if lines:
        yield "\n".join(["Notes:\n", *lines, ""])


def _examples(files: Mapping[str, None]) -> str:
    repositories = {row["file"]: row["repository"] for rows in tables().values() for row in rows}
    named = (f"`{file}` ({repositories.get(file) or WRITTEN})" for file in files)
    return ", ".join(named) or "none"


def _anchor(heading: str) -> str:
    return "".join(c for c in heading.lower() if c.isalnum() or c in "_- ").replace(" ", "-")
