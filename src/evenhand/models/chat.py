"""What is sent to a chat endpoint, and what comes back.

A question is a prompt and a picture, sent inline. Servers differ in what they
take: where one refuses a field, the next request goes without it, and every answer
says in which form it was asked for.
"""

from __future__ import annotations

import base64
import io
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Final

from evenhand.files.inputs import opened_picture, too_many_pixels
from evenhand.files.writing import is_inside
from evenhand.models.replies import ChatReply
from evenhand.models.settings import ChatSettings
from evenhand.models.transport import FailureKind, RequestError, first_choice

_FORMS: Final = ("json_schema", "json_object", "off")
_KINDS: Final = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "GIF": "image/gif", "BMP": "image/bmp"}
_LARGEST_PICTURE: Final = 50 << 20
_REDUCED: Final = (2048, 2048)  # JPEG pictures are decoded at about this size where only their wholeness is checked
_ABOUT_FORM: Final = ("response_format", "json_schema", "json_object", "schema", "guided", "grammar")
_EXTRA: Final = ("extra inputs", "extra_forbidden", "extra fields", "unexpected keyword", "unrecognized", "unknown f")
_OPTIONAL: Final = ("detail", "seed", "top_p", "temperature")


class UnreadableImageError(Exception):
    """A picture that can't be sent, and why."""


@dataclass
class RequestFormat:
    """How requests are phrased; becomes simpler when the server refuses a field. Shared by all workers."""

    settings: ChatSettings
    structured: str = ""
    length_field: str = "max_tokens"
    dropped: frozenset[str] = frozenset()
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.structured = "json_schema" if self.settings.structured == "auto" else self.settings.structured

    def payload(
        self, model: str, prompt: str, picture: str, schema: Mapping[str, Any] | None, repeat: int = 0
    ) -> dict[str, Any]:
        """The body of a request; a repeated question has the next seed."""
        settings = self.settings
        image = {"url": picture}
        if settings.detail and "detail" not in self.dropped:
            image["detail"] = settings.detail
        content = [{"type": "text", "text": prompt}, {"type": "image_url", "image_url": image}]
        system = [{"role": "system", "content": settings.system}] if settings.system else []
        body: dict[str, Any] = {
            "model": model,
            "messages": [*system, {"role": "user", "content": content}],
            self.length_field: settings.max_tokens,
        }
        sampling = {
            "temperature": settings.temperature,
            "seed": settings.seed + repeat if settings.seed >= 0 else None,
            "top_p": settings.top_p or None,
        }
        body |= {name: value for name, value in sampling.items() if value is not None and name not in self.dropped}
        if schema is not None and self.structured == "json_schema":
            named = {"name": "answer", "strict": True, "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema is not None and self.structured == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body | settings.extra_body

    def adapt(self, error: RequestError, sent: Mapping[str, Any]) -> bool:
        """Whether a refusal is about a field that can be left out or renamed; then the next request does so.

        Servers refuse fields with 400 or 422, some with 500; some name the field, some only say that
        extra inputs are not permitted.
        """
        lowered = error.text.lower()
        if any(word in lowered for word in _ABOUT_FORM) and self.simplify(sent):
            return True
        if "max_tokens" in sent and "max_completion_tokens" in lowered:
            self.length_field = "max_completion_tokens"
            return True
        image = sent["messages"][-1]["content"][-1]["image_url"]
        optional = [name for name in _OPTIONAL if name in sent or name in image]
        named = [name for name in optional if name in lowered]
        if not named and any(words in lowered for words in _EXTRA):
            if self.simplify(sent):
                return True
            named = optional[:1]
        with self._lock:
            self.dropped |= frozenset(named)
        return bool(named)

    def simplify(self, sent: Mapping[str, Any]) -> bool:
        """Ask for a simpler form of the answer than was asked for, if there is one and the settings leave it to us."""
        form = _form(sent)
        if self.settings.structured != "auto" or not form:
            return False
        with self._lock:
            if form == self.structured:
                self.structured = _FORMS[_FORMS.index(form) + 1]
        return True

    def described(self, sent: Mapping[str, Any]) -> str:
        """In which form an answer was asked for; empty when it was the plain one."""
        form = _form(sent)
        return f"{form} without {', '.join(sorted(self.dropped))}".strip() if self.dropped else form


def _form(sent: Mapping[str, Any]) -> str:
    return str(sent.get("response_format", {}).get("type", ""))


def picture_url(path: Path, settings: ChatSettings, root: Path | None = None) -> str:
    """A picture as an inline address; raises UnreadableImageError when it can't or must not be sent.

    Nothing outside the data folder `root` is sent, wherever links or `..` lead, unless `follow_links` allows it.
    """
    if root is not None and settings.follow_links == "no" and not is_inside(path.resolve(), root.resolve()):
        raise UnreadableImageError(f"{path.name} is outside the data folder; --follow-links lets it be sent")
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableImageError(f"{path.name} is no file")
        if status.st_size > _LARGEST_PICTURE:
            raise UnreadableImageError(f"{path.name} has {status.st_size} bytes, more than {_LARGEST_PICTURE}")
        data = path.read_bytes()
        with opened_picture(io.BytesIO(data)) as image:
            kind = _KINDS.get(image.format or "")
            side = settings.resize or max(_REDUCED)
            if image.format == "JPEG":
                image.draft("RGB", (side, side))
            if reason := too_many_pixels(image.size):
                raise UnreadableImageError(f"{path.name}: {reason}")
            image.load()
            if settings.resize and max(image.size) > settings.resize:
                data, kind = _resized(image, settings.resize), "image/jpeg"
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


def _resized(image: Any, side: int) -> bytes:
    if image.mode not in ("RGB", "L"):
        image = image.convert("RGB")
    image.thumbnail((side, side))
    image = image.convert("RGB")
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=95)
    return buffer.getvalue()


def read_completion(body: Mapping[str, Any]) -> ChatReply:
    """What a chat completion says; raises RequestError when it says nothing.

    A refusal that the server puts beside the content is the answer.

    >>> body = {"choices": [{"message": {"content": [{"type": "text", "text": "Fe"}, {"text": "male"}]}}]}
    >>> read_completion(body).text
    'Female'
    """
    choice = first_choice(body)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise RequestError(FailureKind.TRANSIENT, "the answer has no choices with a message", status=200)
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    text = content if isinstance(content, str) else message.get("refusal")
    usage = body.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    return ChatReply(
        text=text if isinstance(text, str) else "",
        model=str(body.get("model") or "")[:200],
        finish_reason=str(choice.get("finish_reason") or "")[:80],
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40 else None
