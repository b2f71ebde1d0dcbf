"""Runs as tables: CSV, JSON, Parquet, and tables of DuckDB."""

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

from steelyard import files, sql
from steelyard.errors import UsageError
from steelyard.evidence import sentence
from steelyard.model import Evaluation, Result, Verdict
from steelyard.model.plain import to_plain

FORMATS = ("json", "csv", "parquet")
WHAT = "The export"


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """The whole evaluation as plain data: the run, every record, and `metrics` for each case over its launches."""
    run = evaluation.run
    return {
        "run": run.id,
        "started": run.started,
        "finished": run.finished,
        "versions": dict(run.versions),
        "machine": to_plain(run.machine),
        "results": [_result(r) for r in evaluation.results],
        "findings": to_plain(evaluation.findings),
        "records": [{**to_plain(r), "verdict": _verdict(r.verdict)} for r in run.records],
    }


def _result(result: Result) -> dict[str, Any]:
    return {
        "benchmark": result.benchmark,
        "kernel": result.kernel,
        "parameters": dict(result.parameters),
        "launches": len({r.launch for r in result.records}),
        "samples": sum(len(r.samples) for r in result.records),
        "verdict": _verdict(result.verdict),
        "metrics": {name: to_plain(value) for name, value in result.metrics.items()},
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {"level": verdict.level, "evidence": list(map(sentence, verdict.evidence))}


def metric_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """One row a metric of a case: the long form, as spreadsheets and data frames want it. Parameters are one JSON column."""
    return [
        {
            "run": evaluation.run.id,
            "system": evaluation.run.machine.system,
            "benchmark": r.benchmark,
            "kernel": r.kernel,
            "parameters": json.dumps(dict(sorted(r.parameters.items()))),
            "metric": name,
            "value": value.value,
            "unit": value.unit,
            "low": value.low,
            "high": value.high,
            "better": value.better,
            "verdict": r.verdict.level,
            "evidence": "; ".join(map(sentence, r.verdict.evidence)),
        }
        for r in evaluation.results
        for name, value in r.metrics.items()
    ]


def sample_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """One row a sample: seconds per operation in the order of time; `aside`: no figure rests on it."""
    return [
        {
            "run": evaluation.run.id,
            "benchmark": r.benchmark,
            "kernel": r.kernel,
            "parameters": json.dumps(dict(sorted(r.parameters.items()))),
            "launch": r.launch,
            "attempt": r.attempt,
            "sample": number,
            "seconds": seconds,
            "aside": number in aside,
            "verdict": r.verdict.level,
        }
        for r, aside in ((r, {place + 1 for place in r.aside}) for r in evaluation.run.records)
        for number, seconds in enumerate(r.samples, 1)
    ]


def write(evaluation: Evaluation, form: str, path: Path | None) -> str:
    """The export; returns the text for standard output, or '' where it went to `path`. Parquet needs a path."""
    if form == "parquet":
        if path is None:
            raise UsageError("Parquet is no text: name a file with --output FILE.parquet")
        beside = path.with_name(path.stem + "-samples" + path.suffix)
        for target in (path, beside):
            files.expect_output(target, WHAT)
        files.make(path, WHAT, lambda target: _parquet(metric_rows(evaluation), target))
        files.make(beside, WHAT, lambda target: _parquet(sample_rows(evaluation), target))
        return ""
    text = json.dumps(as_json(evaluation), indent=1) + "\n" if form == "json" else _csv(metric_rows(evaluation))
    if path is None:
        return text
    files.write(path, WHAT, text)
    return ""


def _csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return out.getvalue()


METRICS = (
    "run VARCHAR, system VARCHAR, benchmark VARCHAR, kernel VARCHAR, parameters JSON, metric VARCHAR, value DOUBLE, "
    "unit VARCHAR, low DOUBLE, high DOUBLE, better VARCHAR, verdict VARCHAR, evidence VARCHAR"
)
SAMPLES = (
    "run VARCHAR, benchmark VARCHAR, kernel VARCHAR, parameters JSON, launch INTEGER, attempt INTEGER, sample INTEGER, "
    "seconds DOUBLE, aside BOOLEAN, verdict VARCHAR"
)


def _parquet(rows: list[dict[str, Any]], path: Path) -> None:
    import duckdb

    with duckdb.connect() as base:
        fill(base, "rows_out", SAMPLES if rows and "sample" in rows[0] else METRICS, rows)
        sql.copied(base, "rows_out", path)


def fill(base: Any, table: str, columns: str, rows: list[dict[str, Any]]) -> None:
    """Makes a table of a DuckDB connection."""
    base.execute(f"CREATE TABLE {table} ({columns})")
    if not rows:
        return
    # Through DuckDB's own CSV reader: row by row insertion is slow by a factor of a hundred.
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", errors="replace") as file:
        file.write(_csv(rows))
        file.flush()
        read = f"read_csv({sql.listed([Path(file.name)])}, header=true, all_varchar=true, nullstr='')"
        base.execute(f"INSERT INTO {table} SELECT * FROM {read}")
