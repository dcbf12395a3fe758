"""A small watchlist that is written on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import pytest

from evenhand import api
from evenhand.compat.uccs.outcomes import SystemOutcome, outcome_of

FACES = "FILE,FACE_ID,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT"
FOUND = "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT"


class Write(Protocol):
    """Writes a file of lines below the test's folder."""

    def __call__(self, name: str, *lines: str, end: str = "\n") -> Path: ...


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def make(name: str, *lines: str, end: str = "\n") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(("\n".join(lines) + end).encode())
        return path

    return make


@pytest.fixture
def data(write: Write, tmp_path: Path) -> Path:
    """Two images: a known face (7) and a stranger in the first, a known face (9) in the second."""
    write("data/validation.csv", FACES, "a.jpg,1,7,0,0,10,10", "a.jpg,2,-1,100,0,10,10", "b.jpg,3,9,0,0,10,10")
    write("data/exclude_gallery_validation.txt", end="")
    return tmp_path / "data"


def detected(path: Path, data: Path, **options: Any) -> SystemOutcome:
    """A detection file evaluated by the task, in the words of the challenge."""
    return outcome_of(api.evaluate("uccs/detection", path, data=data, options=options, draws=0, rows="all"))


def identified(path: Path, data: Path, **options: Any) -> SystemOutcome:
    """A recognition file evaluated by the task, in the words of the challenge."""
    run = api.evaluate("uccs/identification", path, data=data, options=options, draws=0, rows="all")
    return outcome_of(run)


@pytest.fixture(name="detected")
def _detected() -> Any:
    return detected


@pytest.fixture(name="identified")
def _identified() -> Any:
    return identified
