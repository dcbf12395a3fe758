"""A model run over a protocol, in a process of its own: one worker of `engines.local`.

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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evenhand.benchmarks.synthesis.items import Item
from evenhand.benchmarks.synthesis.models import Before, SynthesisAnswer, SynthesisModel
from evenhand.benchmarks.synthesis.protocol import Protocol
from evenhand.core.engine import Done, Failed, Work, Workplace, cause_of
from evenhand.core.errors import ModelError
from evenhand.core.task import Sample, Unanswered
from evenhand.engines.local import PartWorker, ProcessWorker, WorkerHere, WorkerLostError
from evenhand.files.writing import append_file, remove, write_file

JOURNAL = "journal.jsonl"
StartMethod = Literal["spawn", "fork", "here"]
_PATIENCE = 60.0  # seconds for a model to finish and terminate


class Outcome(NamedTuple):
    """An item with its pictures, or with the reason why there are none."""

    item: Item
    answer: SynthesisAnswer | Failed
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
    with closing(_worker(model, start, time_limit)) as worker:
        for position, item in enumerate(protocol):
            before = Before(own, cross)
            own, cross = own + len(item.own.images), cross + (len(item.cross.images) if item.cross else 0)
            known = journal.find(item)
            answer = known or _asked(worker, position, item, before, taken)
            if isinstance(answer, SynthesisAnswer):
                taken.update(dict.fromkeys((*answer.own, *answer.cross), item.name))
                if known is None:
                    journal.write(item, answer)
            yield Outcome(item, answer, known is not None)


def answer_samples(
    model: SynthesisModel, samples: Iterable[Sample]
) -> Iterator[tuple[str, tuple[str, ...] | Unanswered]]:
    """The pictures of every sample of a task, or the reason why there are none; one process, as in `run_model`."""
    with closing(_worker(model)) as worker:
        for position, sample in enumerate(samples):
            given = Sample(sample.id, sample.media, dict(sample.given))
            outcome = _outcome(worker, position, "answer_sample", given)
            yield sample.id, Unanswered(outcome.cause) if isinstance(outcome, Failed) else tuple(outcome.value)


def _worker(model: SynthesisModel, start: StartMethod | None = None, time_limit: float | None = None) -> PartWorker:
    """What the model works in; it has all threads of linear algebra, for its numbers are its own."""
    work = _call, partial(_BuiltModel, model)
    method = start or _best_start(model)
    if method == "here":
        return WorkerHere(Work(*work), one_thread=False)
    if method not in multiprocessing.get_all_start_methods():
        raise ModelError(f"this system can't start a process by {method!r}. Use spawn.")
    payload: Any = work
    if method == "spawn":
        try:
            payload = pickle.dumps(work)  # by value, so that it serves for every start
        except Exception as error:  # whatever a foreign object raises when it can't be pickled
            raise ModelError(
                f"{model.name} can't be handed to a fresh process ({error}). Define its class in a module, "
                "make the network in build_model and not in __init__, or start it with 'fork'."
            ) from None
    return ProcessWorker(payload, time_limit=time_limit, one_thread=False, follows=False, patience=_PATIENCE)


@dataclass
class _BuiltModel:
    """A model at its place of work; built when it is set up there, terminated when it is closed."""

    model: SynthesisModel

    def __post_init__(self) -> None:
        try:
            self.model.build_model()
        except Exception as error:  # whatever a model raises
            raise ModelError(
                f"build_model of {self.model.name} failed: {cause_of(error)}\n{traceback.format_exc()}"
            ) from error

    def close(self) -> None:
        self.model.terminate()


def _call(part: tuple[Any, ...], place: Workplace) -> Any:
    """What a method of the model returns."""
    method, *arguments = part
    return getattr(place.kept.model, method)(*arguments)


def _outcome(worker: PartWorker, position: int, *part: Any) -> Done[Any] | Failed:
    """What became of a call of the model."""
    try:
        return worker.work(position, part)
    except WorkerLostError as error:
        raise ModelError(f"the model's process ended before it was built ({error.ending}).") from None


def _asked(
    worker: PartWorker, position: int, item: Item, before: Before, taken: Mapping[str, str]
) -> SynthesisAnswer | Failed:
    """The model's answer, unless its pictures are not there or are those of an earlier item."""
    outcome = _outcome(worker, position, "answer", item, before)
    if isinstance(outcome, Failed):
        return replace(outcome, cause=f"{item.name}: {outcome.cause}")
    answer: SynthesisAnswer = outcome.value
    for path in (*answer.own, *answer.cross):
        if path in taken:
            return Failed(
                position,
                f"{item.name}: {path} was returned for {taken[path]} before, whose pictures are now overwritten. "
                "Give every picture a name of its own; num_preds_si and num_preds_ci are kept for that.",
            )
        if not Path(path).is_file():
            return Failed(position, f"{item.name}: {path} was returned, but there is no such file.")
    return answer


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
        self._entries: dict[str, dict[str, Any]] = {}
        if not resume:
            remove(path, below=path.parent)
        elif path.exists():
            text = path.read_text(encoding="utf-8")
            for line in text.split("\n"):
                try:
                    entry = json.loads(line)
                    self._entries[entry["item"]] = entry
                except (json.JSONDecodeError, KeyError, TypeError):
                    continue
            if text and not text.endswith("\n"):  # what is appended begins a line
                write_file(path, "".join(json.dumps(entry) + "\n" for entry in self._entries.values()))

    def find(self, item: Item) -> SynthesisAnswer | None:
        """The pictures of an item, when they were made for these very frames and are still there."""
        entry = self._entries.get(item.name)
        if entry is None or entry.get("asked") != _fingerprint(item):
            return None
        answer = SynthesisAnswer(tuple(entry["own"]), tuple(entry["cross"]))
        return answer if all(Path(path).is_file() for path in (*answer.own, *answer.cross)) else None

    def write(self, item: Item, answer: SynthesisAnswer) -> None:
        entry = {"item": item.name, "asked": _fingerprint(item), "own": answer.own, "cross": answer.cross}
        with append_file(self._path) as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _fingerprint(item: Item) -> str:
    """What was asked: the source, own, cross and appearance frames."""
    groups = (item.source, item.own, item.cross, item.appearance)
    text = json.dumps([[str(path) for path in frames.images] if frames else [] for frames in groups])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
