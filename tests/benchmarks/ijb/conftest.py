"""A tiny data set in the layout of IJB-B, with embeddings."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

HEADER = (
    "TEMPLATE_ID", "SUBJECT_ID", "FILENAME", "SIGHTING_ID", "FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT",
    "RIGHT_EYE_X", "RIGHT_EYE_Y", "LEFT_EYE_X", "LEFT_EYE_Y", "NOSE_X", "NOSE_Y", "FRAME_NUM",
)  # fmt: skip
PLACE = (10, 20, 30, 40, 18, 33, 30, 33, 24, 40, "NaN")


def write_csv(path: Path, rows: Iterable[Iterable[object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return path


class Official(NamedTuple):
    """What tests need to write protocol files of their own."""

    header: tuple[str, ...]
    place: tuple[object, ...]  # box, landmarks, frame
    write: Callable[[Path, Iterable[Iterable[object]]], Path]


@pytest.fixture
def official() -> Official:
    return Official(HEADER, PLACE, write_csv)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four people, two in each gallery, two probes each; embeddings that tell them apart."""
    rng = np.random.default_rng(8)
    centres = np.eye(4, 8)
    galleries: dict[str, list[list[object]]] = {"A": [], "B": []}
    probes: list[list[object]] = []
    faces: list[list[object]] = [["FACE_INDEX", "FILENAME", "SUBJECT_ID", "SIGHTING_ID", "FACE_SCORE"]]
    metadata: list[list[object]] = [[*HEADER[1:], "SKINTONE", "GENDER", "AGE"]]
    vectors = []
    for person in range(4):
        for place in range(3):
            number = len(vectors)
            name = f"img/{number}.jpg"
            row = [1 + number, 50 + person, name, 900 + number, *PLACE]
            (galleries["A" if person < 2 else "B"] if place == 0 else probes).append(row)
            faces.append([number, name, 50 + person, 900 + number, 0.9])
            metadata.append([*row[1:], 1 + person, person % 2, person])
            vectors.append(centres[person] + rng.normal(size=8) * 0.1)
    protocol = tmp_path / "protocol"
    for gallery, rows in galleries.items():
        write_csv(protocol / f"tiny_1N_gallery_{gallery}.csv", [HEADER, *rows])
    write_csv(protocol / "tiny_1N_probe_mixed.csv", [HEADER, *probes])
    write_csv(protocol / "tiny_metadata.csv", metadata)
    pairs = [(gallery[0], probe[0]) for rows in galleries.values() for gallery in rows for probe in probes]
    write_csv(protocol / "tiny_11_A_B_matches.csv", pairs)
    np.save(tmp_path / "embeddings.npy", np.array(vectors, dtype=np.float32))
    write_csv(tmp_path / "faces.csv", faces)
    return tmp_path
