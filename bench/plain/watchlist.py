"""The watchlist challenge as the published package computes it, as plain scripts.

Tables are pandas frames; ground truth is looked up by a scan of the table per image, boxes are compared by tensors
image by image, every curve point is a pass over all scores, and similarities are Python numbers, read and written one
at a time. As there, matplotlib is loaded, though nothing is drawn here. The numbers are those of the commands. `python
bench/uccs.py compare` runs these scripts beside the commands; they need pandas, matplotlib, torch and torchvision.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

Truth = dict[str, tuple[list[int], list[int], Any]]


def ground_truth(folder: Path) -> Truth:
    """Face ids, subjects and boxes of every image; the whole table is looked at for each."""
    import matplotlib.pyplot
    import pandas as pd

    assert matplotlib.pyplot

    table = pd.read_csv(folder / "data/validation.csv")
    truth = {}
    for name in table["FILE"].unique():
        faces = table[table["FILE"] == name]
        subjects, ids = faces["SUBJECT_ID"].astype(int).tolist(), faces["FACE_ID"].astype(int).tolist()
        truth[name] = (ids, subjects, faces[["FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT"]].values)
    return truth


def exclusions(folder: Path) -> list[int]:
    text = (folder / "data/exclude_gallery_validation.txt").read_text()
    return [int(line) for line in text.split()]


def assign(truth: Truth, answers: Any, excluded: list[int]) -> Any:
    """The pairs (detection, subject) and the false detections of every image."""
    import torch

    assigned = {}
    for name, (faces, subjects, boxes) in truth.items():
        if name not in answers:
            continue
        found = np.array(answers[name][1])
        overlap = _overlaps(torch.Tensor(boxes), torch.Tensor(found)).numpy()
        pairs, free = [], list(range(len(found)))
        while overlap.max() >= 0.5:
            face, detection = np.unravel_index(np.argmax(overlap), overlap.shape)
            free.remove(int(detection))
            if faces[face] not in excluded:
                pairs.append((int(detection), subjects[face]))
            overlap[face, :] = 0
            overlap[:, detection] = 0
        assigned[name] = (pairs, free)
    return assigned


def _overlaps(first: Any, second: Any) -> Any:
    import torch
    from torchvision.ops import box_iou

    return box_iou(*(torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], dim=1) for boxes in (first, second)))


def curve(positives: list[Any], negatives: list[Any], faces: int, images: int) -> Any:
    """Rates and false alarms per image: a pass over all scores for every threshold."""
    found, false = np.array(positives), np.array(negatives)
    return [((found >= at).sum() / faces, (false >= at).sum() / images) for at in np.unique(false)]


def detection(folder: Path) -> Any:
    """The FROC curve of the detection file."""
    import pandas as pd

    table = pd.read_csv(folder / "results/UCCS-detection-baseline-validation.txt")
    landmarks = [f"{part}_{axis}" for part in ("REYE", "LEYE", "NOSE", "RMOUTH", "LMOUTH") for axis in "XY"]
    answers: dict[str, Any] = {}
    for name, rows in table.groupby(by="FILE"):
        boxes = rows[["BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT"]].values
        answers[str(name)] = (rows[["DETECTION_SCORE"]].values, boxes, rows[landmarks].values.reshape(-1, 5, 2))
    truth, excluded = ground_truth(folder), exclusions(folder)
    positives: list[Any] = []
    negatives: list[Any] = []
    for name, (pairs, free) in assign(truth, answers, excluded).items():
        positives += [answers[name][0][place] for place, _ in pairs]
        negatives += [answers[name][0][place] for place in free]
    faces = sum(len(entry[0]) for entry in truth.values()) - len(excluded)
    return curve(positives, negatives, faces, len(truth))


def identification_text(folder: Path) -> Any:
    """The O-ROC curve at rank 1 of the recognition file, all of which is held as Python numbers."""
    answers: dict[str, Any] = {}
    with (folder / "results/UCCS-scoring-baseline-validation.txt").open(newline="") as file:
        rows = csv.reader(file)
        next(rows)
        for row in rows:
            scores, boxes, similar = answers.setdefault(row[0] + ".jpg", ([], [], []))
            scores.append(float(row[1]))
            boxes.append([float(value) for value in row[2:6]])
            similar.append([float(value) for value in row[6:]])
    truth, excluded = ground_truth(folder), exclusions(folder)
    positives: list[Any] = []
    negatives: list[Any] = []
    for name, (pairs, free) in assign(truth, answers, excluded).items():
        similar = np.array(answers[name][2])
        for place, subject in pairs:
            best = np.argsort(similar[place])[::-1][:1]
            if subject <= 0:
                negatives.append(similar[place][best[0]])
            elif subject - 1 in best:
                positives.append(similar[place][subject - 1])
        negatives += [np.max(similar[place]) for place in free]
    known = sum(subject > 0 for entry in truth.values() for subject in entry[1]) - len(excluded)
    return curve(positives, negatives, known, len(truth))


def scoring_text(folder: Path) -> None:
    """The recognition file, one similarity after the other."""
    import torch

    stores = sorted((folder / "results/gallery_embeddings").glob("*.npz"))
    templates = torch.tensor(np.stack([np.load(path)["embeddings"].mean(axis=0) for path in stores]))
    gallery = torch.nn.functional.normalize(templates, dim=1)
    with (folder / "published.txt").open("w") as file:
        header = ["FILE", "DETECTION_SCORE", "BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT"]
        file.write(",".join([*header, *(f"S_{path.stem}" for path in stores)]) + "\n")
        for path in sorted((folder / "results/validation_embeddings").glob("*.npz")):
            store = dict(np.load(path))
            probes = torch.nn.functional.normalize(torch.tensor(store["embeddings"]), dim=1)
            similar = torch.matmul(probes, gallery.t()).numpy()
            for place in range(len(similar)):
                numbers = [store["detection_scores"][place][0], *store["bboxes"][place]]
                line = [path.stem, *map(str, numbers), *map(str, list(similar[place]))]
                file.write(",".join(line) + "\n")


def bytes_of(*names: str) -> Any:
    """Reading the bytes of the files that the work can't do without."""

    def read(folder: Path) -> int:
        total = 0
        for name in names:
            with (folder / name).open("rb") as file:
                while block := file.read(1 << 22):
                    total += len(block)
        return total

    return read


if __name__ == "__main__":  # a script of its own: NAME FOLDER
    made = {"detection": detection, "identification_text": identification_text, "scoring_text": scoring_text}
    points = made[sys.argv[1]](Path(sys.argv[2]))
    if points is not None:
        print(json.dumps([len(points), *map(float, points[len(points) // 2])]))
