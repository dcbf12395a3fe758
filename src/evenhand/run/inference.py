"""A model in a worker: loaded once, asked chunk by chunk, with the time in which it had to wait.

On a cluster a worker is in two chunks at once: while the model answers one, the pictures of the next are decoded
(`models.batched`) or at least read from the disk, so that the model finds them in memory.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand.core.engine import Workplace
from evenhand.core.errors import PredictionError
from evenhand.core.task import Model, ReadingCodec, Sample, Unanswered
from evenhand.models.batched import Batched, Meter

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Factory = Callable[[], Model[Any]]
AT_ONCE = 2  # chunks that a worker of a cluster is in
_BLOCK = 1 << 20


@dataclass(frozen=True)
class LoadedModel:
    """A model at its place of work."""

    model: Model[Any]
    meter: Meter
    name: str = field(default_factory=lambda: secrets.token_hex(4))


class WorkerTime(NamedTuple):
    """What one worker has done so far: seconds since it began, and seconds of work."""

    span: float
    busy: float


class AnswerChunk(NamedTuple):
    """The answers to a chunk of samples, in plain values, and what the worker has done so far."""

    answers: list[tuple[str, Any]]
    worker: str
    time: WorkerTime


def is_model(given: Model[Any] | Factory) -> TypeIs[Model[Any]]:
    """Whether something is a model, and not what makes one."""
    return hasattr(given, "predict") and not isinstance(given, type)


def made(given: Model[Any] | Factory) -> Model[Any]:
    """The model, or the one that a function makes."""
    return given if is_model(given) else given()


def load_model(given: Model[Any] | Factory) -> LoadedModel:
    """The model, loaded where it will work."""
    model = made(given)
    return LoadedModel(model, model.meter if isinstance(model, Batched) else Meter())


def answer_chunk(codec: ReadingCodec[Any], samples: Sequence[Sample], place: Workplace) -> AnswerChunk:
    """The answers of the worker's model to some samples."""
    loaded: LoadedModel = place.kept
    meter = loaded.meter
    if isinstance(loaded.model, Batched):
        answers = list(loaded.model.predict(iter(samples)))
    else:
        _read_ahead(path for sample in samples for path in sample.media)
        with meter.working():
            answers = list(loaded.model.predict(iter(samples)))
    given = [(sample, plain_answer(codec, answer)) for sample, answer in answers]
    return AnswerChunk(given, loaded.name, WorkerTime(meter.span, meter.busy))


def plain_answer(codec: ReadingCodec[Any], answer: Any) -> Any:
    """An answer in plain values; `Unanswered` where there is none, or one that the official format can't say."""
    if isinstance(answer, Unanswered):
        return answer
    if answer is None:
        return Unanswered("the model answered with nothing")
    try:
        plain = codec.to_plain(answer)
        codec.from_plain(plain)
    except (PredictionError, TypeError, ValueError, AttributeError, KeyError) as error:
        return Unanswered(f"the answer has another form than expected: {error}")
    return plain


def clock_seconds(times: Iterable[WorkerTime]) -> dict[str, float]:
    """How long all workers worked and waited, for the clock of a run; empty when nothing was measured.

    >>> seconds = clock_seconds([WorkerTime(span=10.0, busy=9.0)])
    >>> seconds, round(utilisation(seconds), 3)
    ({'model working': 9.0, 'model waiting': 1.0}, 0.9)
    """
    span, busy = (sum(seconds) for seconds in zip(WorkerTime(0.0, 0.0), *times, strict=True))
    return {"model working": busy, "model waiting": max(0.0, span - busy)} if span else {}


def utilisation(seconds: Mapping[str, float]) -> float | None:
    """The share of time in which the models worked, from the clock of a run; None when it was not measured."""
    busy, idle = seconds.get("model working"), seconds.get("model waiting")
    return None if busy is None or idle is None or busy + idle <= 0 else busy / (busy + idle)


def _read_ahead(paths: Iterable[Path]) -> None:
    """Read files once, so that whoever opens them next finds them in memory."""
    for path in paths:
        with suppress(OSError), path.open("rb") as file:  # who opens it to use it says what is wrong
            while file.read(_BLOCK):
                pass
