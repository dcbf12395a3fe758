"""One request to an HTTP server, with every kind of failure distinguished.

A request has one deadline for all of it, so a server that drips bytes can't hold
it. A failure is transient (try again), about this request (no answer), a refusal of the
content, or fatal (the address, the key or the model is wrong: stop).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Any, Final

from evenhand.core.errors import MissingExtraError, ModelError
from evenhand.models.settings import ChatSettings

_LARGEST_ANSWER: Final = 8 << 20
_LARGEST_MESSAGE: Final = 64 << 10
_SHOWN: Final = 300
_TRANSIENT_STATUS: Final = frozenset({408, 409, 425, 429})
_FATAL_STATUS: Final = frozenset({401, 402, 403, 404, 405, 407, 410})
_FILTERED: Final = ("content_filter", "content management policy", "responsibleaipolicy", "content_policy_violation")
_NO_VISION: Final = (
    *("does not support image", "not support images", "image input is not supported", "image_url is not supported"),
    *("not a multimodal model", "does not support vision", "no vision", "not support vision", "only text content"),
    *("images are not supported", "doesn't support image", "image inputs are not", "unsupported content type 'image"),
)
_NO_MODEL: Final = ("model not found", "model_not_found", "unknown model", "no such model", "invalid model name")
_NO_CREDIT: Final = ("insufficient_quota", "insufficient credits", "billing_hard_limit", "exceeded your current quota")


class FailureKind(Enum):
    """What to do about a failure."""

    TRANSIENT = "try again"
    REQUEST = "this request can't be answered"
    REFUSED = "the content was refused"
    FATAL = "no request can be answered"


class RequestError(Exception):
    """A request that brought no answer; `text` is all that the server wrote about it."""

    def __init__(
        self, kind: FailureKind, message: str, *, status: int = 0, wait: float | None = None, text: str = ""
    ) -> None:
        super().__init__(message)
        self.kind, self.status, self.wait = kind, status, wait
        self.text = text or message


class Transport:
    """Connections to one endpoint; used by several threads at a time."""

    def __init__(self, settings: ChatSettings) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("Chat endpoints need httpx", "http") from None
        self._httpx = httpx
        self.settings = settings
        headers = {"Accept": "application/json", **settings.extra_headers}
        if settings.key:
            headers |= (
                {"api-key": settings.key} if settings.api_version else {"Authorization": f"Bearer {settings.key}"}
            )
        most = settings.concurrency
        try:
            self._client = httpx.Client(
                headers=headers,
                timeout=httpx.Timeout(settings.timeout, connect=min(settings.timeout, 30.0)),
                limits=httpx.Limits(max_connections=most, max_keepalive_connections=most),
                follow_redirects=False,  # a key must not travel to another address
                trust_env=False,
                proxy=settings.proxy or None,
            )
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise ModelError(settings.masked(f"The endpoint or the proxy can't be used: {error}")) from None

    def post(self, payload: Mapping[str, Any]) -> tuple[Mapping[str, Any], float]:
        """The JSON object that the server answers with, after how many seconds; raises RequestError without one."""
        started = time.monotonic()
        httpx = self._httpx
        try:
            with self._client.stream("POST", self.settings.url, json=payload) as response:
                data = self._read(response, started)
                status, headers = response.status_code, response.headers
        except httpx.TimeoutException:
            raise RequestError(FailureKind.TRANSIENT, f"no answer within {self.settings.timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            message = self.settings.masked(f"{type(error).__name__}: {error}")
            raise RequestError(FailureKind.TRANSIENT, message[:_SHOWN]) from None
        seconds = time.monotonic() - started
        if status != 200:
            raise self._refusal(f"HTTP {status}", status, headers, data)
        return self._object(headers, data), seconds

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
                raise RequestError(FailureKind.REQUEST, f"the answer is longer than {_LARGEST_ANSWER} bytes")
            if time.monotonic() - started > self.settings.timeout:
                raise RequestError(
                    FailureKind.TRANSIENT, f"the answer was not complete within {self.settings.timeout:g} s"
                )
        return b"".join(parts)

    def _refusal(self, what: str, status: int, headers: Mapping[str, str], data: bytes) -> RequestError:
        """The error that a server names, by its status or the code in its body; 0 where it gives none."""
        # Secrets are masked before anything is cut: a half of a key is a secret too.
        text = self.settings.masked(data[:_LARGEST_MESSAGE].decode("utf-8", "replace").strip())
        shown = _message(text)
        message = f"{what}: {shown}" if shown else what
        lowered = text.lower()
        wait = None
        if status in (0, 400, 403, 422) and any(mark in lowered for mark in _FILTERED):
            kind = FailureKind.REFUSED
        elif any(mark in lowered for mark in (*_NO_VISION, *_NO_CREDIT)) or (
            status in (0, 400, 422) and any(mark in lowered for mark in _NO_MODEL)
        ):
            kind = FailureKind.FATAL
        elif status in _TRANSIENT_STATUS or status >= 500 or not status:
            kind, wait = FailureKind.TRANSIENT, retry_after(headers.get("retry-after"))
        elif status in _FATAL_STATUS or 300 <= status < 400:
            kind = FailureKind.FATAL
        else:
            kind = FailureKind.REQUEST
        return RequestError(kind, message, status=status, wait=wait, text=text)

    def _object(self, headers: Mapping[str, str], data: bytes) -> Mapping[str, Any]:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            kind = headers.get("content-type", "").partition(";")[0] or "no content type"
            raise RequestError(
                FailureKind.TRANSIENT, f"the answer is no whole JSON ({kind[:80]}, {len(data)} bytes)", status=200
            ) from None
        if not isinstance(value, Mapping):
            raise RequestError(
                FailureKind.TRANSIENT, f"the answer is a {type(value).__name__}, not an object", status=200
            )
        if error := value.get("error") or first_choice(value).get("error"):  # beside a completion that broke off
            description = json.dumps({"error": error}).encode()
            raise self._refusal("error in the answer", _status_in(error), headers, description)
        return value


def advice_of(error: RequestError, model: str, settings: ChatSettings) -> str:
    """What to do about a failure that stops the work."""
    lowered = error.text.lower()
    if any(mark in lowered for mark in _NO_VISION):
        return f"{model!r} can't look at pictures: choose a model with vision."
    if error.status == 402 or any(mark in lowered for mark in _NO_CREDIT):
        return "The account behind the key has no credit left."
    if error.status == 404 or any(mark in lowered for mark in _NO_MODEL):
        return f"Is there a model {model!r} at {settings.base_url}, and does the address end in /v1?"
    if error.status == 401:
        return f"Is the key in the environment variable {settings.key_variable} right?"
    if error.status == 403:
        return f"Is the key in the environment variable {settings.key_variable} allowed to use the model?"
    return f"Is {settings.base_url} the address of a chat endpoint?"


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """The seconds that a `Retry-After` header asks for, as a number or as a date; None when it says nothing usable.

    >>> retry_after("2.5"), retry_after("soon"), retry_after(None)
    (2.5, None, None)
    >>> retry_after("Wed, 21 Oct 2026 07:28:00 GMT", datetime(2026, 10, 21, 7, 27, 30, tzinfo=UTC))
    30.0
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except (ValueError, TypeError):
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        seconds = (date - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if seconds == seconds and seconds != float("inf") else None


def _message(text: str) -> str:
    """What a server says about a refusal, in a line."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, Mapping):
        for name in ("error", "detail", "message"):
            if value.get(name):
                error = value[name]
                if isinstance(error, Mapping):
                    error = error.get("message") or error.get("type") or json.dumps(error)
                text = str(error)
                break
    return " ".join(text.split())[:_SHOWN]


def first_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first of the completions in an answer; empty when there is none."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, Mapping) else {}


def _status_in(error: Any) -> int:
    """The HTTP status that an error inside an answer names as its code, as routers do; 0 when it names none.

    >>> _status_in({"code": 402, "message": "no credit"}), _status_in({"code": "429"}), _status_in("try later")
    (402, 429, 0)
    """
    named = [str(error.get(key)) for key in ("code", "status")] if isinstance(error, Mapping) else []
    return next((int(code) for code in named if re.fullmatch("[345][0-9][0-9]", code)), 0)
