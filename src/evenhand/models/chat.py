"""What is said to a chat endpoint, and what it says back.

A question is a prompt and a picture, sent inline. Servers differ in what they
take: where one refuses a field, the next request goes without it, and every answer
says in which form it was asked for.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Final

from evenhand.models.settings import ChatSettings
from evenhand.models.transport import RequestError, Trouble

_FORMS: Final = ("json_schema", "json_object", "off")
_KINDS: Final = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "GIF": "image/gif", "BMP": "image/bmp"}
_LARGEST_PICTURE: Final = 50 << 20


class UnreadableImageError(Exception):
    """A picture that can't be sent, and why."""


@dataclass
class Form:
    """How requests are phrased; becomes simpler when the server refuses a field. Shared by all workers."""

    settings: ChatSettings
    structured: str = ""
    length_field: str = "max_tokens"
    with_temperature: bool = True
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.structured = "json_schema" if self.settings.structured == "auto" else self.settings.structured

    def payload(self, model: str, prompt: str, picture: str, schema: Mapping[str, Any] | None) -> dict[str, Any]:
        """The body of a request."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": prompt},
                        {"type": "image_url", "image_url": {"url": picture}},
                    ],
                }
            ],
            self.length_field: self.settings.max_tokens,
        }
        if self.with_temperature:
            body["temperature"] = self.settings.temperature
        if schema is not None and self.structured == "json_schema":
            named = {"name": "answer", "strict": True, "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema is not None and self.structured == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def adapt(self, error: RequestError, sent: Mapping[str, Any]) -> bool:
        """Whether a refusal is about a field that can be left out or renamed; then the next request does so."""
        said = str(error).lower()
        with self._lock:
            form = sent.get("response_format", {}).get("type", "off")
            if self.settings.structured == "auto" and form != "off" and _is_about_form(said):
                if form == self.structured:
                    self.structured = _FORMS[_FORMS.index(form) + 1]
                return True
            if "max_tokens" in sent and "max_completion_tokens" in said:
                self.length_field = "max_completion_tokens"
                return True
            if "temperature" in sent and "temperature" in said:
                self.with_temperature = False
                return True
        return False

    def described(self, sent: Mapping[str, Any]) -> str:
        """In which form an answer was asked for; empty when it was the plain one."""
        form = sent.get("response_format", {}).get("type", "")
        return form if "temperature" in sent else f"{form} without temperature".strip()


def _is_about_form(said: str) -> bool:
    return any(
        word in said for word in ("response_format", "json_schema", "json_object", "schema", "guided", "grammar")
    )


def picture_url(path: Path) -> str:
    """A picture as an inline address; raises UnreadableImageError when the file is no whole picture."""
    from PIL import Image

    try:
        size = path.stat().st_size
        if size > _LARGEST_PICTURE:
            raise UnreadableImageError(f"{path.name} has {size} bytes, more than {_LARGEST_PICTURE}")
        data = path.read_bytes()
        with Image.open(io.BytesIO(data)) as image:
            kind = _KINDS.get(image.format or "")
            image.load()
    except UnreadableImageError:
        raise
    except FileNotFoundError:
        raise UnreadableImageError(f"{path} does not exist") from None
    except Exception as error:  # decoders raise anything
        raise UnreadableImageError(
            f"{path.name} can't be read as a picture ({type(error).__name__}: {error})"
        ) from None
    if kind is None:
        raise UnreadableImageError(f"{path.name} is of a kind that endpoints don't take")
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


@dataclass(frozen=True)
class Said:
    """The text of an answer, and what it used up."""

    text: str
    model: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int


def said(body: Mapping[str, Any]) -> Said:
    """What a chat completion says; raises RequestError when it says nothing.

    A refusal that the server puts beside the content is the answer.

    >>> said({"choices": [{"message": {"content": [{"type": "text", "text": "Fe"}, {"text": "male"}]}}]}).text
    'Female'
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise RequestError(Trouble.PASSING, "the answer has no choices with a message", status=200)
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    text = content if isinstance(content, str) else message.get("refusal")
    usage = body.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    return Said(
        text=text if isinstance(text, str) else "",
        model=str(body.get("model") or ""),
        finish_reason=str((choice or {}).get("finish_reason") or ""),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
