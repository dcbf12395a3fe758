"""Where runs are filed: RUNS/family/task/model/fingerprint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path

from evenhand.core.errors import RunError
from evenhand.store.journal import read_journal
from evenhand.store.manifest import FILENAME, read_manifest
from evenhand.store.runs import PREDICTIONS
from evenhand.store.unfinished import Claim, claim, lock_folder, unfinished

JOURNAL = "journal"


def folder_of(runs: Path, task: str, model: str) -> Path:
    """The folder below which all runs of a model for a task lie."""
    return runs.joinpath(*(folder_name(part) for part in task.split("/")), folder_name(model))


def folder_name(text: str) -> str:
    """A text as the name of a folder: letters, digits and `-_.=+`, never hidden.

    >>> folder_name("openai:gpt 4o"), folder_name("../x")
    ('openai-gpt-4o', '-x')
    """
    name = "".join(letter if letter.isalnum() or letter in "-_.=+" else "-" for letter in text).lstrip(".")
    return name[:100] or "unnamed"


def model_of(predictions: Path) -> str:
    """Who gave these answers: the model that `predict` asked, where it wrote the file, else the file's name."""
    folder = predictions.parent.parent
    if predictions.parent.name == PREDICTIONS and (folder / FILENAME).is_file():
        with suppress(RunError):
            return read_manifest(folder).model
    return predictions.stem or predictions.name


def place_of(parent: Path, fingerprint: str) -> Path:
    """The folder that a fingerprint names: eight digits, or more where those are taken by another."""
    for digits in (8, 16):
        folder = parent / fingerprint[:digits]
        if not (folder / FILENAME).exists():
            return folder
        try:
            if read_manifest(folder).fingerprint == fingerprint:
                return folder
        except RunError:  # damaged or newer: opening it gives an error, --force replaces it
            return folder
    return parent / fingerprint


@dataclass(frozen=True)
class PredictionPlace:
    """Where the predictions of one model for one question on one data set are kept: a1b2c3d4, a1b2c3d4-2, …"""

    parent: Path
    stem: str

    def finished(self) -> Path | None:
        """The latest finished one."""
        folders = list(takewhile(lambda folder: (folder / FILENAME).exists(), self._folders()))
        return folders[-1] if folders else None

    def free(self) -> Path:
        """The first folder that is not there yet."""
        return next(folder for folder in self._folders() if not folder.exists())

    def interrupted(self) -> list[Path]:
        """Folders that hold answers and no official file yet."""
        folders = (*unfinished(self.parent, self.stem), *unfinished(self.parent, f"{self.stem}-*"))
        return [folder for folder in folders if any((folder / JOURNAL).glob("shard-*"))]

    def take(self, *, resume: bool) -> Claim:
        """The interrupted run, when it is to go on; else a new one."""
        interrupted = self.interrupted()
        if interrupted and not resume:
            answers = len(read_journal(interrupted[0] / JOURNAL))
            raise RunError(
                f"{interrupted[0]} holds {answers} answers of an interrupted run. Go on with --resume, "
                "or remove the folder to ask everything again."
            )
        for folder in interrupted:
            lock = lock_folder(folder)
            if lock is not None:
                return Claim(self.stem, folder, adopted=True, _lock=lock)
        if interrupted:
            raise RunError(f"{interrupted[0]} is being written by another process, which asks the same question.")
        return claim(self.parent, self.free().name)

    def _folders(self) -> Iterator[Path]:
        yield self.parent / self.stem
        for number in count(2):
            yield self.parent / f"{self.stem}-{number}"
