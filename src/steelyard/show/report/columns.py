"""The tables `metrics` and `samples` as columns: in Parquet for one run, in DuckDB for several runs."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from steelyard.errors import MachineFailed
from steelyard.model import Evaluation, Parameters, Record
from steelyard.model.evidence import sentence
from steelyard.model.plain import to_json
from steelyard.model.record import Span
from steelyard.system import sql

Table = Literal["metrics", "samples"]
TABLES: tuple[Table, ...] = ("metrics", "samples")
METRICS = (
    "run VARCHAR, system VARCHAR, benchmark VARCHAR, kernel VARCHAR, parameters JSON, metric VARCHAR, value DOUBLE, "
    "unit VARCHAR, low DOUBLE, high DOUBLE, typical DOUBLE, best DOUBLE, best_seen DOUBLE, now_low DOUBLE, now_high DOUBLE, "
    "later_low DOUBLE, later_high DOUBLE, undisturbed_low DOUBLE, undisturbed_high DOUBLE, statistic VARCHAR, scope VARCHAR, "
    "better VARCHAR, verdict VARCHAR, evidence VARCHAR"
)
SAMPLES = (
    "run VARCHAR, benchmark VARCHAR, kernel VARCHAR, parameters JSON, launch INTEGER, attempt INTEGER, sample INTEGER, "
    "seconds DOUBLE, aside BOOLEAN, verdict VARCHAR"
)
# The samples of a record are lists in one row: a row for each would repeat the names a hundred times.
_LISTS = (
    "run VARCHAR, benchmark VARCHAR, kernel VARCHAR, parameters JSON, launch INTEGER, attempt INTEGER, first INTEGER, "
    "seconds DOUBLE[], aside BOOLEAN[], verdict VARCHAR"
)
_FLAT = (
    "SELECT run, benchmark, kernel, parameters, launch, attempt, "
    "unnest(range(first, first + len(seconds)))::INTEGER AS sample, unnest(seconds) AS seconds, unnest(aside) AS aside, verdict "
    "FROM {}"
)
# Lines of tables of results (see `results.table`): the first of each file has the run, the others have its cases.
_SPAN, _VERDICT = (
    "DOUBLE[]",
    "STRUCT(level VARCHAR, evidence STRUCT(kind VARCHAR, text VARCHAR, numbers STRUCT(launch DOUBLE))[])",
)
_VALUE = (
    "STRUCT(value DOUBLE, unit VARCHAR, low DOUBLE, high DOUBLE, better VARCHAR, typical DOUBLE, best DOUBLE, "
    f"best_seen DOUBLE, now {_SPAN}, later {_SPAN}, undisturbed {_SPAN}, statistic VARCHAR, scope VARCHAR[])"
)
_LINE_KINDS = {
    "run": "VARCHAR",
    "machine": "STRUCT(system VARCHAR)",
    "benchmark": "VARCHAR",
    "kernel": "VARCHAR",
    "parameters": "JSON",
    "metrics": f"MAP(VARCHAR, {_VALUE})",
    "verdict": _VERDICT,
}
_LINES = ", ".join(f"{name} {kind}" for name, kind in {**_LINE_KINDS, "filename": "VARCHAR"}.items())
_METRICS_OF_LINES = """
    SELECT run, system, benchmark, kernel, parameters, metric, v.value, v.unit, v.low, v.high, v.typical, v.best, v.best_seen,
      v.now[1], v.now[2], v.later[1], v.later[2], v.undisturbed[1], v.undisturbed[2], nullif(v.statistic, ''),
      nullif(array_to_string(v.scope, ', '), ''), v.better, level, nullif(array_to_string(evidence, '; '), '')
    FROM (
      SELECT filename, benchmark, kernel, parameters, entry.key AS metric, entry.value AS v, verdict.level AS level,
        [if(e.numbers.launch IS NULL, '', 'launch ' || e.numbers.launch::INTEGER || ': ') ||
          if(e.kind = '', '', e.kind || ': ') || e.text for e in verdict.evidence] AS evidence
      FROM (SELECT *, unnest(map_entries(metrics)) AS entry FROM parts.lines WHERE run IS NULL)
    ) JOIN (SELECT filename, run, machine.system AS system FROM parts.lines WHERE run IS NOT NULL) USING (filename)
"""
_COLUMNS: dict[Table, str] = {"metrics": METRICS, "samples": _LISTS}
AT_ONCE = 4096  # samples in a row


def metric_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Returns one row per metric of a case: the long form for spreadsheets. Parameters are one JSON column."""
    rows = []
    for r in evaluation.results:
        parameters, evidence = _parameters(r.parameters), "; ".join(map(sentence, r.verdict.evidence))
        rows += [
            {
                "run": evaluation.run.id,
                "system": evaluation.run.machine.system,
                "benchmark": r.benchmark,
                "kernel": r.kernel,
                "parameters": parameters,
                "metric": name,
                "value": value.value,
                "unit": value.unit,
                "low": value.low,
                "high": value.high,
                "typical": value.typical,
                "best": value.best,
                "best_seen": value.best_seen,
                **_name_ends("now", value.now),
                **_name_ends("later", value.later),
                **_name_ends("undisturbed", value.undisturbed),
                "statistic": value.statistic,
                "scope": ", ".join(value.scope),
                "better": value.better,
                "verdict": r.verdict.level,
                "evidence": evidence,
            }
            for name, value in r.metrics.items()
        ]
    return rows


def _name_ends(name: str, ends: Span | None) -> dict[str, float | None]:
    low, high = ends or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def sample_lists(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yields seconds per operation in order of time, in lists of at most `AT_ONCE`. Figures ignore samples that are `aside`."""
    for r in evaluation.run.records:
        head = {
            "run": evaluation.run.id,
            "benchmark": r.benchmark,
            "kernel": r.kernel,
            "parameters": _parameters(r.parameters),
            "launch": r.launch,
            "attempt": r.attempt,
            "verdict": r.verdict.level,
        }
        aside = _mark_set_aside(r)
        for first in range(0, len(r.samples), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            yield {**head, "first": first + 1, "seconds": r.samples[part], "aside": aside[part]}


def _mark_set_aside(record: Record) -> list[bool]:
    aside = [False] * len(record.samples)
    for place in record.aside:
        if place < len(aside):
            aside[place] = True
    return aside


def _parameters(parameters: Parameters) -> str:
    return json.dumps(dict(sorted(parameters.items())))


def write(evaluation: Evaluation, table: Table, path: Path, flat: bool = False) -> None:
    """Writes a table of a run as Parquet. `flat` writes a row for each sample, otherwise `load` can read the file.

    Empty texts and numbers that are not finite become NULL. OSError; MachineFailed if a value does not fit its column.
    """
    rows = metric_rows(evaluation) if table == "metrics" else sample_lists(evaluation)
    names = [column.split(" ", 1) for column in _COLUMNS[table].split(", ")]
    kinds = ", ".join(f"{name}: '{kind.replace('JSON', 'VARCHAR')}'" for name, kind in names)
    chosen = ", ".join(f"nullif({n}, '')::{k} AS {n}" if k in ("VARCHAR", "JSON") else n for n, k in names)
    with tempfile.NamedTemporaryFile("wb", suffix=".json") as file, sql.connect() as base:
        file.writelines(to_json(row) + b"\n" for row in rows)
        file.flush()
        read = f"read_json({sql.listed([Path(file.name)])}, format='newline_delimited', columns={{{kinds}}})"
        rows_out = f"(SELECT {chosen} FROM {read})"
        rows_out = f"({_FLAT.format(rows_out)})" if flat and table == "samples" else rows_out
        import duckdb

        try:
            sql.copy_rows(base, rows_out, path, "FORMAT parquet, COMPRESSION zstd")
        except duckdb.Error as error:
            raise MachineFailed(
                f"The run {evaluation.run.id} cannot be written as a table: {str(error).splitlines()[0]}"
            ) from error


def load(base: Any, table: Table, files: Iterable[Path]) -> None:
    """Creates the table of a DuckDB connection: metrics from tables of results, samples from files that `write` wrote."""
    base.execute("CREATE SCHEMA IF NOT EXISTS parts")
    place, columns = ("parts.lines", _LINES) if table == "metrics" else ("parts.samples", _LISTS)
    base.execute(f"CREATE TABLE {place} ({columns})")
    if listed := list(files):
        base.execute(f"INSERT INTO {place} SELECT * FROM {_read(table, listed)}")
    if table == "samples":
        base.execute(f"CREATE VIEW samples AS {_FLAT.format(place)}")
    else:
        base.execute(f"CREATE TABLE metrics ({METRICS})")
        base.execute(f"INSERT INTO metrics {_METRICS_OF_LINES}")
        base.execute(f"DROP TABLE {place}")


def _read(table: Table, files: Sequence[Path]) -> str:
    if table == "samples":
        return f"read_parquet({sql.listed(files)})"
    kinds = ", ".join(f"{name}: '{kind}'" for name, kind in _LINE_KINDS.items())
    longest = max(file.stat().st_size for file in files)  # of a line, for which DuckDB reserves memory
    return (
        f"read_json({sql.listed(files)}, format='newline_delimited', columns={{{kinds}}}, filename=true, "
        f"maximum_object_size={longest})"
    )
