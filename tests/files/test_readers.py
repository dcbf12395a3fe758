"""Every reader of the package answers files of hostile shapes in linear time, with a message that names the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import DataError, EvenhandError, PredictionError

SHAPES = {
    "one line": b"x" * (10 << 20),
    "one line of fields": b"a,b;c\td " * (10 << 17),
    "100,000 columns": b",".join(b"c%d" % n for n in range(100_000)) + b"\n" + b",".join([b"1"] * 100_000) + b"\n",
    "CR only": b"name,x\r" + b"a,1\r" * 2_600_000,
    "minified JSON": b'{"a":[' + b'{"b":1,"c":"d"},' * 650_000 + b"{}]}",
    "open quote": b'"' + b"a,1,2\n" * 1_700_000,
    "quotes": b'"' * (10 << 20),
    "brackets": b"[" * (10 << 20),
}


def _table(root: Path, path: Path) -> Any:
    from evenhand.benchmarks.fhibe.table import read_table, table_path

    target = table_path(root, "fhibe_downsampled")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    target.hardlink_to(path)
    return read_table(root, "fhibe_downsampled", ["face_bbox"])


def _readers(path: Path) -> dict[str, Callable[[], Any]]:
    """What reads text that a user brings, by name."""
    from evenhand.benchmarks.fairface.data import read_labels
    from evenhand.benchmarks.ijb import files as ijb
    from evenhand.benchmarks.synthesis.folders import read_attributes
    from evenhand.benchmarks.uccs import data as uccs
    from evenhand.benchmarks.uccs.detections import read_detections
    from evenhand.benchmarks.uccs.scores import read_scores
    from evenhand.compat.uccs.config import load_files
    from evenhand.files.delimited import CellKind, read_table

    faces = uccs.unannotated(["a.jpg"])
    return {
        "delimited": lambda: read_table(path, {"FILE": CellKind.TEXT}),
        "uccs faces": lambda: uccs.read_faces(path),
        "uccs gallery": lambda: uccs.read_gallery(path),
        "uccs exclusion": lambda: uccs.read_exclusion(path),
        "uccs detections": lambda: read_detections(path, faces),
        "uccs scores": lambda: read_scores(path, faces),
        "uccs configuration": lambda: load_files([path]),
        "ijb table": lambda: ijb.read_table(path).require("TEMPLATE_ID"),
        "ijb pairs": lambda: ijb.read_pairs(path),
        "ijb matrix": lambda: ijb.read_matrix(path),
        "ijb whole numbers": lambda: ijb.read_whole_numbers(path, 3, " ", DataError, "three numbers"),
        "fhibe table": lambda: _table(path.parent, path),
        "fairface labels": lambda: read_labels(path),
        "synthesis attributes": lambda: read_attributes(path, PredictionError),
    }


@pytest.mark.parametrize("share", [0.1, pytest.param(1.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_reader_answers_a_hostile_file_with_a_message(tmp_path: Path, shape: str, share: float) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(SHAPES[shape][: int(len(SHAPES[shape]) * share)])
    for name, reader in _readers(path).items():
        with pytest.raises(EvenhandError) as refused:
            reader()
        assert len(str(refused.value)) < 4000, name
