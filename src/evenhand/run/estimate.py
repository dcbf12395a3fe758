"""What an evaluation would cost, before it is started: bytes, multiply-adds, seconds.

The seconds come from a probe of this machine, or of the cluster: about a second of products, parsing and plain
Python, on as many workers as the work would have. Its answer is kept in RUNS/.cache, where a folder of runs is there
already, and used for a day. An estimate is good to a factor of two or three, enough to tell minutes from days.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from evenhand.core.engine import Engine, SizedEngine, Workplace, finished
from evenhand.core.task import Dataset, Task
from evenhand.files.writing import write_file
from evenhand.store.caches import FOLDER as CACHE
from evenhand.store.manifest import fingerprint, versions

PROBE_SECONDS = 0.25  # of each kind of work
KEPT_SECONDS = 86_400.0
_SIDE = 1024
_STEPS_PER_SAMPLE = 400  # of plain Python, from answer to row, over all families
_SPARSE = 8.0  # drawing is made of thin and sparse products, slower than square ones by so much
_START = 0.5  # seconds for imports, hashes and files


class MachineRates(NamedTuple):
    """What was measured: all workers together, but for parsing and plain Python, which run here."""

    workers: int
    multiply_adds: float  # a second, single precision
    parsed_bytes: float
    python_steps: float


@dataclass(frozen=True)
class Cost:
    """What an evaluation reads, multiplies and writes down."""

    bytes_read: int
    multiply_adds: int  # of recording: similarities and distances
    drawn: int  # multiply-adds of intervals and permutations, at most
    samples: int
    seconds_loading: float  # measured: the data were loaded to make the estimate

    def seconds(self, rates: MachineRates) -> float:
        """How long it takes, roughly."""
        return (
            _START
            + self.seconds_loading
            + self.bytes_read / rates.parsed_bytes
            + self.samples * _STEPS_PER_SAMPLE / rates.python_steps
            + self.multiply_adds / rates.multiply_adds
            + self.drawn * rates.workers * _SPARSE / rates.multiply_adds
        )


def cost_of(
    task: Task[Any, Any],
    dataset: Dataset[Any],
    predictions: Sequence[Path],
    options: Any,
    *,
    draws: int,
    groups: int,
    seconds_loading: float,
) -> Cost:
    """What evaluating these files costs."""
    read = sum(fact.size for fact in dataset.inputs) + sum(_size(path) for path in predictions)
    recording = 0 if task.cost is None else sum(task.cost(dataset, path, options) for path in predictions)
    metrics = len(task.metrics(options))
    drawn = 2 * draws * metrics * min(len(dataset.samples) * groups, len(dataset.samples) + 1000 * groups)
    samples = len(dataset.samples) * len(predictions)
    return Cost(read, recording, drawn * len(predictions), samples, seconds_loading)


def measured_rates(engine: Engine, runs: Path | None = None, now: float | None = None) -> MachineRates:
    """The rates of this machine or cluster; from the cache when they were measured within a day."""
    now = time.time() if now is None else now
    cached = None
    if runs is not None and runs.is_dir():
        cached = runs / CACHE / "probe" / f"{fingerprint(engine.name, versions())[:16]}.json"
        if cached.is_file() and 0 <= now - cached.stat().st_mtime < KEPT_SECONDS:
            try:
                return MachineRates(*json.loads(cached.read_bytes()))
            except (ValueError, TypeError):  # damaged: it is measured again
                pass
    rates = probe(engine)
    if cached is not None:
        write_file(cached, json.dumps(rates), below=runs, flush=False)
    return rates


def probe(engine: Engine) -> MachineRates:
    """Measure products on all workers of an engine, parsing and plain Python here."""
    workers = engine.size() if isinstance(engine, SizedEngine) else 1
    list(finished(engine.map(_multiply, [0.0] * workers)))  # they are started, and libraries loaded
    products = sum(finished(engine.map(_multiply, [PROBE_SECONDS] * workers)))
    return MachineRates(workers, products, _parse(PROBE_SECONDS), _step(PROBE_SECONDS))


def _multiply(seconds: float, place: Workplace) -> float:
    left, right = np.ones((_SIDE, 512), np.float32), np.ones((512, _SIDE), np.float32)
    out = left @ right
    return _SIDE * _SIDE * 512 / _quickest(lambda: np.matmul(left, right, out=out), seconds)


def _parse(seconds: float) -> float:
    text = json.dumps([{"id": f"{number}.jpg", "box": [1.5, 2.5, 3.5, number]} for number in range(2_000)]).encode()
    return len(text) / _quickest(lambda: msgspec.json.decode(text), seconds)


def _step(seconds: float) -> float:
    return 1000 / _quickest(lambda: sum(number >= 0 for number in range(1000)), seconds)


def _quickest(work: Callable[[], Any], seconds: float) -> float:
    """The shortest time that some work takes within a span; others on the machine make it longer, never shorter."""
    end, best = time.perf_counter() + seconds, float("inf")
    while best == float("inf") or time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return max(best, 1e-9)


def _size(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else 0
