"""Connections that keep the server waiting for a request: each may for some seconds, and only so many at a time."""

import asyncio
import contextlib
import resource
from typing import Any

# With WAITING connections, a further one closes the one that has waited longest, if that has waited for LEAST seconds. With MOST
# of them it does so in any case.
WAITING, MOST, LEAST = 200, 2000, 1.0
SECONDS = 10.0  # for a request, headers and body, from the connection or the end of the request before


def bounded() -> type[asyncio.Protocol]:
    """uvicorn's protocol with these limits, one for a server. They hold before any token is looked at.

    Who has a token sends his request at once, and is never among those that have waited longest.
    """
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    waiting: dict[H11Protocol, asyncio.TimerHandle] = {}  # the one that has waited longest first

    class Bounded(H11Protocol):  # type: ignore[misc]  # uvicorn is not there for who only checks types
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                self._came()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self.transport.is_closing():
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._came()
            super().connection_lost(exc)

        def _wait(self) -> None:
            while len(waiting) >= WAITING:
                longest, timer = next(iter(waiting.items()))
                if len(waiting) < MOST and timer.when() - SECONDS > self.loop.time() - LEAST:
                    break
                longest._came()
                longest.transport.abort()
            waiting[self] = self.loop.call_later(SECONDS, self.transport.abort)

        def _came(self) -> None:
            if timer := waiting.pop(self, None):
                timer.cancel()

    return Bounded


def many_files() -> None:
    """As many open files as this process may have: a connection is one, also while it only greets."""
    with contextlib.suppress(OSError, ValueError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
