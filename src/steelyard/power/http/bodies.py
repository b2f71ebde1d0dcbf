"""Refusals as bytes of JSON."""

from typing import Any

import msgspec


def refused(status: int, sentence: str) -> Any:
    """Why there is no answer, as our own API says it."""
    from fastapi import Response

    return Response(msgspec.json.encode({"error": sentence}), status, media_type="application/json")
