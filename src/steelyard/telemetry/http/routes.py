"""Prometheus' paths, and its way of saying that something went wrong."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from steelyard.errors import SteelyardError, UsageError
from steelyard.telemetry.http import prometheus
from steelyard.telemetry.http.bodies import json
from steelyard.telemetry.http.readings import Readings, TooMuch
from steelyard.telemetry.http.request import Fields, fields

BOTH = ["GET", "POST"]


def router(readings: Readings) -> Any:
    """All that is below /api/v1."""
    made = APIRouter(prefix="/api/v1", include_in_schema=False)
    for path, find in prometheus.ANSWERS.items():
        made.add_api_route(f"/{path}", _handler(readings, find), methods=BOTH)

    async def values(request: Request) -> Any:
        label = request.path_params["label"]
        return await _answer(request, lambda of: prometheus.values(readings, of, label))

    async def unknown(request: Request) -> Any:
        return json(404, prometheus.failed("not_found", f"Steelyard does not answer {request.url.path}."))

    made.add_api_route("/label/{label}/values", values, methods=BOTH)
    made.add_api_route("/{rest:path}", unknown, methods=BOTH)
    return made


def _handler(readings: Readings, find: prometheus.Answer) -> Callable[[Any], Awaitable[Any]]:
    async def handler(request: Request) -> Any:
        return await _answer(request, lambda of: find(readings, of))

    return handler


async def _answer(request: Any, find: Callable[[Fields], Any]) -> Any:
    """Found by a thread of its own: the server goes on meanwhile."""
    try:
        of = await fields(request)
        return json(200, await run_in_threadpool(lambda: prometheus.encoded(find(of))))
    except TooMuch as error:
        return json(422, prometheus.failed("execution", error.shown()))
    except UsageError as error:
        return json(400, prometheus.failed("bad_data", error.shown()))
    except SteelyardError as error:
        return json(503, prometheus.failed("unavailable", error.shown()))
