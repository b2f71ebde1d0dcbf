"""Connections that wait for a request: their number and the time of each are limited."""

import asyncio
import contextlib
import resource
from typing import Any

# With WAITING connections, a further one closes the one that has waited longest, if that has waited for LEAST seconds. With MOST
# of them it does so in any case.
WAITING, MOST, LEAST = 200, 2000, 1.0
SECONDS = 10.0  # for a request, headers and body, from the connection or the end of the request before


def bounded() -> type[asyncio.Protocol]:
    """Returns uvicorn's protocol with these limits, one for each server. They apply before any token is checked.

    A client with a token sends its request at once, and is never among those that have waited longest.
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
    """Raises the limit of open files to its maximum, because each connection needs one."""
    with contextlib.suppress(OSError, ValueError):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
