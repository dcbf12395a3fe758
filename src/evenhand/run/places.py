"""Where runs are filed: RUNS/family/task/model/fingerprint."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from evenhand.core.errors import RunError
from evenhand.store.manifest import FILENAME, read_manifest
from evenhand.store.runs import PREDICTIONS


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
