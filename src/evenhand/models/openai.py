"""`openai:NAME`: any endpoint that speaks the OpenAI chat protocol, hosted or on your own machine.

Requests run side by side. What passes (rate limits, server errors, cut
connections) is tried again with growing pauses; a picture that can't be read or a
question that is refused is unanswered, with the reason; a wrong key or address stops
the work at once. Pictures are read from the data folder and sent to that endpoint only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Final

from evenhand.core.errors import ModelError
from evenhand.core.streams import stream
from evenhand.core.task import Sample, Unanswered
from evenhand.models.chat import RequestFormat, UnreadableImageError, picture_url, read_completion
from evenhand.models.replies import CUT_OFF, ChatReply
from evenhand.models.settings import ChatSettings, chat_settings
from evenhand.models.transport import FailureKind, RequestError, Transport, advice_of

_FAILURES_IN_A_ROW: Final = 10  # questions that failed for good without an answer between them: the server is down
_CUT_OFF_IN_A_ROW: Final = 10
_MOST_ADAPTATIONS: Final = 6


def provider(name: str, *, device: str = "cpu", **settings: Any) -> ChatModel:
    """The model of that name at an endpoint; `base_url` says which, and the key comes from the environment.

    The name may come as the user wrote it, with the provider's before it.
    """
    name = name.removeprefix("openai:")
    if not name:
        raise ModelError(
            "openai: needs the name of a model, such as openai:my-model --base-url http://127.0.0.1:8000/v1."
        )
    return ChatModel(name, chat_settings(settings))


class ChatModel:
    """A vision-language model behind a chat endpoint."""

    journal_every = 1  # answers cost money: each is on disk before the next is asked for

    def __init__(self, model: str, settings: ChatSettings) -> None:
        self.model, self.settings = model, settings
        self.name = f"openai:{model}"
        self.budget = RequestBudget(settings)

    @property
    def identity(self) -> Mapping[str, Any]:
        """What the answers depend on: `--resume` with other values asks anew."""
        return self.settings.identity

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is stored with the run; no key and no header is among it."""
        prices = {name: getattr(self.settings, name) for name in ("price_in", "price_out")}
        return {"model": self.model, **self.settings.identity, **prices}

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, ChatReply | Unanswered]]:
        """Answers as they come in; as many requests in flight as the settings allow."""
        pool = _RequestPool(self.model, self.settings, self.budget)
        try:
            yield from self._ask(iter(samples), pool)
        finally:
            pool.close()

    def _ask(self, samples: Iterator[Sample], pool: _RequestPool) -> Iterator[tuple[str, ChatReply | Unanswered]]:
        flying: dict[Future[ChatReply | Unanswered], str] = {}
        failed: list[tuple[str, Unanswered]] = []  # yielded once a later answer shows that the server is there
        problem = limit = ""
        unasked = False
        cut_off: int | None = 0  # answers without content so far; None once one had content
        while True:
            while len(flying) < self.settings.concurrency and not problem:
                limit = self.budget.exhausted()
                if limit:
                    break
                sample = next(samples, None)
                if sample is None:
                    break
                flying[pool.start(sample)] = sample.id
            if not flying:
                break
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                sample_id = flying.pop(future)
                try:
                    answer = future.result()
                except RequestBudgetError:  # it was not asked; --resume will
                    unasked = True
                    continue
                except RequestError as error:
                    failed.append((sample_id, Unanswered(str(error))))
                    if error.kind is FailureKind.FATAL:
                        problem = problem or self._fatal(error)
                    elif len(failed) >= _FAILURES_IN_A_ROW:
                        problem = problem or self._down(error)
                    if problem:  # what is in flight may still come in; nobody tries again
                        pool.limiter.stop.set()
                    continue
                if isinstance(answer, ChatReply) and not problem:
                    yield from failed
                    failed.clear()
                    if cut_off is not None:
                        cut_off = cut_off + 1 if answer.no_text == CUT_OFF else None
                yield sample_id, answer
                if cut_off == _CUT_OFF_IN_A_ROW and not problem:
                    problem = self._cut_off()
                    pool.limiter.stop.set()
        if problem:
            raise ModelError(problem)
        yield from failed
        if limit and (unasked or next(samples, None) is not None):
            raise ModelError(
                f"The budget of {self.name} is used up: {limit}. The answers so far are kept; "
                "go on with --resume, each start has its own budget."
            )

    def _fatal(self, error: RequestError) -> str:
        advice = advice_of(error, self.model, self.settings)
        return f"{self.name}: {error}. {advice} The answers so far are kept; go on with --resume."

    def _down(self, error: RequestError) -> str:
        is_down = error.kind is FailureKind.TRANSIENT
        advice = f"Is the server at {self.settings.base_url} up?" if is_down else "Each question failed in this way."
        return (
            f"{self.name}: {_FAILURES_IN_A_ROW} questions in a row failed, the last one with {error}. {advice} "
            "The answers so far are kept, and these questions are asked again with --resume."
        )

    def _cut_off(self) -> str:
        return (
            f"{self.name}: the first {_CUT_OFF_IN_A_ROW} answers were cut off before they said anything "
            f"(finish_reason length, max_tokens={self.settings.max_tokens}). A model that reasons needs more: "
            "raise it, for example with --model-set max_tokens=4000."
        )


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


class _RequestPool:
    """What the requests in flight share: connections, rate limit, format and budget."""

    def __init__(self, model: str, settings: ChatSettings, budget: RequestBudget) -> None:
        self.model, self.settings, self.budget = model, settings, budget
        self.transport = Transport(settings)
        self.limiter = RateLimiter(settings.per_minute)
        self.format = RequestFormat(settings)
        self.answered = False
        self._lock = Lock()
        self._users = 1  # of the connections: the requests in flight, and whoever starts them

    def start(self, sample: Sample) -> Future[ChatReply | Unanswered]:
        """Ask about one sample in a thread of its own, which nobody waits for when the work is stopped."""
        future: Future[ChatReply | Unanswered] = Future()
        with self._lock:
            self._users += 1
        Thread(target=self._settle, args=(future, sample), name=f"chat {sample.id}", daemon=True).start()
        return future

    def _settle(self, future: Future[ChatReply | Unanswered], sample: Sample) -> None:
        try:
            future.set_result(self.answer(sample))
        except BaseException as error:
            future.set_exception(error)
        finally:
            self._leave()

    def close(self) -> None:
        """Nobody asks any more; the last request in flight gives the connections back."""
        self.limiter.stop.set()
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self.transport.close()

    def answer(self, sample: Sample) -> ChatReply | Unanswered:
        """The answer to one sample; raises RequestError when trying again did not help."""
        if not sample.media:
            return Unanswered("there is no picture; is the image folder beside the label file?")
        root = sample.given.get("root")
        try:
            picture = picture_url(sample.media[0], self.settings, Path(root) if root else None)
        except UnreadableImageError as error:
            return Unanswered(str(error))
        prompt = str(sample.given.get("prompt", ""))
        schema = sample.given.get("schema")
        first = self._request(sample.id, prompt, picture, schema, 0)
        again = [self._request(sample.id, prompt, picture, schema, n) for n in range(1, self.settings.repeats)]
        return first.with_repeats(again) if again else first

    def _request(
        self, sample: str, prompt: str, picture: str, schema: Mapping[str, Any] | None, repeat: int
    ) -> ChatReply:
        chance = stream("chat", self.model, sample, repeat)
        adaptations = 0
        attempt = 1
        while True:
            payload = self.format.payload(self.model, prompt, picture, schema, repeat)
            try:
                self.limiter.take_turn()
                self.budget.request()
                reply = self._answered(payload, attempt)
                self.answered = True
                return reply
            except StoppedError:
                raise
            except RequestError as error:
                if error.kind is FailureKind.FATAL:
                    raise
                if error.kind is FailureKind.REFUSED:
                    return ChatReply("", model=self.model, attempts=attempt, finish_reason="content_filter")
                if adaptations < _MOST_ADAPTATIONS and self._adapts(error, payload, attempt):
                    adaptations += 1
                    continue
                if error.kind is FailureKind.REQUEST:
                    raise
                if attempt >= self.settings.attempts:
                    raise RequestError(
                        FailureKind.TRANSIENT, f"{error} (tried {attempt} times)", status=error.status
                    ) from None
                self._pause(error, attempt, float(chance.random()))
                attempt += 1

    def _adapts(self, error: RequestError, payload: Mapping[str, Any], attempt: int) -> bool:
        """Whether the next request is phrased in another way because of a failure."""
        if error.status >= 400 and error.status != 429 and self.format.adapt(error, payload):
            return True
        # Some servers fail without a word on what they can't do.
        silent = error.status == 500 and not self.answered and attempt >= 2
        return silent and self.format.simplify(payload)

    def _answered(self, payload: Mapping[str, Any], attempt: int) -> ChatReply:
        body, seconds = self.transport.post(payload)
        reply = read_completion(body)
        cost = self.budget.answer(reply.prompt_tokens or 0, reply.completion_tokens or 0)
        masked = self.settings.masked  # an endpoint may write the key into its answer
        return replace(
            reply,
            text=masked(reply.text),
            model=masked(reply.model) or self.model,
            latency_seconds=round(seconds, 4),
            cost=cost or None,
            attempts=attempt,
            finish_reason=masked(reply.finish_reason),
            form=self.format.described(payload),
        )

    def _pause(self, error: RequestError, attempt: int, chance: float) -> None:
        """Wait as long as the server asks, or longer with every attempt; everybody waits when it asks."""
        longest = self.settings.longest_wait
        if error.wait is not None:
            wait_for = min(error.wait, longest)
            self.limiter.pause(wait_for)
        else:
            wait_for = min(self.settings.backoff * 2.0 ** (attempt - 1), longest) * (0.5 + 0.5 * chance)
        self.limiter.wait(wait_for)
