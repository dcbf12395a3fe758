"""Pictures through an instrument: decoded ahead in threads, measured in batches, each distinct content once.

What can't be measured is named, counted and left out, a file that hangs its decoder too; nothing else is lost with it.
While a network works on one batch the next is read, decoded and resized; `Waits` says how long it waited all the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError
from evenhand.files.arrays import FileArray, open_npy
from evenhand.files.writing import open_file, write_file
from evenhand.instruments.ahead import TIME_LIMIT, ahead
from evenhand.instruments.errors import PictureError
from evenhand.instruments.pictures import Loading, Picture, content_of, decode, read_bytes

SHARD = 1024
"""Readings that wait before a shard is written: what a run that is killed has to read again."""

Job = tuple[Path, ...]  # the pictures of one measurement: one, or two that are compared
Pictures = tuple[Picture, ...]
Vector = NDArray[np.floating]
Vectors = NDArray[np.floating]  # (measurements, numbers of one)


class Problem(NamedTuple):
    """A picture, or pair, that could not be measured."""

    position: int  # in the list that was asked for
    picture: str
    reason: str


@dataclass(frozen=True)
class Waits:
    """Where the time went: how long it took in all, and how long the network waited for pictures."""

    seconds: float
    waited: float
    measured: int  # by the instrument itself
    remembered: int  # from the cache, or the same content again

    @property
    def share(self) -> float:
        """The share of time that was spent waiting for pictures."""
        return self.waited / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Readings:
    """One row of values for each picture that could be measured, and the reasons for the others."""

    values: Vectors  # (measured, features)
    positions: NDArray[np.intp]  # (measured,) in the list that was asked for
    problems: tuple[Problem, ...]
    waits: Waits

    def complete(self, what: str) -> Vectors:
        """The values when every picture was measured; otherwise an error that counts and names the others."""
        if self.problems:
            first, count = self.problems[0], len(self.problems)
            asked = count + len(self.values)
            more = f" This and {count - 1} more of {asked} can't be measured by {what}." if count > 1 else ""
            raise PictureError(first.picture, first.reason + more)
        return self.values


@dataclass(frozen=True)
class Instrument:
    """How pictures become numbers. Exactly one of `together` (a network's batch) and `alone` (in a thread) is given."""

    fingerprint: str
    loading: Loading
    width: int  # numbers per measurement
    together: Callable[[Sequence[Pictures]], Vectors] | None = None
    alone: Callable[[Pictures], Sequence[float]] | None = None
    batch: int = 16
    workers: int = field(default_factory=lambda: min(4, os.cpu_count() or 1))
    limit: float = TIME_LIMIT  # seconds that reading a job's pictures may take
    depth: int | None = None  # jobs that are read ahead; None: enough for two batches


@dataclass(frozen=True)
class FileInstrument:
    """An instrument over files; keeps its readings below `cache` when one is named."""

    instrument: Instrument
    cache: Path | None = None
    remember: bool = False  # in memory, where there is no cache
    beneath: FileInstrument | None = None  # a detector that this one asks, picture by picture

    @property
    def fingerprint(self) -> str:
        """Name, weights and preparation: part of every result."""
        return self.instrument.fingerprint

    @cached_property
    def store(self) -> ReadingCache:
        """The readings that were taken before."""
        return ReadingCache(self.cache, self.fingerprint, remember=self.remember)

    def measured(self, jobs: Sequence[Job]) -> Readings:
        """What could be measured, and the reasons for the rest."""
        try:
            return measure(self.instrument, jobs, self.store)
        finally:
            self.flush()

    def flush(self) -> None:
        """Write new readings to the cache folder."""
        self.store.flush()
        if self.beneath is not None:
            self.beneath.flush()


class ReadingCache:
    """The stored readings of one instrument below `folder`, kept by what was read and what read it.

    A key is the SHA-256 of a file's bytes (two for a pair); a fingerprint names the instrument with its weights and
    preparation. Renaming a file changes nothing, changing a byte of it or of the weights reads anew. Readings lie in
    shards that are whole or absent: values are written first, and only a shard with its keys counts. A shard is written
    when enough readings wait for it, and at the end of a run.

    Without a folder nothing is kept, unless `remember` keeps it in memory: for few numbers that are asked for twice.
    """

    def __init__(self, folder: Path | None, fingerprint: str, *, remember: bool = False) -> None:
        self.fingerprint, self._remembers = fingerprint, remember
        self.place = folder / "readings" / hashlib.sha256(fingerprint.encode()).hexdigest()[:24] if folder else None
        self._rows: dict[str, tuple[FileArray, int]] = {}
        self._waiting: dict[str, Vector] = {}
        if self.place is not None and self.place.is_dir():
            for keys in sorted(self.place.glob("*.keys.npy")):
                self._open(keys)

    def __len__(self) -> int:
        return len(self._rows) + len(self._waiting)

    def get(self, key: str) -> Vector | None:
        """The reading kept under a key; None when there is none."""
        if key in self._waiting:
            return self._waiting[key]
        if key not in self._rows:
            return None
        values, row = self._rows[key]
        try:
            return values[row]
        except DataError:  # cut short or deleted meanwhile: the picture is read again
            return None

    def add(self, readings: Mapping[str, Vector]) -> None:
        """Keep readings; they are written with others as one shard."""
        if self.place is None and not self._remembers:
            return
        self._waiting.update(readings)
        if self.place is not None and len(self._waiting) >= SHARD:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self.place is None or not self._waiting:
            return
        keys = np.array(sorted(self._waiting))
        values = np.stack([self._waiting[key] for key in keys])
        name = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:24]
        about = self.place / "about.json"
        if not about.exists():
            write_file(about, json.dumps({"fingerprint": self.fingerprint}, indent=2), flush=False)
        for kind, array in (("values", values), ("keys", keys)):
            with open_file(self.place / f"{name}.{kind}.npy", "wb", flush=False) as file:
                np.save(file, array, allow_pickle=False)
        self._waiting = {}
        self._open(self.place / f"{name}.keys.npy")

    def _open(self, keys: Path) -> None:
        """Make a shard's readings findable; a damaged shard is passed over, and its pictures are read again."""
        try:
            names = np.load(keys, allow_pickle=False)
            values = open_npy(keys.with_name(keys.name.replace(".keys.", ".values.")))
        except (OSError, ValueError, EOFError, DataError):
            return
        if values.ndim == 2 and len(values) == len(names):
            self._rows.update({str(name): (values, row) for row, name in enumerate(names)})


def measure(instrument: Instrument, jobs: Sequence[Job], cache: ReadingCache) -> Readings:
    """Every job measured once, in order; pictures with the same bytes share one measurement.

    New readings are added to `cache`; whoever owns it flushes it when the run is over.
    """
    started = time.perf_counter()
    work = _Work(instrument, cache)
    waiting: list[tuple[str, Pictures]] = []
    waited = 0.0
    depth = 2 * instrument.batch + instrument.workers if instrument.depth is None else instrument.depth
    prepared = ahead(enumerate(jobs), work.prepare, workers=instrument.workers, depth=depth, limit=instrument.limit)
    late = f"was not read within {instrument.limit:g} seconds, so it is left out. Write it again."
    for (position, job), (outcome, seconds) in zip(enumerate(jobs), prepared, strict=True):
        waited += seconds
        done = outcome or _Prepared(position, _name_of(job), reason=late)
        work.note(done)
        if done.pictures is not None:
            waiting.append((done.key, done.pictures))
        if len(waiting) >= instrument.batch:
            work.run(waiting)
            waiting = []
    work.run(waiting)
    return work.readings(time.perf_counter() - started, waited)


class _Prepared(NamedTuple):
    """What a thread made of a job."""

    position: int
    name: str
    key: str = ""
    pictures: Pictures | None = None  # to be measured in a batch
    vector: Vector | None = None  # known or measured already
    reason: str = ""
    fresh: bool = False  # measured by the thread itself


class _Work:
    """The state of one call of `measure`."""

    def __init__(self, instrument: Instrument, cache: ReadingCache) -> None:
        self.instrument, self.cache = instrument, cache
        self.lock = threading.Lock()
        self.begun: set[str] = set()
        self.found: dict[str, Vector] = {}
        self.broken: dict[str, str] = {}
        self.order: list[_Prepared] = []
        self.measured = 0

    def prepare(self, numbered: tuple[int, Job]) -> _Prepared:
        """Read, identify and decode the pictures of a job; runs in a thread and never raises for a bad picture."""
        position, job = numbered
        name = _name_of(job)
        try:
            data = [read_bytes(path) for path in job]
            key = "+".join(content_of(part) for part in data)
            known = self.cache.get(key)
            if known is not None:
                return _Prepared(position, name, key, vector=known)
            with self.lock:
                again = key in self.begun
                self.begun.add(key)
            if again:
                return _Prepared(position, name, key)
            loading = self.instrument.loading
            try:
                pictures = tuple(decode(part, str(path), loading) for part, path in zip(data, job, strict=True))
                if self.instrument.alone is None:
                    return _Prepared(position, name, key, pictures=pictures)
                vector = np.asarray(self.instrument.alone(pictures), dtype=np.float64)
                return _Prepared(position, name, key, vector=vector, fresh=True)
            except PictureError as error:
                is_one = len(job) == 1 or error.picture in map(str, job)  # of a pair, the one that is to blame
                return _Prepared(position, error.picture if is_one else name, key, reason=error.reason)
        except PictureError as error:
            return _Prepared(position, error.picture, reason=error.reason)

    def note(self, done: _Prepared) -> None:
        """Write down what a thread found."""
        self.order.append(done._replace(pictures=None, vector=None))
        if done.reason and done.key:
            self.broken[done.key] = done.reason
        if done.vector is not None:
            self.found[done.key] = done.vector
            if done.fresh:
                self.measured += 1
                self.cache.add({done.key: done.vector})

    def run(self, batch: Sequence[tuple[str, Pictures]]) -> None:
        """Measure a batch; when one picture in it is refused, the others are measured one by one."""
        if not batch or self.instrument.together is None:
            return
        try:
            vectors = self.instrument.together([pictures for _, pictures in batch])
        except PictureError as error:
            if len(batch) == 1:
                self.broken[batch[0][0]] = error.reason
                return
            for keyed in batch:
                self.run([keyed])
            return
        measured = {key: np.asarray(vector) for (key, _), vector in zip(batch, vectors, strict=True)}
        self.found.update(measured)
        self.cache.add(measured)
        self.measured += len(batch)

    def readings(self, seconds: float, waited: float) -> Readings:
        problems, rows, positions = [], [], []
        for done in self.order:
            vector = self.found.get(done.key)
            if vector is None:
                reason = done.reason or self.broken.get(done.key, "was not measured.")
                problems.append(Problem(done.position, done.name, reason))
            else:
                rows.append(vector)
                positions.append(done.position)
        values = np.stack(rows) if rows else np.zeros((0, self.instrument.width), np.float32)
        waits = Waits(seconds, waited, self.measured, len(rows) - self.measured)
        return Readings(values, np.array(positions, np.intp), tuple(problems), waits)


def _name_of(job: Job) -> str:
    return " and ".join(str(path) for path in job)
