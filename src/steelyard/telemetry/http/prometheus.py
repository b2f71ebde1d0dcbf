"""Prometheus' HTTP API over the store: what Grafana's data source and `promtool query` ask.

Series are all that the store knows, whatever stretch of time is asked for.
"""

import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import numpy as np

import steelyard
from steelyard.errors import UsageError
from steelyard.telemetry.http import language, request
from steelyard.telemetry.http.evaluation import Asked, Value, Vector, evaluated
from steelyard.telemetry.http.readings import Readings
from steelyard.telemetry.http.request import Fields
from steelyard.telemetry.http.series import METRICS, Series, chosen, listed
from steelyard.telemetry.http.windows import Column

LANGUAGE = "2.45.0"  # the Prometheus whose language the parser knows; Grafana looks at it
MOST_SELECTORS = 50
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

Named = TypeVar("Named", str, dict[str, str])
Answer = Callable[[Readings, Fields], Any]


def query(readings: Readings, of: Fields) -> dict[str, Any]:
    """A query's value at a moment."""
    expression, moments = language.parsed(request.one(of, "query")), request.instant(of)
    with readings.query() as query:
        value = evaluated(expression, Asked(query, moments, 0))
    (at,) = _seconds(moments)
    if isinstance(value, np.ndarray):
        return {"resultType": "scalar", "result": [at, _text(float(value[0]))]}
    found = [
        {"metric": dict(labels), "value": [at, _text(float(column.value[0]))]}
        for labels, column in value
        if column.there[0]
    ]
    return {"resultType": "vector", "result": found}


def query_range(readings: Readings, of: Fields) -> dict[str, Any]:
    """A query's value at each of many moments."""
    expression, (moments, step) = language.parsed(request.one(of, "query")), request.steps(of)
    with readings.query() as query:
        value = evaluated(expression, Asked(query, moments, step))
    at = np.array(_seconds(moments))
    found = []
    for labels, column in _vector(value, len(moments)):
        pairs = zip(at[column.there].tolist(), column.value[column.there].tolist(), strict=True)
        values = [(when, _text(number)) for when, number in pairs]
        if values:
            # Written at once: as objects five million points would take a gigabyte.
            found.append({"metric": dict(labels), "values": msgspec.Raw(msgspec.json.encode(values))})
    return {"resultType": "matrix", "result": found}


def series(readings: Readings, of: Fields) -> list[dict[str, str]]:
    """The labels of the series that are chosen by `match[]`."""
    request.one(of, "match[]")
    return _limited(of, [dict(each.labels) for each in _chosen(readings, of)])


def labels(readings: Readings, of: Fields) -> list[str]:
    """The names of labels."""
    return _limited(of, sorted({name for each in _chosen(readings, of) for name, _ in each.labels}))


def values(readings: Readings, of: Fields, label: str) -> list[str]:
    """The values of a label."""
    if not _LABEL.fullmatch(label):
        raise UsageError(f"'{label}' is no name of a label.")
    found = {value for each in _chosen(readings, of) for name, value in each.labels if name == label}
    return _limited(of, sorted(found))


def metadata(readings: Readings, of: Fields) -> dict[str, list[dict[str, str]]]:
    """What each metric is."""
    wanted = of.get("metric", ("",))[0]
    there = {each.sensor.quantity for each in listed(readings.sensors())}
    return {
        metric.name: [{"type": metric.kind, "help": metric.help, "unit": metric.unit}]
        for quantity, metric in METRICS.items()
        if quantity in there and wanted in ("", metric.name)
    }


def buildinfo(readings: Readings, of: Fields) -> dict[str, str]:
    """The version of Prometheus whose language this is, and our own."""
    ours = f"steelyard {steelyard.__version__}"
    return {"version": LANGUAGE, "revision": ours, "branch": "", "buildUser": "", "buildDate": "", "goVersion": ""}


ANSWERS: dict[str, Answer] = {
    "query": query,
    "query_range": query_range,
    "series": series,
    "labels": labels,
    "metadata": metadata,
    "status/buildinfo": buildinfo,
}


def encoded(data: Any) -> bytes:
    return msgspec.json.encode({"status": "success", "data": data})


def failed(kind: str, sentence: str) -> bytes:
    return msgspec.json.encode({"status": "error", "errorType": kind, "error": sentence})


def _chosen(readings: Readings, of: Fields) -> list[Series]:
    every = listed(readings.sensors())
    selectors = of.get("match[]", ())
    if len(selectors) > MOST_SELECTORS:
        raise UsageError(f"There are {len(selectors)} times match[]; at most {MOST_SELECTORS} are taken.")
    if not selectors:
        return every
    found = {each.labels: each for text in selectors for each in chosen(every, language.selector(text).matchers)}
    return list(found.values())


def _limited(of: Fields, found: list[Named]) -> list[Named]:
    text = of.get("limit", ("",))[0] or "0"
    if not re.fullmatch(r"\d{1,9}", text):
        raise UsageError(f"'{text[:50]}' (given by limit) is no whole number; 0 is no limit.")
    return found[: int(text)] if int(text) else found


def _vector(value: Value, moments: int) -> Vector:
    if isinstance(value, np.ndarray):
        return [((), Column(value, np.ones(moments, dtype=bool)))]
    return value


def _seconds(moments: Any) -> list[float]:
    return [ns / 1000 if ns % 1000 else ns // 1000 for ns in (moments // 10**6).tolist()]


def _text(value: float) -> str:
    if math.isfinite(value):
        return repr(value).removesuffix(".0")
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
