"""From the official files of test 1 to the community's lists, and back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.data import PairTruth, load_verification
from evenhand.benchmarks.ijb.files import read_table
from evenhand.benchmarks.ijb.options import VerificationOptions
from evenhand.benchmarks.ijb.submission import FaceIndex
from evenhand.benchmarks.ijb.templates import BOX, LANDMARKS, TemplateSet
from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.files.outputs import write_csv
from evenhand.files.writing import make_folder, write_file


def to_lists(data: Path, output: Path, *, faces: Path | None = None) -> tuple[Path, ...]:
    """Write the list files of test 1: galleries in the order of their names, then the mixed probes.

    As in the community's release, rows are named by their number; a fourth file says which face
    each is. The official files have three landmarks; the corners of the mouth are put where the
    nose lies below the eyes once more, so that there are five points. Detector scores come from
    the column FACE_SCORE of `faces`, matched by file, subject and sighting; without them every
    face has 1.
    """
    truth, templates, prefix = _loaded(data, VerificationOptions(layout="official"))
    listed = templates.faces
    weight, index = np.ones(len(listed)), {}
    if faces is not None:
        table = read_table(faces)
        numbers = table.whole("FACE_INDEX") if "FACE_INDEX" in table else np.arange(table.rows)
        rows = FaceIndex.of_table(table, np.arange(table.rows)).find(listed)
        if (rows < 0).any():
            name = listed.filename[int(np.flatnonzero(rows < 0)[0])]
            raise DataError(f"{faces} has no line for {name} ({int((rows < 0).sum())} faces without a score).")
        weight, index = table.numbers("FACE_SCORE")[rows], {"FACE_INDEX": numbers[rows]}
    names = [f"{row}.jpg" for row in range(1, len(listed) + 1)]
    points = (" ".join(f"{value:.3f}" for value in line) for line in _five_points(listed.places.landmarks).tolist())
    pairs = (templates.ids[truth.first], templates.ids[truth.second], truth.same.astype(np.int64))
    columns: dict[str, Iterable[Any]] = {"ROW_NAME": names, **index, "FILENAME": listed.filename}
    columns |= {"SUBJECT_ID": listed.subject, "SIGHTING_ID": listed.sighting}
    make_folder(output)
    paths = [output / f"{prefix}_{name}.txt" for name in ("face_tid_mid", "name_5pts_score", "template_pair_label")]
    _write_lines(paths[0], " ", names, listed.template.tolist(), listed.medium.tolist())
    _write_lines(paths[1], " ", names, points, weight.tolist())
    _write_lines(paths[2], " ", *(column.tolist() for column in pairs))
    paths.append(output / "row_to_face_index.csv")
    write_csv(paths[3], list(columns), zip(*columns.values(), strict=True))
    return tuple(paths)


def to_official(data: Path, output: Path) -> tuple[Path, ...]:
    """Write the templates and the match list of test 1 as official CSVs.

    Boxes are not in list files and stay empty; subjects are numbered as the genuine pairs join them.
    """
    truth, templates, prefix = _loaded(data, VerificationOptions(layout="lists"))
    faces = templates.faces
    points = [["" if np.isnan(value) else f"{value:g}" for value in row] for row in faces.places.landmarks]
    rows = zip(faces.template, faces.subject, faces.filename, faces.sighting, points, strict=True)
    make_folder(output)
    paths = output / f"{prefix}_11_templates.csv", output / f"{prefix}_11_matches.csv"
    write_csv(
        paths[0],
        ("TEMPLATE_ID", "SUBJECT_ID", "FILENAME", "SIGHTING_ID", *BOX, *LANDMARKS),
        ((*known, *("",) * len(BOX), *landmarks) for *known, landmarks in rows),
    )
    _write_lines(paths[1], ",", *(templates.ids[side].tolist() for side in (truth.first, truth.second)))
    return paths


def _loaded(data: Path, options: VerificationOptions) -> tuple[PairTruth, TemplateSet, str]:
    """The comparisons, their templates, and the prefix of the files."""
    truth = load_verification(data, options).truth
    assert truth.templates is not None
    return truth, truth.templates, truth.matches.name.partition("_")[0]


def _write_lines(path: Path, separator: str, *columns: Iterable[Any]) -> None:
    write_file(path, "".join(f"{separator.join(map(str, row))}\n" for row in zip(*columns, strict=True)))


def _five_points(three: Array) -> NDArray[np.float64]:
    right, left, nose = three[:, 0:2], three[:, 2:4], three[:, 4:6]
    below = 2 * nose[:, 1] - (right[:, 1] + left[:, 1]) / 2
    mouth = np.column_stack([right[:, 0], below, left[:, 0], below])
    return np.asarray(np.nan_to_num(np.column_stack([right, left, nose, mouth]), nan=0.0))
