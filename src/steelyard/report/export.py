"""Runs as tables: CSV, JSON and Parquet."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from steelyard import files
from steelyard.errors import UsageError
from steelyard.evidence import sentence
from steelyard.model import Evaluation, Result, Verdict
from steelyard.model.plain import to_plain
from steelyard.report import columns
from steelyard.report.columns import metric_rows

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


def write(evaluation: Evaluation, form: str, path: Path | None) -> str:
    """The export; returns the text for standard output, or '' where it went to `path`. Parquet needs a path."""
    if form == "parquet":
        if path is None:
            raise UsageError("Parquet is no text: name a file with --output FILE.parquet")
        beside = path.with_name(path.stem + "-samples" + path.suffix)
        for target in (path, beside):
            files.expect_output(target, WHAT)
        files.make(path, WHAT, lambda target: columns.write(evaluation, "metrics", target))
        files.make(beside, WHAT, lambda target: columns.write(evaluation, "samples", target, flat=True))
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
