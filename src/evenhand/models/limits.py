"""When the next request may go out: rate limits, pauses that a server asked for, and the budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock

from evenhand.models.settings import ChatSettings
from evenhand.models.transport import FailureKind, RequestError


class StoppedError(RequestError):
    """The work was called off while a request waited."""

    def __init__(self) -> None:
        super().__init__(FailureKind.TRANSIENT, "the work was stopped")


class RequestBudgetError(Exception):
    """There is nothing left to spend on a request."""


@dataclass
class RateLimiter:
    """Lets requests out one after another, not before their time. Shared by all workers."""

    per_minute: float = 0.0
    clock: Callable[[], float] = time.monotonic
    stop: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)
    _next: float = 0.0
    _paused_until: float = 0.0

    def take_turn(self) -> None:
        """Wait until a request may go out; raises StoppedError when the work is called off."""
        with self._lock:
            now = self.clock()
            turn = max(now, self._next, self._paused_until)
            self._next = turn + (60.0 / self.per_minute if self.per_minute else 0.0)
        self.wait(turn - now)

    def pause(self, seconds: float) -> None:
        """Nobody asks for that long: the server said so."""
        with self._lock:
            self._paused_until = max(self._paused_until, self.clock() + seconds)

    def wait(self, seconds: float) -> None:
        """Sleep, unless the work is called off."""
        if (seconds > 0 and self.stop.wait(seconds)) or self.stop.is_set():
            raise StoppedError


@dataclass
class RequestBudget:
    """What was spent in this start, and whether there is something left."""

    settings: ChatSettings
    requests: int = 0
    tokens: int = 0
    cost: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    def request(self) -> None:
        """Count a request that goes out; raises RequestBudgetError when none may."""
        with self._lock:
            if self.exhausted():
                raise RequestBudgetError
            self.requests += 1

    def answer(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Count the tokens of an answer; returns what it cost."""
        cost = (prompt_tokens * self.settings.price_in + completion_tokens * self.settings.price_out) / 1e6
        with self._lock:
            self.tokens += prompt_tokens + completion_tokens
            self.cost += cost
        return cost

    def exhausted(self) -> str:
        """Which limit is reached, in words; empty when none is."""
        limits = (
            (self.settings.budget_requests, self.requests, "requests"),
            (self.settings.budget_tokens, self.tokens, "tokens"),
            (self.settings.budget_cost, self.cost, "of cost"),
        )
        for limit, spent, what in limits:
            if limit and spent >= limit:
                return f"{spent:g} {what} of {limit:g}"
        return ""
