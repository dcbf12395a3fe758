"""Listening: on which address, under which names, until it is stopped."""

from __future__ import annotations

import errno
import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlencode

from evenhand.core.errors import OptionError
from evenhand.serve.app import make_app
from evenhand.serve.guard import AccessPolicy
from evenhand.serve.library import ServeSettings

PORT = 8765


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
    import uvicorn

    from evenhand.serve.connections import BoundedProtocol

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
