"""`openai:NAME`: any endpoint that speaks the OpenAI chat protocol, hosted or on your own machine.

Requests run side by side. What passes (rate limits, server errors, cut
connections) is tried again with growing pauses; a picture that can't be read or a
question that is refused is unanswered, with the reason; a wrong key or address stops
the work at once. Pictures are read from the user's disk and sent to that endpoint only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Final

from evenhand.core.errors import ModelError
from evenhand.core.streams import stream
from evenhand.core.task import Sample, Unanswered
from evenhand.models.chat import Form, UnreadableImageError, picture_url, said
from evenhand.models.pace import BudgetError, Pace, Spending, StoppedError
from evenhand.models.replies import ChatReply
from evenhand.models.settings import ChatSettings, chat_settings
from evenhand.models.transport import RequestError, Transport, Trouble

_FAILURES_IN_A_ROW: Final = 10  # questions that failed for good without an answer between them: the server is down
_MOST_ADAPTATIONS: Final = 4


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
        self.spending = Spending(settings)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is stored with the run; the key is not among it."""
        shown = ("base_url", "temperature", "max_tokens", "structured", "price_in", "price_out")
        return {"model": self.model, **{name: getattr(self.settings, name) for name in shown}}

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, ChatReply | Unanswered]]:
        """Answers as they come in; as many requests in flight as the settings allow."""
        desk = _Desk(self.model, self.settings, self.spending)
        try:
            yield from self._ask(iter(samples), desk)
        finally:
            desk.close()

    def _ask(self, samples: Iterator[Sample], desk: _Desk) -> Iterator[tuple[str, ChatReply | Unanswered]]:
        flying: dict[Future[ChatReply | Unanswered], str] = {}
        failed: list[tuple[str, Unanswered]] = []  # told once a later answer shows that the server is there
        trouble = limit = ""
        unasked = False
        while True:
            while len(flying) < self.settings.concurrency and not trouble:
                limit = self.spending.exhausted()
                if limit:
                    break
                sample = next(samples, None)
                if sample is None:
                    break
                flying[desk.start(sample)] = sample.id
            if not flying:
                break
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            for future in done:
                sample_id = flying.pop(future)
                try:
                    answer = future.result()
                except BudgetError:  # it was not asked; --resume will
                    unasked = True
                    continue
                except RequestError as error:
                    failed.append((sample_id, Unanswered(str(error))))
                    if error.trouble is Trouble.FINAL:
                        trouble = trouble or self._final(error)
                    elif len(failed) >= _FAILURES_IN_A_ROW:
                        trouble = trouble or self._down(error)
                    if trouble:  # what is in flight may still come in; nobody tries again
                        desk.pace.stop.set()
                    continue
                if isinstance(answer, ChatReply) and not trouble:
                    yield from failed
                    failed.clear()
                yield sample_id, answer
        if trouble:
            raise ModelError(trouble)
        yield from failed
        if limit and (unasked or next(samples, None) is not None):
            raise ModelError(
                f"The budget of {self.name} is used up: {limit}. The answers so far are kept; "
                "go on with --resume, each start has its own budget."
            )

    def _final(self, error: RequestError) -> str:
        advice = {
            401: f"Is the key in the environment variable {self.settings.key_variable} right?",
            403: f"Is the key in the environment variable {self.settings.key_variable} allowed to use the model?",
            404: f"Is there a model {self.model!r} at {self.settings.base_url}, and does the address end in /v1?",
        }.get(error.status, f"Is {self.settings.base_url} the address of a chat endpoint?")
        return f"{self.name}: {error}. {advice} The answers so far are kept; go on with --resume."

    def _down(self, error: RequestError) -> str:
        return (
            f"{self.name}: {_FAILURES_IN_A_ROW} questions in a row failed, the last one with {error}. "
            f"Is the server at {self.settings.base_url} up? The answers so far are kept, and these questions are "
            "asked again with --resume."
        )


class _Desk:
    """What the workers share: connections, pace, the form of requests, the purse."""

    def __init__(self, model: str, settings: ChatSettings, spending: Spending) -> None:
        self.model, self.settings, self.spending = model, settings, spending
        self.transport = Transport(settings)
        self.pace = Pace(settings.per_minute)
        self.form = Form(settings)
        self._lock = threading.Lock()
        self._inside = 1  # those who use the connections: the requests in flight, and whoever starts them

    def start(self, sample: Sample) -> Future[ChatReply | Unanswered]:
        """Ask about one sample in a thread of its own, which nobody waits for when the work is stopped."""
        future: Future[ChatReply | Unanswered] = Future()
        with self._lock:
            self._inside += 1
        threading.Thread(target=self._settle, args=(future, sample), name=f"chat {sample.id}", daemon=True).start()
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
        self.pace.stop.set()
        self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1
            last = self._inside == 0
        if last:
            self.transport.close()

    def answer(self, sample: Sample) -> ChatReply | Unanswered:
        """The answer to one sample; raises RequestError when trying again did not help."""
        if not sample.media:
            return Unanswered("there is no picture; is the image folder beside the label file?")
        try:
            picture = picture_url(sample.media[0])
        except UnreadableImageError as error:
            return Unanswered(str(error))
        prompt = str(sample.given.get("prompt", ""))
        return self._try(sample.id, prompt, picture, sample.given.get("schema"))

    def _try(self, sample: str, prompt: str, picture: str, schema: Mapping[str, Any] | None) -> ChatReply | Unanswered:
        chance = stream("chat", self.model, sample)
        adaptations = 0
        attempt = 1
        while True:
            payload = self.form.payload(self.model, prompt, picture, schema)
            try:
                self.pace.take_turn()
                self.spending.request()
                body = self.transport.post(payload)
                found = said(body.value)
                cost = self.spending.answer(found.prompt_tokens, found.completion_tokens)
                return ChatReply(
                    text=found.text,
                    model=found.model or self.model,
                    latency_seconds=round(body.seconds, 4),
                    prompt_tokens=found.prompt_tokens or None,
                    completion_tokens=found.completion_tokens or None,
                    cost=cost or None,
                    attempts=attempt,
                    finish_reason=found.finish_reason,
                    form=self.form.described(payload),
                )
            except StoppedError:
                raise RequestError(Trouble.PASSING, "the work was stopped") from None
            except RequestError as error:
                if error.trouble is Trouble.FINAL:
                    raise
                if error.trouble is Trouble.REQUEST:
                    if adaptations < _MOST_ADAPTATIONS and self.form.adapt(error, payload):
                        adaptations += 1
                        continue
                    raise
                if attempt >= self.settings.attempts:
                    raise RequestError(
                        Trouble.PASSING, f"{error} (tried {attempt} times)", status=error.status
                    ) from None
                self._pause(error, attempt, float(chance.random()))
                attempt += 1

    def _pause(self, error: RequestError, attempt: int, chance: float) -> None:
        """Wait as long as the server asks, or longer with every attempt; everybody waits when it asks."""
        longest = self.settings.longest_wait
        if error.wait is not None:
            asked = min(error.wait, longest)
            self.pace.pause(asked)
            wait_for = asked
        else:
            wait_for = min(self.settings.backoff * 2.0 ** (attempt - 1), longest) * (0.5 + 0.5 * chance)
        try:
            self.pace.wait(wait_for)
        except StoppedError:
            raise RequestError(Trouble.PASSING, "the work was stopped") from None
