"""Runs as tables (CSV, JSON, Parquet and documents) and in the forms of other tools, whole or in part."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from steelyard.compare.restriction import restrict
from steelyard.errors import UsageError
from steelyard.model import Evaluation, Record, Result, Verdict
from steelyard.model.evidence import sentence
from steelyard.show.report import columns, exports
from steelyard.show.report.columns import metric_rows
from steelyard.show.report.json_output import FORMAT, format_json
from steelyard.system import files

DOCUMENTS = ("markdown", "latex")
FORMATS = ("json", "csv", "parquet", *DOCUMENTS, *exports.FORMS)
WHAT = "The export"
# A spreadsheet computes a cell that begins so, also after spaces and with the wide forms of Asian keyboards.
_FORMULA = re.compile("[\\s\\x00]*[=+@\\-\uff1d\uff0b\uff20\uff0d]|[\\t\\r\\n]")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


def select(evaluation: Evaluation, only: Sequence[str], main: bool = False) -> Evaluation:
    """Returns the results of these benchmarks or groups with their records; with `main` only those that are main figures.

    UsageError if the run has no result of a name.
    """
    if only:
        evaluation = _replace_results(evaluation, restrict(evaluation, only).results)
    if main:
        from steelyard.show.report.headline import headlines

        evaluation = _replace_results(evaluation, {id(h.result): h.result for h in headlines(evaluation)}.values())
    return evaluation


def narrow(evaluation: Evaluation, only: Sequence[str]) -> Evaluation:
    """Returns the results of these benchmarks or groups, if there are some, with the findings on them and on the whole run."""
    if not only:
        return evaluation
    chosen = [r for r in evaluation.results if any(f"{r.benchmark}.".startswith(f"{name}.") for name in only)]
    narrowed = _replace_results(evaluation, chosen)
    findings = tuple(f for f in evaluation.findings if not f.benchmark or f.benchmark in narrowed.benchmarks)
    return replace(narrowed, findings=findings)


def _replace_results(evaluation: Evaluation, results: Iterable[Result]) -> Evaluation:
    chosen = tuple(results)
    names = {result.benchmark for result in chosen}
    run = replace(evaluation.run, records=tuple(record for result in chosen for record in result.records))
    benchmarks = {name: b for name, b in evaluation.benchmarks.items() if name in names}
    return replace(evaluation, run=run, results=chosen, benchmarks=benchmarks)


def parts(evaluation: Evaluation, form: str, main: bool = False) -> Iterator[str]:
    """The export as text, piece by piece: the memory that it takes does not grow with the run.

    As JSON the whole evaluation: the run, every record, and `metrics` for each case over its launches. All letters are ASCII.
    `main`: a document has one table of the main figures. For the other formats, `select` chooses these.
    """
    if form in DOCUMENTS:
        from steelyard.show.report import documents  # only here: the pages take a third of a second

        yield documents.WRITERS[form](evaluation, main)
        return
    if form in exports.FORMS:
        yield from exports.parts(evaluation, form)
        return
    if form == "csv":
        yield from _csv(metric_rows(evaluation))
        return
    run = evaluation.run
    head = {"format": FORMAT, "run": run.id, "started": run.started, "finished": run.finished, "versions": run.versions}
    yield "{\n"
    for name, value in {**head, "machine": run.machine}.items():
        yield f" {json.dumps(name)}: {format_json(value, 1)},\n"
    yield from _write_list("results", map(_result, evaluation.results), ",\n")
    yield from _write_list("findings", evaluation.findings, ",\n")
    yield from _write_list("records", map(_record, run.records), "\n}\n")


def _write_list(name: str, values: Iterable[Any], end: str) -> Iterator[str]:
    before = f" {json.dumps(name)}: ["
    first = before
    for value in values:
        yield f"{before}\n  {format_json(value, 2)}"
        before = ","
    yield f"{before}]{end}" if before == first else f"\n ]{end}"


def _record(record: Record) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)} | {
        "verdict": _verdict(record.verdict),
        "surroundings": record.surroundings.given(),
    }


def _result(result: Result) -> dict[str, Any]:
    return {
        "benchmark": result.benchmark,
        "kernel": result.kernel,
        "parameters": dict(result.parameters),
        "launches": len({r.launch for r in result.attempts}),
        "samples": sum(r.count for r in result.attempts),
        "verdict": _verdict(result.verdict),
        "metrics": result.metrics,
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {"level": verdict.level, "evidence": list(map(sentence, verdict.evidence))}


def write(evaluation: Evaluation, form: str, path: Path | None, main: bool = False) -> str:
    """The export; returns the text for standard output, or '' where it went to `path`. Parquet needs a path."""
    if form == "parquet":
        if path is None:
            raise UsageError(
                "Parquet is a binary format and cannot go to the terminal. Give a file: --output FILE.parquet"
            )
        beside = path.with_name(path.stem + "-samples" + path.suffix)
        for target in (path, beside):
            files.expect_output(target, WHAT)

        def both(target: Path) -> None:  # the second file first, so there is none of the two if one cannot be written
            columns.write(evaluation, "metrics", target)
            files.make(beside, WHAT, lambda target: columns.write(evaluation, "samples", target, flat=True))

        files.make(path, WHAT, both)
        return ""
    if path is None:
        return "".join(parts(evaluation, form, main))

    def fill(target: Path) -> None:
        with target.open("w", encoding="utf-8", errors="replace", newline="") as file:
            file.writelines(parts(evaluation, form, main))

    files.make(path, WHAT, fill)
    return ""


def _csv(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    out = io.StringIO()
    writer = csv.writer(out)
    for cells in (*map(list, rows[:1]), *(list(row.values()) for row in rows)):
        writer.writerow(map(neutralize, cells))
        yield out.getvalue()
        out.seek(0)
        out.truncate()


def neutralize(cell: object) -> object:
    """Returns a text that a spreadsheet would take for a formula with ' before it. A number in a text stays as it is."""
    if isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell
