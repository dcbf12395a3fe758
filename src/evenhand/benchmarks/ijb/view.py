"""What a page shows of a search or a comparison: the faces of its templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.ijb.data import PairTruth, SearchTruth
from evenhand.benchmarks.ijb.faces import LOOSE_CROPS
from evenhand.benchmarks.ijb.templates import TemplateSet
from evenhand.core.records import Array, Records
from evenhand.core.task import Dataset
from evenhand.core.view import Mark, SampleView, box_mark

_MOST = 6  # faces of a template


def view_search(dataset: Dataset[SearchTruth], answers: object, row: Mapping[str, Any]) -> SampleView:
    """The faces of a probe, then those of its mate in the gallery."""
    gallery = dataset.truth.galleries[int(row["gallery"])]
    probe = int(row["item"])
    subject = int(gallery.probes.subject[gallery.probes.ids == probe][0])
    shown = [(gallery.probes.templates, probe)]
    if row["mated"]:
        shown += [(gallery.templates, int(one)) for one in gallery.ids[gallery.subject == subject][:1]]
    pictures, marks = _faces(dataset.truth.folder, shown)
    if not row["mated"]:
        answer_text = f"best similarity to somebody else {float(row['top']):.3f}"
        return SampleView(pictures, marks, f"subject {subject}, not in the gallery", answer_text)
    rank = 1 + int(row["above"]) + int(row["tied"])
    answer_text = (
        "could not be searched" if row["failed"] else f"found at rank {rank:,}, similarity {float(row['mate']):.3f}"
    )
    return SampleView(pictures, marks, f"subject {subject}", answer_text, is_wrong=bool(row["failed"]) or rank > 1)


def view_pair(dataset: Dataset[PairTruth], answers: object, row: Mapping[str, Any]) -> SampleView:
    """The faces of both templates of a comparison."""
    truth, place = dataset.truth, int(row["item"])
    answer_text = f"similarity {float(row['score']):.3f}"
    words = "same person" if row["same"] else "different people"
    if truth.templates is None or truth.folder is None or not 0 <= place < len(truth):
        return SampleView(truth=words, answer=answer_text)
    shown = [(truth.templates, int(truth.templates.ids[side[place]])) for side in (truth.first, truth.second)]
    pictures, marks = _faces(truth.folder, shown)
    return SampleView(pictures, marks, words, answer_text)


def _faces(folder: Path, shown: Sequence[tuple[TemplateSet | None, int]]) -> tuple[tuple[Path, ...], tuple[Mark, ...]]:
    """The pictures of some templates with the box of each face."""
    pictures: list[Path] = []
    marks = []
    for templates, number in shown:
        if templates is None:
            continue
        position = np.flatnonzero(templates.ids == number)
        for face in np.flatnonzero(np.isin(templates.of_face, position))[:_MOST].tolist():
            name = str(templates.faces.filename[face])
            box = templates.faces.places.box[face]
            if np.isfinite(box).all():
                x, y, width, height = box.tolist()
                label = f"subject {templates.faces.subject[face]}"
                marks.append(box_mark((x, y, x + width, y + height), label=label, picture=len(pictures)))
            path = folder / name
            pictures.append(path if path.is_file() else folder / LOOSE_CROPS / name)
    return tuple(pictures), tuple(marks)


def search_badness(rows: Records) -> Array:
    """Failed searches, then mates by their rank, then searches without a mate by the similarity of somebody else."""
    rank = (rows["above"] + rows["tied"]).astype(np.float64)
    top = np.nan_to_num(rows["top"].astype(np.float64), neginf=-1e6)
    return np.where(rows["failed"], np.inf, np.where(rows["mated"] & (rank > 0), 2 + rank, np.tanh(top)))
