"""How many connections are held, and for how long one may be silent.

A connection that has sent no whole request header after `HEADER_SECONDS` is closed, however often it sends a byte, and
so is one that has not taken its answer after `ANSWER_SECONDS`. When `MOST_CONNECTIONS` are open, the
one that has been idle longest is closed for a new one, so that idle connections never lock anybody out.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 256
HEADER_SECONDS = 10.0
ANSWER_SECONDS = 300.0


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with a bound on connections and on the time until a request is whole."""

    def connection_made(self, transport: Any) -> None:
        """Close an idle connection if too many are open, and wait for a request only for a while."""
        self.opened = self.loop.time()
        self.deadline: asyncio.TimerHandle | None = None
        self.waits_for_header = True
        if len(self.connections) >= MOST_CONNECTIONS:
            idle = [one for one in self.connections if isinstance(one, BoundedProtocol) and one.is_idle]
            if not idle:
                transport.close()
                return
            min(idle, key=lambda one: one.opened).transport.close()
        super().connection_made(transport)
        self._limit()

    def data_received(self, data: bytes) -> None:
        """Take what comes; a request that is begun must be finished in time."""
        super().data_received(data)
        self._limit()

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

    def _limit(self) -> None:
        """Set the deadline of the header or of the answer; bytes of one header do not move it."""
        if self.deadline is not None:
            if self.is_idle == self.waits_for_header:
                return
            self.deadline.cancel()
        self.waits_for_header = self.is_idle
        seconds = HEADER_SECONDS if self.is_idle else ANSWER_SECONDS
        self.deadline = self.loop.call_later(seconds, self._expire, self.cycle)

    def _expire(self, cycle: Any) -> None:
        """Close the connection if nothing happened since the deadline was set."""
        self.deadline = None
        if self.cycle is cycle and self.is_idle == self.waits_for_header:
            self.transport.abort()
        else:
            self._limit()
