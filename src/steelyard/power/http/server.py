"""The server: it answers requests, checks the token, and refuses requests with a sentence."""

import hmac
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import MachineFailed, UsageError
from steelyard.installation import install_extra
from steelyard.numbers import host_and_port
from steelyard.power.http.bodies import refused
from steelyard.power.http.connections import bounded, many_files
from steelyard.power.http.door import Secured
from steelyard.power.http.readings import Readings
from steelyard.power.stores import Store

REQUESTS = 100  # answered at the same time; further ones are refused, and can be sent again
GOODBYE = 5  # seconds that answers on their way may take at the end
_OWN_NAMES = {"localhost", "127.0.0.1", "[::1]"}
_PAGE = """Readings of power, by Steelyard.
/metrics                the newest reading of each sensor, as OpenMetrics: for a Prometheus, which Grafana then queries
/api/steelyard/sensors  Steelyard's own API; /openapi.json describes it
"""


def expect_packages() -> None:
    """Raises UsageError if a package that serving needs is not installed."""
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"Serving readings needs the Python package {error.name}, which is not installed. Do: {install_extra('serve')}"
        ) from None


def dashboard() -> str:
    """Returns a dashboard for Grafana as JSON."""
    return (Path(__file__).parent / "dashboard.json").read_text(encoding="utf-8")


def application(store: Store, token: str = "") -> Any:
    """Returns the ASGI application. With a token, each request must send it; without, it must go to a name of this machine."""
    from fastapi import FastAPI, Response
    from fastapi.exceptions import RequestValidationError

    import steelyard
    from steelyard.power.http import metrics
    from steelyard.power.http.own import Own

    readings = Readings(store)
    # No pages of documentation: theirs take their parts from the network.
    made = FastAPI(title="Steelyard", version=steelyard.__version__, docs_url=None, redoc_url=None)
    made.include_router(Own(readings).router())
    made.include_router(metrics.router(readings))
    made.add_api_route("/", lambda: Response(_PAGE, media_type="text/plain"), include_in_schema=False)
    made.add_exception_handler(RequestValidationError, lambda _, error: refused(400, _first(error)))
    made.add_exception_handler(UsageError, lambda _, error: refused(400, error.shown()))
    made.add_exception_handler(MachineFailed, lambda _, error: refused(503, error.shown()))
    return Gate(made, token)


def serve(store: Store, at: socket.socket, token: str = "", secured: Secured | None = None) -> None:
    """Answers requests until Ctrl-C or SIGTERM. It passes the signal on after the last answers."""
    import uvicorn

    shown = {"ssl_certfile": secured.certificate, "ssl_keyfile": secured.key} if secured else {}
    config = uvicorn.Config(
        application(store, token), log_level="warning", access_log=False, server_header=False, proxy_headers=False,
        lifespan="off", ws="none", http=bounded(), timeout_graceful_shutdown=GOODBYE, **shown,
    )  # fmt: skip
    many_files()
    uvicorn.Server(config).run(sockets=[at])


class Gate:
    """Lets requests with the token through. Without a token, it lets requests to a name of this machine through.

    The latter keeps out web pages: if their name resolves to this machine, a browser sends requests under that name.
    """

    def __init__(self, inner: Any, token: str) -> None:
        self._inner = inner
        self._expected = f"Bearer {token}".encode() if token else b""
        self._answered = 0  # requests that are let through and not answered yet

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if refusal := self._refusal(dict(scope["headers"])):
            await refusal(scope, receive, send)
            return
        self._answered += 1
        try:
            await self._inner(scope, receive, send)
        finally:
            self._answered -= 1

    def _refusal(self, headers: Mapping[bytes, bytes]) -> Any:
        """Returns the answer to a refused request; None for an accepted one."""
        if self._expected:
            if not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
                answer = refused(401, "The request has no valid token. Send the header Authorization: Bearer TOKEN.")
                answer.headers["WWW-Authenticate"] = "Bearer"
                return answer
        elif host_and_port(headers.get(b"host", b"").decode("latin-1").lower())[0] not in _OWN_NAMES:
            return refused(403, "Without a token, the server answers only requests to 127.0.0.1, [::1] or localhost.")
        if self._answered >= REQUESTS:
            return refused(503, f"The server is answering {REQUESTS} other requests. Ask again in a moment.")
        return None


def _first(error: Any) -> str:
    mistake = error.errors()[0]
    return f"The parameter {mistake['loc'][-1]} is not valid: {mistake['msg']}."
