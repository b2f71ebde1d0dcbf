"""The server: it answers /metrics and /health, checks the token, and closes connections that send no request."""

import contextlib
import hmac
import resource
import socket
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from steelyard.errors import SteelyardError
from steelyard.model.numbers import host_and_port
from steelyard.power.http import metrics
from steelyard.power.stores import Store

REQUESTS = 100  # answered at the same time; further ones are refused, and can be sent again
# With WAITING connections, the one that has waited longest is closed, if it has waited for LEAST seconds. With MOST of them it is
# closed in any case. A client with a token sends its request at once, and is never among those that have waited longest.
WAITING, MOST, LEAST = 200, 1000, 1.0
SECONDS = 10.0  # for a request, for its answer, and at the end for all answers on their way
_OWN_NAMES = {"localhost", "127.0.0.1", "[::1]"}
_TEXT = "text/plain; charset=utf-8"
_PAGE = """Readings of power, by Steelyard.
/metrics  the newest reading of each sensor, as OpenMetrics: for a Prometheus, which Grafana then queries
/health   says "ok" if the store can be read
"""


class Server(ThreadingHTTPServer):
    """Each connection has a thread, and is one request. With a token, each request must send it.

    Without a token, a request must go to a name of this machine. This keeps out web pages: if their name resolves to this
    machine, a browser sends requests under that name.
    """

    daemon_threads = True

    def __init__(
        self, store: Store, listening: socket.socket, token: str = "", context: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(listening.getsockname()[:2], _Request, bind_and_activate=False)
        self.socket.close()
        self.socket, self.store, self._context = listening, store, context
        self.expected = f"Bearer {token}" if token else ""
        self.room = threading.BoundedSemaphore(REQUESTS)
        self._waiting: dict[Any, float] = {}  # since when; the connection that has waited longest is the first
        self._turn = threading.Lock()

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        if self._context:
            # The thread of the connection makes the handshake, because a client may never finish it.
            connection = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        with self._turn:
            self._waiting[connection] = time.monotonic()
        return connection, address

    def begin_answer(self, connection: Any) -> None:
        """Notes that a connection waits no longer, because its request has arrived."""
        with self._turn:
            self._waiting.pop(connection, None)

    def shutdown_request(self, request: Any) -> None:
        self.begin_answer(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Closes connections that have waited too long. The base class calls it for each connection and twice a second."""
        now = time.monotonic()
        with self._turn:
            while self._waiting:
                connection, since = next(iter(self._waiting.items()))
                many = len(self._waiting)
                if now - since < SECONDS and many <= MOST and (many <= WAITING or now - since < LEAST):
                    return
                self._waiting.pop(connection)
                with contextlib.suppress(OSError):  # the method of SSLSocket would also end the encryption
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client that went away is no error
            super().handle_error(request, client_address)

    def run(self) -> None:
        """Answers requests until a signal interrupts it, and then finishes the answers on their way."""
        with contextlib.suppress(OSError, ValueError):  # each connection needs a file
            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        try:
            self.serve_forever()
        finally:
            end = time.monotonic() + SECONDS
            for _ in range(REQUESTS):
                self.room.acquire(timeout=max(0.0, end - time.monotonic()))


class _Request(BaseHTTPRequestHandler):
    server: Server
    timeout = SECONDS
    error_message_format, error_content_type = "%(explain)s.\n", _TEXT

    def do_GET(self) -> None:
        self.server.begin_answer(self.connection)
        if refusal := self._refusal():
            self._answer(*refusal)
        elif not self.server.room.acquire(blocking=False):
            self._answer(503, f"The server is answering {REQUESTS} other requests. Ask again in a moment.\n")
        else:
            try:
                self._answer(*self._content())
            finally:
                self.server.room.release()

    def _refusal(self) -> tuple[int, str] | None:
        """Returns the answer to a refused request; None for an accepted one."""
        if expected := self.server.expected:
            sent = self.headers.get("Authorization", "")
            if not hmac.compare_digest(sent.encode("latin-1", "replace"), expected.encode()):
                return 401, "The request has no valid token. Send the header Authorization: Bearer TOKEN.\n"
        elif host_and_port(self.headers.get("Host", "").lower())[0] not in _OWN_NAMES:
            return 403, "Without a token, the server answers only requests to 127.0.0.1, [::1] or localhost.\n"
        return None

    def _content(self) -> tuple[int, str] | tuple[int, str, str]:
        try:
            match self.path.partition("?")[0]:
                case "/":
                    return 200, _PAGE
                case "/metrics":
                    return 200, metrics.write_metrics(self.server.store, time.time_ns()), metrics.FORM
                case "/health":
                    self.server.store.sensors()
                    return 200, "ok\n"
        except SteelyardError as error:
            return 503, f"{error.shown()}\n"
        return 404, "There is no such page. /metrics has the newest readings.\n"

    def _answer(self, status: int, text: str, form: str = _TEXT) -> None:
        body = text.encode()
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Type", form)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        return "Steelyard"

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing: a Prometheus asks several times a minute."""
