"""What a chat endpoint answered, with what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

CUT_OFF: Final = "cut off"
_NO_TEXT: Final = {"content_filter": "refused", "length": CUT_OFF}  # by finish_reason
_SPENT: Final = ("prompt_tokens", "completion_tokens", "cost")
_FACTS: Final = ("model", "latency_seconds", *_SPENT, "finish_reason", "no_text", "form")


@dataclass(frozen=True)
class ChatReply:
    """The text of an answer and the facts of the request that brought it.

    >>> ChatReply("Female", model="m", latency_seconds=0.5, prompt_tokens=300).facts()
    {'model': 'm', 'latency_seconds': 0.5, 'prompt_tokens': 300}
    """

    text: str
    model: str = ""
    latency_seconds: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    attempts: int = 1
    finish_reason: str = ""
    form: str = ""  # how the server was asked to keep to the answer's form
    repeats: tuple[str, ...] = ()  # answers to the same question asked again

    @property
    def no_text(self) -> str:
        """Why there is no text; empty when there is one."""
        return "" if self.text.strip() else _NO_TEXT.get(self.finish_reason, "empty")

    def with_repeats(self, again: Sequence[ChatReply]) -> ChatReply:
        """The reply with those to the same question asked again; tokens and cost are of all of them.

        >>> ChatReply("f", prompt_tokens=3).with_repeats([ChatReply("m", prompt_tokens=4)]).prompt_tokens
        7
        """
        spent: dict[str, Any] = {
            name: sum(getattr(reply, name) or 0 for reply in (self, *again)) or None for name in _SPENT
        }
        return replace(self, repeats=tuple(reply.text for reply in again), **spent)

    def facts(self) -> dict[str, Any]:
        """Everything but the text, without what is not known."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in _FACTS}
        facts["repeats"] = list(self.repeats) or None
        facts["attempts"] = self.attempts if self.attempts > 1 else None
        return {name: value for name, value in facts.items() if value not in (None, "")}
