"""Who may ask what: every request passes here before anything else looks at it.

- Only `GET` and `HEAD`: nothing on this page changes anything.
- The `Host` is one of ours. A foreign name that was made to point at this machine (DNS rebinding) is refused.
- A request that another site caused, as shown by `Origin` or `Sec-Fetch-Site`, is refused; following a plain link to a
  page is not.
- Away from loopback a token is needed: in the first address (`?token=…`), then in a cookie that scripts can't read.
- A path with dot segments, backslashes or null bytes, however encoded, is refused.

Every answer carries a strict content security policy and its companions.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "evenhand_token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class AccessPolicy:
    """Under which names the page is reached, and with which token, if any."""

    port: int
    hosts: tuple[str, ...] = _LOOPBACK  # names in `Host`, without the port
    any_address: bool = False  # bound to every interface: any numeric address may be ours
    token: str = ""  # empty: none is needed

    @classmethod
    def on_loopback(cls, port: int, *, token: str = "") -> AccessPolicy:
        """The policy of a page that only this machine can reach."""
        return cls(port, token=token)

    @classmethod
    def elsewhere(cls, host: str, port: int, names: tuple[str, ...] = ()) -> AccessPolicy:
        """The policy of a page that other machines can reach: with a random token."""
        literal = f"[{host}]" if ":" in host else host
        known = (*_LOOPBACK, literal, *names)
        is_every = _is_address(host) and ipaddress.ip_address(host).is_unspecified
        return cls(port, tuple(name.casefold() for name in known), is_every, secrets.token_urlsafe(24))

    def knows(self, host: str) -> bool:
        """Whether a `Host` header names this page.

        >>> access = AccessPolicy.on_loopback(8765)
        >>> [access.knows(host) for host in ("localhost:8765", "127.0.0.1:8765", "evil.example:8765", "localhost:80")]
        [True, True, False, False]
        """
        name, port = _split(host)
        if port != self.port:
            return False
        return name in self.hosts or (self.any_address and _is_address(name))

    def admits(self, given: str) -> bool:
        """Whether a token is the right one; compared in constant time."""
        return not self.token or hmac.compare_digest(given.encode(), self.token.encode())


class Guard:
    """Refuses what must not come in, and dresses what goes out."""

    def __init__(self, app: ASGIApp, access: AccessPolicy) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self.app)(scope, receive, dressed)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self.access.knows(host):
            return _refusal(
                421, "This page is not served under that name. Use the address that `evenhand serve` printed."
            )
        if _comes_from_elsewhere(headers, host):
            return _refusal(403, "Another site may not ask for this.")
        if scope["method"] not in ("GET", "HEAD"):
            return _refusal(405, "Nothing here can be changed: only GET and HEAD are answered.", {"Allow": "GET, HEAD"})
        if _is_crooked(scope.get("raw_path") or scope["path"].encode()):
            return _refusal(400, "The path has dot segments, backslashes or null bytes. Nothing is found that way.")
        return self._stranger(scope, headers)

    def _stranger(self, scope: Scope, headers: Headers) -> Response | None:
        """What somebody without the token gets; the right one in the address becomes a cookie."""
        if not self.access.token:
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if given and self.access.admits(given[0]):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
            local = "/" + path.lstrip("/\\")  # a path that a browser can't take for another site
            response = RedirectResponse(local + (f"?{rest}" if rest else ""), status_code=303)
            response.set_cookie(COOKIE, self.access.token, httponly=True, samesite="strict", path="/")
            return response
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        if self.access.admits(cookie) or self.access.admits(bearer):
            return None
        return _refusal(401, "A token is needed: open the address that `evenhand serve` printed, with its ?token=….")


def report_policy(nonce: str) -> str:
    """The policy of a page that brings its own script and style, marked with a nonce."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data: blob:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _comes_from_elsewhere(headers: Headers, host: str) -> bool:
    """Whether another site caused the request; following a link to a page does not count."""
    origin = headers.get("origin")
    if origin is not None:
        parts = _parts(origin)
        return parts is None or parts.scheme not in ("http", "https") or parts.netloc.casefold() != host.casefold()
    site = headers.get("sec-fetch-site", "none")
    follows_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return site in ("cross-site", "same-site") and not follows_link


def _is_crooked(raw: bytes) -> bool:
    """Whether a path, decoded as often as it takes, has dot segments, backslashes or null bytes.

    >>> [_is_crooked(path) for path in (b"/run/a.b", b"/../x", b"/%2e%2e/x", b"/%252e%252e%252fx", b"/a%5cb", b"//etc")]
    [False, True, True, True, True, True]
    """
    for _ in range(4):
        segments = raw.split(b"/")
        if b"\\" in raw or b"\0" in raw or any(part in (b".", b"..") for part in segments) or raw.startswith(b"//"):
            return True
        decoded = unquote_to_bytes(raw)
        if decoded == raw:
            return False
        raw = decoded
    return True


def _split(host: str) -> tuple[str, int]:
    parts = _parts(f"//{host}")
    if parts is None or parts.username is not None or parts.path or parts.query or parts.fragment:
        return "", -1
    try:
        port = parts.port
    except ValueError:
        return "", -1
    name = (parts.hostname or "").casefold()
    return f"[{name}]" if ":" in name else name, 80 if port is None else port


def _parts(address: str) -> Any:
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _refusal(code: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(text + "\n", status_code=code, headers=dict(headers or {}))
