"""One question to an HTTP server, with everything that can go wrong on the way told apart.

A request has one deadline for all of it, so a server that drips bytes can't hold
it. What went wrong is passing (try again), about this request (no answer), or final
(the address, the key or the model is wrong: stop).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from evenhand.core.errors import MissingExtraError
from evenhand.models.pace import retry_after
from evenhand.models.settings import ChatSettings

_LARGEST_ANSWER: Final = 8 << 20
_SHOWN: Final = 300
_PASSING_STATUS: Final = frozenset({408, 409, 425, 429})
_FINAL_STATUS: Final = frozenset({401, 403, 404, 405, 407, 410})


class Trouble(Enum):
    """What to do about a failure."""

    PASSING = "try again"
    REQUEST = "this request can't be answered"
    FINAL = "no request can be answered"


class RequestError(Exception):
    """A request that brought no answer."""

    def __init__(self, trouble: Trouble, message: str, *, status: int = 0, wait: float | None = None) -> None:
        super().__init__(message)
        self.trouble, self.status, self.wait = trouble, status, wait


@dataclass(frozen=True)
class Body:
    """A JSON answer and how long it took."""

    value: Mapping[str, Any]
    seconds: float


class Transport:
    """Connections to one endpoint; used by several threads at a time."""

    def __init__(self, settings: ChatSettings) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("Chat endpoints need httpx", "http") from None
        self._httpx = httpx
        self.settings = settings
        headers = {"Accept": "application/json"}
        if settings.key:
            headers["Authorization"] = f"Bearer {settings.key}"
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(settings.timeout, connect=min(settings.timeout, 30.0)),
            limits=httpx.Limits(max_connections=settings.concurrency, max_keepalive_connections=settings.concurrency),
            follow_redirects=False,  # a key must not travel to another address
            trust_env=False,
            proxy=settings.proxy or None,
        )

    def post(self, payload: Mapping[str, Any]) -> Body:
        """The JSON object that the server answers with; raises RequestError when there is none."""
        started = time.monotonic()
        httpx = self._httpx
        try:
            with self._client.stream("POST", self.settings.url, json=payload) as response:
                data = self._read(response, started)
                status, headers = response.status_code, response.headers
        except httpx.TimeoutException:
            raise RequestError(Trouble.PASSING, f"no answer within {self.settings.timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise RequestError(Trouble.PASSING, self.hide(f"{type(error).__name__}: {error}")) from None
        seconds = time.monotonic() - started
        if status != 200:
            raise self._refused(status, headers, data)
        return Body(self._object(headers.get("content-type", ""), data), seconds)

    def hide(self, text: str) -> str:
        """A text that can be shown: without the key."""
        return text.replace(self.settings.key, "***") if self.settings.key else text

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _read(self, response: Any, started: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > _LARGEST_ANSWER:
                raise RequestError(Trouble.REQUEST, f"the answer is longer than {_LARGEST_ANSWER} bytes")
            if time.monotonic() - started > self.settings.timeout:
                raise RequestError(Trouble.PASSING, f"the answer was not complete within {self.settings.timeout:g} s")
        return b"".join(parts)

    def _refused(self, status: int, headers: Mapping[str, str], data: bytes) -> RequestError:
        said = self.hide(_message(data))
        message = f"HTTP {status}: {said}" if said else f"HTTP {status}"
        if status in _PASSING_STATUS or status >= 500:
            return RequestError(Trouble.PASSING, message, status=status, wait=retry_after(headers.get("retry-after")))
        if status in _FINAL_STATUS or 300 <= status < 400:
            return RequestError(Trouble.FINAL, message, status=status)
        return RequestError(Trouble.REQUEST, message, status=status)

    def _object(self, content_type: str, data: bytes) -> Mapping[str, Any]:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            kind = content_type.partition(";")[0] or "no content type"
            raise RequestError(
                Trouble.PASSING, f"the answer is no whole JSON ({kind}, {len(data)} bytes)", status=200
            ) from None
        if not isinstance(value, Mapping):
            raise RequestError(Trouble.PASSING, f"the answer is a {type(value).__name__}, not an object", status=200)
        if value.get("error"):
            raise RequestError(
                Trouble.PASSING, self.hide(f"error in the answer: {_error_text(value['error'])}"), status=200
            )
        return value


def _message(data: bytes) -> str:
    """What a server says about a refusal, in a line."""
    text = data[:4096].decode("utf-8", "replace").strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, Mapping):
        for name in ("error", "detail", "message"):
            if value.get(name):
                return _error_text(value[name])
    return " ".join(text.split())[:_SHOWN]


def _error_text(error: Any) -> str:
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("type") or json.dumps(error)
    return " ".join(str(error).split())[:_SHOWN]
