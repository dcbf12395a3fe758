"""Answers as they come, in shards that are whole or absent.

A shard is closed when it has enough answers or has been open long enough; it is written under a
temporary name, flushed and renamed. Beside the shards, `asked` lists every sample that was handed to the
model, so that after a crash it is known which ones are asked a second time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import IO, Any

import msgspec
import numpy as np

from evenhand.core.errors import RunError
from evenhand.core.task import Unanswered
from evenhand.files import inputs
from evenhand.files.writing import append_file, make_folder, storing, write_file
from evenhand.store.packed import KINDS, packed, unpacked

SHARD_ANSWERS = 256
SHARD_SECONDS = 2.0
_SHARD = re.compile(r"shard-(\d{6})\.msgpack")


class UnwritableError(ValueError):
    """An answer with something in it that is no JSON value and no array."""


@dataclass
class Journal:
    """The shards in a folder, and the one that is still open."""

    folder: Path
    most_answers: int = SHARD_ANSWERS
    most_seconds: float = SHARD_SECONDS
    _open: list[msgspec.Raw] = field(default_factory=list)
    _since: float = 0.0
    _next: int = 0
    _asked: IO[str] | None = None
    _files: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        make_folder(self.folder)
        self._next = 1 + max((number for number, _ in _shards(self.folder)), default=-1)
        self._asked = self._files.enter_context(append_file(self.folder / "asked"))

    def ask(self, sample: str) -> None:
        """Note that a sample is handed to the model."""
        assert self._asked is not None
        with storing(self.folder / "asked"):
            self._asked.write(json.dumps(sample) + "\n")
            self._asked.flush()

    def add(self, sample: str, answer: Any) -> None:
        """Note an answer, in plain values, or that there is none (`Unanswered`).

        Raises UnwritableError when the answer is neither JSON values nor arrays.
        """
        kind, plain = ("unanswered", answer.reason) if isinstance(answer, Unanswered) else ("answer", answer)
        entry = msgspec.Raw(_encode((sample, kind, plain)))
        if not self._open:
            self._since = monotonic()
        self._open.append(entry)
        if len(self._open) >= self.most_answers or monotonic() - self._since >= self.most_seconds:
            self.close_shard()

    def close_shard(self) -> None:
        """Write what is open."""
        if not self._open:
            return
        write_file(self.folder / f"shard-{self._next:06d}.msgpack", _encode(self._open))
        self._next += 1
        self._open = []

    def close(self) -> None:
        """Write what is open, and let go of the files."""
        try:
            self.close_shard()
        finally:
            with suppress(OSError):  # on a full disk the last line may be missing: it is a note, no answer
                self._files.close()


def read_journal(folder: Path) -> dict[str, Any]:
    """Every sample that has an entry, with its plain answer or `Unanswered`; the latest entry counts."""
    answers: dict[str, Any] = {}
    for _, path in sorted(_shards(folder)):
        data = inputs.read(path, RunError).data
        try:
            for sample, kind, plain in msgspec.msgpack.decode(data, ext_hook=unpacked):
                answers[sample] = Unanswered(plain) if kind == "unanswered" else plain
        except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
            raise RunError(
                f"{path} is damaged ({error}). Remove it and start again with --resume: its samples are asked again."
            ) from None
    return answers


def asked_before(folder: Path) -> frozenset[str]:
    """Every sample that was handed to the model."""
    path = folder / "asked"
    samples = set()
    for line in inputs.read(path, RunError, allow_empty=True).data.splitlines() if path.exists() else ():
        with suppress(ValueError, RecursionError):  # the last line of a killed process, or damaged: it is a note
            samples.add(str(json.loads(line)))
    return frozenset(samples)


def copy_answers(source: Path, target: Path) -> None:
    """A journal with the answers of another, without what was not answered."""
    answers = read_journal(source)
    journal = Journal(target)
    for sample, answer in answers.items():
        if not isinstance(answer, Unanswered):
            journal.ask(sample)
            journal.add(sample, answer)
    journal.close()


def _shards(folder: Path) -> Iterator[tuple[int, Path]]:
    for path in folder.glob("shard-*.msgpack"):
        if match := _SHARD.fullmatch(path.name):
            yield int(match[1]), path


def _encode(value: Any) -> bytes:
    try:
        return msgspec.msgpack.encode(value, enc_hook=_plain)
    except (TypeError, ValueError, OverflowError) as error:
        raise UnwritableError(str(error)) from None


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
        return packed(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__} is neither a JSON value nor an array")
