"""Small tables, written on the spot."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.benchmarks.fhibe.table import BODY_TABLE, FACE_TABLE, table_path

ROW: Mapping[str, str] = {
    "filepath": "data/raw/s1/i1/main_i1.png",
    "json_path": "data/raw/s1/i1/a.json",
    "image_id": "i1",
    "subject_id": "s1",
    "age": "25",
    "location_country": "Kenya",
    "pronoun": "['0. She/her/hers']",
    "image_height": "40",
    "image_width": "30",
    "person_bbox": "[0.0, 0.0, 10.0, 10.0]",
    "face_bbox": "[2.0, 2.0, 3.0, 4.0]",
    "keypoints": "{'0. Nose': [5.0, 5.0, 1]}",
    "segments": "[{'class_name': '0. Face skin', 'num': 0, "
    "'polygon': [{'x': 1, 'y': 1}, {'x': 8, 'y': 1}, {'x': 8, 'y': 8}, {'x': 1, 'y': 8}]}]",
    "CelebA": "['data/processed/masks/i1/combined.png']",
    "multiple_subjects": "0",
}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a table of rows, each given by what differs from the plain row; gives the data root."""

    def writer(*rows: Mapping[str, Any], face: bool = False, drop: Sequence[str] = ()) -> Path:
        path = table_path(tmp_path, FACE_TABLE if face else BODY_TABLE)
        path.parent.mkdir(parents=True, exist_ok=True)
        names = [name for name in ROW if name not in drop]
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, names, extrasaction="ignore")
            table.writeheader()
            table.writerows({**ROW, **row} for row in rows)
        return tmp_path

    return writer
