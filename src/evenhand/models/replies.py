"""What a chat endpoint answered, with what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
    def is_cut_off(self) -> bool:
        """Whether the answer ended before it said anything."""
        return self.finish_reason == "length" and not self.text.strip()

    def facts(self) -> dict[str, Any]:
        """Everything but the text, without what is not known."""
        found: dict[str, Any] = {
            "model": self.model,
            "latency_seconds": self.latency_seconds,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost": self.cost,
            "finish_reason": self.finish_reason,
            "form": self.form,
        }
        if self.repeats:
            found["repeats"] = list(self.repeats)
        if self.attempts > 1:
            found["attempts"] = self.attempts
        return {name: value for name, value in found.items() if value not in (None, "")}
