"""Answers as bytes of JSON."""

from typing import Any

import msgspec


def json(status: int, body: bytes) -> Any:
    """An answer of bytes that are JSON."""
    from fastapi import Response

    return Response(body, status, media_type="application/json")


def refused(status: int, sentence: str) -> Any:
    """Why there is no answer, as our own API says it."""
    return json(status, msgspec.json.encode({"error": sentence}))
