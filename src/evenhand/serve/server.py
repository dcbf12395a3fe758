"""Listening: on which address, under which names, until it is stopped; how many connections are held, and how long.

A connection that has sent no whole request header after `HEADER_SECONDS` is closed, however often it sends a byte, and
so is one that has not taken its answer after `ANSWER_SECONDS`. When `MOST_CONNECTIONS` are open, the
one that has been idle longest is closed for a new one, so that idle connections never lock anybody out.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from evenhand.core.errors import OptionError
from evenhand.serve.app import make_app
from evenhand.serve.guard import AccessPolicy
from evenhand.serve.library import ServeSettings

MOST_CONNECTIONS = 256
HEADER_SECONDS = 10.0
ANSWER_SECONDS = 300.0


@dataclass(frozen=True)
class Listening:
    """An open socket, and the access policy behind it."""

    socket: socket.socket
    access: AccessPolicy
    address: str  # to open in a browser, with the token where one is needed


def listen(host: str, port: int, *, names: tuple[str, ...] = (), token: bool = False) -> Listening:
    """A socket on an address; raises OptionError when it can't be had.

    On loopback no token is needed unless `token` says so; on any other address there always is one.
    """
    try:
        family = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
        bound = str(family[4][0])
        opened = socket.create_server((bound, port), family=family[0], backlog=512)
    except (OSError, UnicodeError) as error:  # a name of a host that can't be one is a UnicodeError
        if getattr(error, "errno", 0) == errno.EADDRINUSE:
            advice = f"Port {port} is in use. Stop what uses it, or choose another with --port (0 takes a free one)."
        else:
            why = getattr(error, "strerror", "") or error
            advice = f"It can't listen on {host}:{port}: {why}. Choose another --host or --port."
        raise OptionError(advice) from None
    port = int(opened.getsockname()[1])
    if ipaddress.ip_address(bound).is_loopback:
        asked = AccessPolicy.elsewhere(bound, port).token if token else ""
        access = AccessPolicy.on_loopback(port, token=asked)
    else:
        access = AccessPolicy.elsewhere(bound, port, (host, socket.gethostname(), *names))
    shown = host if not access.any_address else "127.0.0.1" if ":" not in bound else "::1"
    literal = f"[{shown}]" if ":" in shown else shown
    query = "?" + urlencode({"token": access.token}) if access.token else ""
    return Listening(opened, access, f"http://{literal}:{port}/{query}")


def serve(settings: ServeSettings, listening: Listening) -> None:
    """Answer until interrupted."""
    config = uvicorn.Config(
        make_app(settings, listening.access),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        http=BoundedProtocol,
        timeout_keep_alive=30,
        proxy_headers=False,
    )
    uvicorn.Server(config).run(sockets=[listening.socket])


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
