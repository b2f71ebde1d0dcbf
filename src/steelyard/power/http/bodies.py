"""Refusals as bytes of JSON."""

from typing import Any

import msgspec


def refused(status: int, sentence: str) -> Any:
    """Returns the answer of our own API to a refused request."""
    from fastapi import Response

    return Response(msgspec.json.encode({"error": sentence}), status, media_type="application/json")
