"""The stage that turns truth and predictions into rows, part by part, and keeps what is finished.

Parts are written as they come. When the work is killed or a part fails, the finished ones stay in the
unfinished run's folder, and the next start of the same run computes only the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.core.engine import Done, Engine, Failed, In, Out, ReportingEngine, Work, WorkEngine
from evenhand.core.errors import PartError, RunError, StorageError
from evenhand.core.records import Records
from evenhand.core.task import no_progress
from evenhand.files import inputs
from evenhand.files.writing import link_file, make_folder, remove, write_file
from evenhand.store import packed
from evenhand.store.rows import from_parquet, to_parquet
from evenhand.store.runs import RECORDED, RECORDS, Part, RecordedParts, read_recorded

KEPT = "kept"  # outcomes of the engine, in the folder of an unfinished run
_ROWS, _OTHER = ".parquet", ".outcome"


class CheckpointingEngine(WorkEngine):
    """An engine that keeps the outcomes of finished parts on disk, and does not compute them again.

    A part is known by its number in the call and by the number of the call; both are fixed by the
    protocol, and the folder belongs to one fingerprint. Its content is checked by the hash in its name.
    An engine that tells of parts before their turn has come is listened to, so that they are kept at once.
    """

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine, self.folder = engine, folder
        self.latest: tuple[Records, Path, str] | None = None  # what was handed out last, its file and hash
        self._calls = 0
        make_folder(folder)

    @property
    def name(self) -> str:
        return self.engine.name

    def run(self, work: Work[In, Out], parts: Iterable[In]) -> Iterator[Done[Out] | Failed]:
        """The outcome of every part, in order; from disk where it was finished before."""
        call = self._calls
        self._calls += 1
        have = self._on_disk(call)
        stored: dict[int, Path] = {}
        numbers: list[int] = []  # of the parts that the engine is given

        def rest() -> Iterator[In]:
            for number, part in enumerate(parts):
                if number not in have:
                    numbers.append(number)
                    yield part

        def keep(outcome: Done[Any] | Failed) -> None:
            if isinstance(outcome, Done) and (number := numbers[outcome.part]) not in stored:
                path = self._keep(call, number, outcome.value)
                if path is not None:
                    stored[number] = path

        coming = work.on(reporting_to(self.engine, keep), rest())
        number = 0
        while True:
            if number in have:
                value: Any = _read(have[number])
                self._hand_out(value, have[number])
                yield Done(number, value)
            else:
                outcome = next(coming, None)
                if outcome is None:
                    return
                keep(outcome)
                if isinstance(outcome, Failed):
                    yield Failed(number, outcome.cause, outcome.detail)
                else:
                    self._hand_out(outcome.value, stored.get(number))
                    yield Done(number, outcome.value)
            number += 1

    def _hand_out(self, value: Any, path: Path | None) -> None:
        self.latest = (value, path, _digest_in(path)) if path is not None and isinstance(value, Records) else None

    def _keep(self, call: int, number: int, value: Any) -> Path | None:
        """The file in which an outcome is kept; None when it is not worth it."""
        data = to_parquet(value) if isinstance(value, Records) else packed.to_bytes(value)
        if data is None:
            return None
        suffix = _ROWS if isinstance(value, Records) else _OTHER
        path = self.folder / f"{call:03d}-{number:06d}-{_hash(data)}{suffix}"
        write_file(path, data, flush=False)
        return path

    def _on_disk(self, call: int) -> dict[int, Path]:
        have = {}
        for path in self.folder.glob(f"{call:03d}-*"):
            if path.suffix in (_ROWS, _OTHER) and _hash(path.read_bytes()) == _digest_in(path):
                have[int(path.stem.split("-")[1])] = path
        return have


def reporting_to(engine: Engine, on_outcome: Callable[[Done[Any] | Failed], None]) -> Engine:
    """The same engine; one that can tell of outcomes before their turn has come does so."""
    return engine.with_listener(on_outcome) if isinstance(engine, ReportingEngine) else engine


def kept_parts(folder: Path) -> int:
    """How many finished parts an unfinished run has on disk."""
    rows = sum(1 for _ in (folder / RECORDS).glob(f"*{_ROWS}"))
    return max(rows, sum(1 for path in (folder / KEPT).glob("*") if path.suffix in (_ROWS, _OTHER)))


@dataclass
class Recorder:
    """Checks the parts of a protocol, writes them where they are stored, and holds them where they are asked for."""

    task: str
    folder: Path | None = None
    checkpoints: CheckpointingEngine | None = None
    hold: bool = False
    progress: Callable[[int, int | None, str], None] = no_progress
    parts: list[Part] = field(default_factory=list)
    held: list[Records] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.folder is not None:
            remove(self.folder, below=self.folder.parent)
            make_folder(self.folder)

    def through(self, parts: Iterable[Records]) -> Iterator[Records]:
        """The same parts, once each is on disk."""
        for number, rows in enumerate(parts):
            if "item" not in rows:  # a row without a `unit` is its own unit
                raise PartError(f"{self.task}: part {number} has no column 'item'; every row needs one.")
            if self.folder is not None:
                self.parts.append(self._store(rows, self.folder / f"part-{number:04d}.parquet"))
            if self.hold:
                self.held.append(rows)
            self.progress(number + 1, None, "parts recorded")
            yield rows

    def _store(self, rows: Records, path: Path) -> Part:
        latest = self.checkpoints.latest if self.checkpoints is not None else None
        if latest is not None and latest[0] is rows:
            _, kept, digest = latest
            with suppress(StorageError):
                link_file(kept, path)
                return Part(path.name, len(rows), digest)
        data = to_parquet(rows)
        write_file(path, data, flush=False)
        return Part(path.name, len(rows), _hash(data))


def stored_before(records: Path, fingerprint: str) -> RecordedParts | None:
    """What was recorded in a folder, when it is whole and of that fingerprint."""
    if not (records / RECORDED).exists():
        return None
    try:
        recorded = read_recorded(records)
        if recorded.fingerprint != fingerprint:
            return None
        for part in recorded.parts:
            if not inputs.has_hash(records / part.name, part.hash, RunError):
                return None
    except RunError:
        return None
    return recorded


def share(source: Path, target: Path) -> None:
    """Give the stored rows of one run to another: the same files where the disk can, else copies."""
    remove(target, below=target.parent)
    make_folder(target)
    for path in sorted(source.iterdir()):
        link_file(path, target / path.name)


def _read(path: Path) -> Any:
    data = path.read_bytes()
    return from_parquet(data, str(path)) if path.suffix == _ROWS else packed.from_bytes(data)


def _digest_in(path: Path) -> str:
    return path.stem.rpartition("-")[2]


def _hash(data: bytes) -> str:
    return inputs.content_hash(data)
