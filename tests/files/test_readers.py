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
    from evenhand.files.whole_numbers import read_whole_numbers

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
        "ijb whole numbers": lambda: read_whole_numbers(path, 3, " ", DataError, "three numbers"),
        "fhibe table": lambda: _table(path.parent, path),
        "fairface labels": lambda: read_labels(path),
        "synthesis attributes": lambda: read_attributes(path, PredictionError),
    }


UNREAD = {".png", ".jpg", ".mp4", ".toml"}  # pictures are no text, and a submission's TOML is read by the codec's tests
READ_BY_NO_METRIC = {"features.npz", "attributes.csv", "demo_11_S1_S2_matches.csv"}


@pytest.mark.slow
@pytest.mark.parametrize("family", ["fairface", "uccs", "ijb", "pairs", "fhibe", "synthesis", "table"])
def test_every_file_of_a_family_may_be_hostile(family: str, tmp_path: Path) -> None:
    """One file of each kind in its data and predictions is replaced; `evaluate` answers with a message, at once."""
    import evenhand as eh

    made = eh.demo(family, tmp_path / "data")[0]

    def evaluate() -> None:
        options = {"draws": 0, "permutations": 0, "depth": 1}
        eh.evaluate(made.task, made.predictions, data=made.data, options=made.options, **options)

    files = [made.predictions] if made.predictions.is_file() else list(made.predictions.rglob("*"))
    if family not in ("fairface", "uccs", "fhibe"):  # there the folder has the answers of other tasks too
        files += made.data.rglob("*") if made.data.is_dir() else [made.data]
    read = {(path.parent, path.suffix): path for path in sorted(files) if path.is_file() and path.suffix not in UNREAD}
    evaluate()
    for path in read.values():
        if path.name in READ_BY_NO_METRIC:
            continue
        before = path.read_bytes()
        for shape, content in SHAPES.items():
            if path.name == "demo_metadata.csv" and shape == "CR only":
                continue  # a table with other columns, which are taken where they are there
            path.write_bytes(content)
            with pytest.raises(EvenhandError) as refused:
                evaluate()
            assert len(str(refused.value)) < 4000, (path.name, shape)
        path.write_bytes(before)


@pytest.mark.parametrize("share", [0.1, pytest.param(1.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_reader_answers_a_hostile_file_with_a_message(tmp_path: Path, shape: str, share: float) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(SHAPES[shape][: int(len(SHAPES[shape]) * share)])
    for name, reader in _readers(path).items():
        with pytest.raises(EvenhandError) as refused:
            reader()
        assert len(str(refused.value)) < 4000, name
