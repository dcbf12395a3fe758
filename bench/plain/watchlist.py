"""The watchlist challenge in loops over images and rows."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

FEW_IMAGES, FEW_ROWS = 758, 4_000  # of 7,584 images and 212,352 rows


def _boxes(path: Path, columns: list[str], images: int) -> dict[str, list[list[float]]]:
    """The boxes of the first images, read row by row."""
    found: dict[str, list[list[float]]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["FILE"] not in found and len(found) == images:
                break
            found.setdefault(row["FILE"], []).append([float(row[column]) for column in columns])
    return found


def _overlaps(first: Any, second: Any) -> Any:
    left = np.maximum(first[:, None, :2], second[None, :, :2])
    right = np.minimum(first[:, None, :2] + first[:, None, 2:], second[None, :, :2] + second[None, :, 2:])
    inside = np.clip(right - left, 0, None).prod(axis=2)
    return inside / (first[:, None, 2:].prod(axis=2) + second[None, :, 2:].prod(axis=2) - inside)


def detection(folder: Path) -> Any:
    """Match the boxes of one image after the other, then count faces and false alarms above every score."""
    truth = _boxes(folder / "data/validation.csv", ["FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT"], FEW_IMAGES)
    answered = _boxes(
        folder / "results/UCCS-detection-baseline-validation.txt",
        ["BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT", "DETECTION_SCORE"],
        FEW_IMAGES,
    )
    hits, alarms = [], []
    for image, faces in truth.items():
        boxes = np.array(answered.get(image, np.zeros((0, 5))))
        overlap = _overlaps(np.array(faces), boxes[:, :4])
        used: set[int] = set()
        for face in range(len(faces)):
            best = int(np.argmax(overlap[face]))
            if overlap[face, best] >= 0.5 and best not in used:
                used.add(best)
                hits.append(boxes[best, 4])
        alarms += [box[4] for number, box in enumerate(boxes) if number not in used]
    found, wrong = np.array(hits), np.array(alarms)
    return [((found >= at).sum(), (wrong >= at).sum()) for at in np.unique(np.concatenate([found, wrong]))]


def _gallery(folder: Path) -> Any:
    stores = sorted((folder / "results/gallery_embeddings").iterdir())
    means = np.stack([np.load(path)["embeddings"].mean(axis=0) for path in stores])
    return means / np.linalg.norm(means, axis=1, keepdims=True)


def _scores(folder: Path) -> Any:
    """The similarities of all subjects, one row after the other."""
    gallery = _gallery(folder)
    stores = sorted((folder / "results/validation_embeddings").iterdir())[: FEW_ROWS // 28]
    for path in stores:
        store = np.load(path)
        for vector in store["embeddings"]:
            yield path.stem, [float(gallery[s] @ vector / np.linalg.norm(vector)) for s in range(len(gallery))]


def scoring_binary(folder: Path) -> Any:
    return np.array([scores for _, scores in _scores(folder)])


def scoring_text(folder: Path) -> Any:
    """The same as lines of text, four digits each."""
    return "\n".join(",".join([name, *(f"{score:.4f}" for score in scores)]) for name, scores in _scores(folder))


def identification_text(folder: Path) -> Any:
    """Lines to lists of numbers, then the rank of the right subject."""
    ranks = []
    with (folder / "results/UCCS-scoring-baseline-validation.txt").open(newline="") as file:
        for row in islice(csv.reader(file), 1, FEW_ROWS + 1):
            scores = np.array([float(value) for value in row[6:]])
            ranks.append(int((scores > scores[0]).sum()))
    return ranks


def identification_binary(folder: Path) -> Any:
    """The rank of the right subject, one row after the other."""
    scores = np.load(folder / "results/scores.npy", mmap_mode="r")
    return [list(np.argsort(-np.asarray(row))).index(0) for row in scores[:FEW_ROWS]]


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
