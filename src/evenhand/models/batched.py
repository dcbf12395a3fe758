"""Models that leave decoding to evenhand: pictures are read while the network is busy with others.

```python
from evenhand.models.batched import Batched


class Detector(Batched):
    name = "my detector"

    def decode(self, sample):                 # runs in threads, ahead of the network
        return cv2.imread(str(sample.media[0]))

    def infer(self, samples, pictures):       # one call at a time, a batch at a time
        return [self.network(picture) for picture in pictures]
```

How long the network worked and how long it waited is measured.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import Any, ClassVar

from evenhand.core.task import Sample, Unanswered

_BATCHES_AHEAD = 3


@dataclass
class Meter:
    """How long a model worked, between its first start and its last end; several threads may use it."""

    busy: float = 0.0  # seconds
    first: float | None = None
    last: float = 0.0
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def span(self) -> float:
        """Seconds from the first start to the last end."""
        return 0.0 if self.first is None else self.last - self.first

    @contextmanager
    def working(self) -> Iterator[None]:
        """While it is open the model works, and no other thread asks it."""
        with self._one_at_a_time:
            begin = monotonic()
            if self.first is None:
                self.first = begin
            try:
                yield
            finally:
                self.last = monotonic()
                self.busy += self.last - begin


class Batched(ABC):
    """A model in two steps; `predict` puts them together."""

    name: str
    batch: ClassVar[int] = 16  # samples that `infer` is given at a time
    readers: ClassVar[int] = 2  # threads that decode

    @abstractmethod
    def decode(self, sample: Sample) -> Any:
        """What the network needs of a sample; a sample for which it raises is unanswered, with the reason."""

    @abstractmethod
    def infer(self, samples: Sequence[Sample], decoded: Sequence[Any]) -> Iterable[Any]:
        """One answer per sample, in their order."""

    @property
    def meter(self) -> Meter:
        """How long the network has worked and waited so far."""
        found: Meter = self.__dict__.setdefault("_meter", Meter())
        return found

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, Any]]:
        """The answers, in the order of the samples; decoding runs a few batches ahead of the network."""
        meter, source = self.meter, iter(samples)
        ahead: deque[list[tuple[Sample, Future[Any]]]] = deque()
        with ThreadPoolExecutor(self.readers, thread_name_prefix="decoding") as pool:
            try:
                while True:
                    while len(ahead) < _BATCHES_AHEAD and (some := list(islice(source, self.batch))):
                        ahead.append([(sample, pool.submit(self.decode, sample)) for sample in some])
                    if not ahead:
                        return
                    batch = ahead.popleft()
                    ready: list[tuple[Sample, Any]] = []
                    for sample, future in batch:
                        error = future.exception()
                        if error is not None:
                            yield sample.id, Unanswered(f"{type(error).__name__}: {error}")
                        else:
                            ready.append((sample, future.result()))
                    if ready:
                        with meter.working():
                            answers = list(self.infer([sample for sample, _ in ready], [value for _, value in ready]))
                        for (sample, _), answer in zip(ready, answers, strict=True):
                            yield sample.id, answer
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
