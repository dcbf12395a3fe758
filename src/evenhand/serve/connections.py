"""How many connections are held, and for how long one may be silent.

A connection that has sent no whole request after `HEADER_SECONDS` is closed. When `MOST_CONNECTIONS` are open, the
one that has been idle longest is closed for a new one, so that idle connections never lock anybody out.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 256
HEADER_SECONDS = 10.0


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with a bound on connections and on the time until a request is whole."""

    def connection_made(self, transport: Any) -> None:
        """Close an idle connection if too many are open, and wait for a request only for a while."""
        self.opened = self.loop.time()
        self.deadline: asyncio.TimerHandle | None = None
        if len(self.connections) >= MOST_CONNECTIONS:
            idle = [one for one in self.connections if isinstance(one, BoundedProtocol) and one.is_idle]
            if not idle:
                transport.close()
                return
            min(idle, key=lambda one: one.opened).transport.close()
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what comes; a request that is begun must be finished in time."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        if self.deadline is not None:
            self.deadline.cancel()
        if hasattr(self, "transport") and self.transport is not None:
            super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
        self.deadline = self.loop.call_later(HEADER_SECONDS, self._expire) if self.is_idle else None

    def _expire(self) -> None:
        if self.is_idle:
            self.transport.close()
