"""A model run over a protocol, in a process of its own.

The process is started before the first item and builds the model once. An item that raises is recorded with its
traceback and the next one follows; when the process itself dies (memory, a crash in a driver), the item it was busy
with is recorded and a new process takes the next one. So a video costs at most itself.

Every finished item is a line of `journal.jsonl` in the model's output folder, written through to the disk. With
`resume`, items whose line fits what is asked now and whose pictures are there are not asked again.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import pickle
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.machinery import PathFinder
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evenhand.benchmarks.synthesis.items import Item
from evenhand.benchmarks.synthesis.models import Before, SynthesisAnswer, SynthesisModel
from evenhand.benchmarks.synthesis.protocol import Protocol
from evenhand.core.errors import ModelError
from evenhand.core.task import Sample, Unanswered
from evenhand.files.safe_path import safe_path
from evenhand.files.writing import append_file, remove

JOURNAL = "journal.jsonl"
StartMethod = Literal["spawn", "fork", "here"]


@dataclass(frozen=True)
class Unfinished:
    """An item without pictures, and why."""

    cause: str
    detail: str = ""  # the traceback, where there is one


class Outcome(NamedTuple):
    """An item with its pictures, or with the reason why there are none."""

    item: Item
    answer: SynthesisAnswer | Unfinished
    resumed: bool = False


def run_model(
    model: SynthesisModel,
    protocol: Protocol,
    *,
    start: StartMethod | None = None,
    resume: bool = False,
    time_limit: float | None = None,
) -> Iterator[Outcome]:
    """The outcome of every item, in the order of the protocol.

    `start` is how the model's process comes to life: `spawn` (a fresh interpreter; the model must be picklable),
    `fork` (a copy of this one), or `here` (no process: for debugging, and for models that live in this one). Without
    it, `spawn` where the model can be handed over that way, else `fork`. `time_limit` (seconds) bounds one item.
    """
    journal = _Journal(Path(model.output_dir) / JOURNAL, resume=resume)
    taken: dict[str, str] = {}
    own = cross = 0
    with closing(_host(model, start)) as worker:
        for item in protocol:
            before = Before(own, cross)
            own, cross = own + len(item.own.images), cross + (len(item.cross.images) if item.cross else 0)
            known = journal.find(item)
            answer = known or _checked(worker.ask(item.name, "answer", (item, before), time_limit), item, taken)
            if isinstance(answer, SynthesisAnswer):
                taken.update(dict.fromkeys((*answer.own, *answer.cross), item.name))
                if known is None:
                    journal.write(item, answer)
            yield Outcome(item, answer, known is not None)


def answer_samples(
    model: SynthesisModel, samples: Iterable[Sample], *, start: StartMethod | None = None
) -> Iterator[tuple[str, tuple[str, ...] | Unanswered]]:
    """The pictures of every sample of a task, or the reason why there are none; one process, as in `run_model`."""
    with closing(_host(model, start)) as worker:
        for sample in samples:
            given = Sample(sample.id, sample.media, dict(sample.given))
            reply = worker.ask(sample.id, "answer_sample", (given,), None)
            if isinstance(reply, Unfinished):
                yield sample.id, Unanswered(reply.cause.removeprefix(f"{sample.id}: "))
            else:
                yield sample.id, tuple(reply)


def _host(model: SynthesisModel, start: StartMethod | None) -> _Worker | _Here:
    return _Here(model) if start == "here" else _Worker(model, start or _best_start(model))


def _checked(
    answer: SynthesisAnswer | Unfinished, item: Item, taken: Mapping[str, str]
) -> SynthesisAnswer | Unfinished:
    """The answer, unless its pictures are not there or are those of an earlier item."""
    if isinstance(answer, Unfinished):
        return answer
    for path in (*answer.own, *answer.cross):
        if path in taken:
            return Unfinished(
                f"{item.name}: {path} was returned for {taken[path]} before, whose pictures are now overwritten. "
                "Give every picture a name of its own; num_preds_si and num_preds_ci are kept for that."
            )
        if not Path(path).is_file():
            return Unfinished(f"{item.name}: {path} was returned, but there is no such file.")
    return answer


class _Here:
    """The model in this process."""

    def __init__(self, model: SynthesisModel) -> None:
        self._model, self._built = model, False

    def ask(self, name: str, method: str, arguments: tuple[Any, ...], time_limit: float | None) -> Any:
        if not self._built:
            self._model.build_model()
            self._built = True
        return _answer(self._model, name, method, arguments)

    def close(self) -> None:
        if self._built:
            self._model.terminate()


class _Worker:
    """The model in a process of its own, which is started again when it dies."""

    def __init__(self, model: SynthesisModel, start: Literal["spawn", "fork"]) -> None:
        if start not in multiprocessing.get_all_start_methods():
            raise ModelError(f"this system can't start a process by {start!r}. Use spawn.")
        self._context: Any = multiprocessing.get_context(start)
        self._model = model
        self._process: Any = None
        self._connection: Connection | None = None

    def ask(self, name: str, method: str, arguments: tuple[Any, ...], time_limit: float | None) -> Any:
        """What a method of the model returned, or an `Unfinished`."""
        connection = self._alive()
        try:
            connection.send((name, method, arguments))
            if not wait([connection, self._process.sentinel], time_limit):
                self._kill()
                return Unfinished(f"{name}: no answer within {time_limit:g} seconds; its process was ended.")
            return connection.recv()
        except (EOFError, OSError):
            return Unfinished(f"{name}: the model's process ended ({self._last_words()}).")

    def close(self) -> None:
        if self._process is None:
            return
        try:
            if self._connection is not None:
                self._connection.send(None)
            self._process.join(60)
        except OSError:
            pass
        self._kill()

    def _alive(self) -> Connection:
        if self._connection is None:
            self._connection, theirs = self._context.Pipe()
            self._process = self._context.Process(target=_serve, args=(self._model, theirs), daemon=False)
            try:
                with safe_path():
                    self._process.start()
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                self._process = None
                raise ModelError(
                    f"{self._model.name} can't be handed to a fresh process ({error}). Define its class in a module, "
                    "make the network in build_model and not in __init__, or start it with 'fork'."
                ) from None
            theirs.close()
            try:
                built = self._connection.recv()
            except EOFError:
                raise ModelError(f"the model's process ended before it was built ({self._last_words()}).") from None
            if isinstance(built, Unfinished):
                self._kill()
                raise ModelError(f"build_model of {self._model.name} failed: {built.cause}\n{built.detail}")
        return self._connection

    def _last_words(self) -> str:
        self._process.join(10)
        code = self._process.exitcode
        self._kill()
        return f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"

    def _kill(self) -> None:
        if self._process is not None and self._process.is_alive():
            self._process.kill()
            self._process.join()
        if self._connection is not None:
            self._connection.close()
        self._process = self._connection = None


def _serve(model: SynthesisModel, connection: Connection) -> None:
    """What the model's process does: build, answer items until there are none, terminate."""
    try:
        model.build_model()
    except Exception as error:  # reported to the parent process
        connection.send(Unfinished(f"{type(error).__name__}: {error}", traceback.format_exc()))
        return
    connection.send(None)
    try:
        while True:
            try:
                job = connection.recv()
            except EOFError:
                return
            if job is None:
                return
            connection.send(_answer(model, *job))
    finally:
        model.terminate()


def _answer(model: SynthesisModel, name: str, method: str, arguments: tuple[Any, ...]) -> Any:
    try:
        return getattr(model, method)(*arguments)
    except Exception as error:  # an item that raises must not take the others with it
        return Unfinished(f"{name}: {type(error).__name__}: {error}", traceback.format_exc())


def _best_start(model: SynthesisModel) -> Literal["spawn", "fork"]:
    """`spawn` where the model can be handed over that way, else `fork`.

    A model that lives in a notebook or in a console has no module that a fresh interpreter could import.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return "spawn"
    home = type(model).__module__
    importable = PathFinder.find_spec(home.partition(".")[0]) is not None
    if not (importable or (home == "__main__" and getattr(sys.modules.get(home), "__file__", None))):
        return "fork"
    try:
        pickle.dumps(model)
    except Exception:  # whatever a foreign object raises when it can't be pickled
        return "fork"
    return "spawn"


class _Journal:
    """What was finished, line by line; a line that was cut off by a crash counts as absent.

    One file and not the shards of `store.journal`: the published layout of the folder has no other folders.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self._path = path
        self._lines: dict[str, dict[str, Any]] = {}
        self._whole = True  # whether the last line was finished
        if not resume:
            remove(path, below=path.parent)
        elif path.exists():
            text = path.read_text(encoding="utf-8")
            self._whole = text.endswith("\n") or not text
            for line in text.split("\n"):
                try:
                    entry = json.loads(line)
                    self._lines[entry["item"]] = entry
                except (json.JSONDecodeError, KeyError, TypeError):
                    continue

    def find(self, item: Item) -> SynthesisAnswer | None:
        """The pictures of an item, when they were made for these very frames and are still there."""
        entry = self._lines.get(item.name)
        if entry is None or entry.get("asked") != _fingerprint(item):
            return None
        answer = SynthesisAnswer(tuple(entry["own"]), tuple(entry["cross"]))
        return answer if all(Path(path).is_file() for path in (*answer.own, *answer.cross)) else None

    def write(self, item: Item, answer: SynthesisAnswer) -> None:
        entry = {"item": item.name, "asked": _fingerprint(item), "own": answer.own, "cross": answer.cross}
        with append_file(self._path) as file:
            file.write(("" if self._whole else "\n") + json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._whole = True


def _fingerprint(item: Item) -> str:
    """What was asked: the source, appearance and reference frames."""
    groups: Sequence[Sequence[Path]] = (
        item.source.images,
        item.own.images,
        item.cross.images if item.cross else (),
        item.appearance.images if item.appearance else (),
    )
    text = json.dumps([[str(path) for path in group] for group in groups])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
