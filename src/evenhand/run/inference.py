"""A model in a worker: loaded once, asked chunk by chunk, with the time in which it had to wait.

On a cluster a worker is in two chunks at once: while the model answers one, the pictures of the next are decoded
(`models.batched`) or at least read from the disk, so that the model finds them in memory.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.core.engine import Workplace
from evenhand.core.task import Model, ReadingCodec, Sample
from evenhand.models.batched import Batched, Meter

AT_ONCE = 2  # chunks that a worker of a cluster is in
_BLOCK = 1 << 20


@dataclass(frozen=True)
class LoadedModel:
    """A model at its place of work."""

    model: Model[Any]
    meter: Meter
    name: str = field(default_factory=lambda: secrets.token_hex(4))


class WorkerTime(NamedTuple):
    """What one worker has done so far: seconds of work, and seconds since it began."""

    worker: str
    busy: float
    span: float


class Answered(NamedTuple):
    """The answers to a chunk of samples, in plain values."""

    answers: list[tuple[str, Any]]
    time: WorkerTime


@dataclass
class WorkerTimes:
    """How long all workers worked and waited."""

    times: dict[str, WorkerTime] = field(default_factory=dict)

    def note(self, time: WorkerTime) -> None:
        """Take in what a worker says; the longest span counts, for chunks of one worker may come in any order."""
        known = self.times.get(time.worker)
        if known is None or time.span > known.span:
            self.times[time.worker] = time

    def seconds(self) -> dict[str, float]:
        """For the clock of the run; empty when nothing was measured.

        >>> times = WorkerTimes()
        >>> times.note(WorkerTime("a", 9.0, 10.0))
        >>> times.seconds(), round(utilisation(times.seconds()), 3)
        ({'model working': 9.0, 'model waiting': 1.0}, 0.9)
        """
        busy = sum(time.busy for time in self.times.values())
        span = sum(time.span for time in self.times.values())
        return {"model working": busy, "model waiting": max(0.0, span - busy)} if span else {}


def utilisation(seconds: Any) -> float | None:
    """The share of time in which the models worked, from the clock of a run; None when it was not measured."""
    busy, idle = seconds.get("model working"), seconds.get("model waiting")
    return None if busy is None or idle is None or busy + idle <= 0 else float(busy / (busy + idle))


def load_model(make: Callable[[], Model[Any]]) -> LoadedModel:
    """The model, loaded where it will work."""
    model = make()
    return LoadedModel(model, meter_of(model) or Meter())


def meter_of(model: Any) -> Meter | None:
    """The meter of a model that has one of its own."""
    return model.meter if isinstance(model, Batched) else None


def answer_chunk(
    codec: ReadingCodec[Any],
    plain: Callable[[ReadingCodec[Any], Any], Any],
    samples: Sequence[Sample],
    place: Workplace,
) -> Answered:
    """The answers of the worker's model to some samples."""
    loaded: LoadedModel = place.kept
    if isinstance(loaded.model, Batched):
        answers = list(loaded.model.predict(iter(samples)))
    else:
        read_ahead(path for sample in samples for path in sample.media)
        with loaded.meter.working():
            answers = list(loaded.model.predict(iter(samples)))
    given = [(sample, plain(codec, answer)) for sample, answer in answers]
    return Answered(given, WorkerTime(loaded.name, loaded.meter.busy, loaded.meter.span))


def read_ahead(paths: Iterable[Path]) -> None:
    """Read files once, so that whoever opens them next finds them in memory."""
    for path in paths:
        with suppress(OSError), path.open("rb") as file:  # who opens it to use it says what is wrong
            while file.read(_BLOCK):
                pass
