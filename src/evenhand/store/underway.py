"""A note beside a run that is being made: what it is, and how much there is to do.

Whoever follows the run reads it; it is gone when the run has its name.
"""

from __future__ import annotations

from pathlib import Path

from evenhand.files.writing import remove, write_file
from evenhand.store.plain import dumps

UNDERWAY = "underway.json"


def note_underway(folder: Path, *, task: str, model: str, samples: int) -> None:
    """Say in an unfinished run's folder what it will be."""
    write_file(folder / UNDERWAY, dumps({"task": task, "model": model, "samples": samples}), flush=False)


def forget_underway(folder: Path) -> None:
    """Remove the note, before the run gets its name."""
    remove(folder / UNDERWAY, below=folder)
