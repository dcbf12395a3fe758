"""FHIBE and FairFace in pandas: values of groups, without intervals or tests."""

from __future__ import annotations

import ast
import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

THRESHOLDS = np.arange(0.5, 1.0, 0.05)


def _overlap(a: list[float], b: list[float]) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    inside = width * height
    return inside / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inside)


def _by_groups(frame: Any, names: list[str], deepest: int) -> list[Any]:
    """The mean score of every intersection of up to so many attributes, list cells exploded."""
    found = []
    for size in range(1, deepest + 1):
        for subset in combinations(names, size):
            part = frame[[*subset, "score"]]
            for name in subset:
                part = part.explode(name)
            found.append(part.groupby(list(subset))["score"].agg(["mean", "count"]))
    return found


def localization(data: Any) -> Any:
    """Average recall of stored boxes, row by row, and its mean in every intersection of four attributes."""
    import pandas as pd

    root, results = data
    frame = pd.read_csv(root / "data/processed/fhibe_downsampled/fhibe_downsampled.csv")
    answers = json.loads((results / "person_localization/fhibe_downsampled/m/model_outputs.json").read_text())
    scores = []
    for path, text in zip(frame["filepath"], frame["person_bbox"], strict=True):
        x, y, width, height = ast.literal_eval(text)
        found = answers[path]["detections"] or []
        best = max((_overlap([x, y, x + width, y + height], box) for box in found), default=0.0)
        scores.append((best >= THRESHOLDS).mean())
    frame["score"] = scores
    names = ["pronoun", "age", "ancestry", "apparent_skin_color"]
    frame["age"] = pd.cut(frame["age"], [18, 30, 40, 50, 60, 200], right=False).astype(str)
    for name in ("pronoun", "ancestry"):
        frame[name] = [ast.literal_eval(cell) for cell in frame[name]]
    return _by_groups(frame, names, 4)


def groups(data: Any) -> Any:
    """Every group of at most three of eight attributes (92 of 255 subsets, the small ones)."""
    import pandas as pd

    people, scores = data
    frame = pd.DataFrame({"score": scores})
    for name, attribute in people.items():
        patterns = np.asarray(attribute.patterns)
        cells = [[attribute.levels[level] for level in np.flatnonzero(pattern)] for pattern in patterns]
        frame[name] = [cells[code] for code in attribute.codes]
    return _by_groups(frame, list(people), 3)


def groups_bound(data: Any) -> Any:
    """One count and one sum for every subset of the attributes, as if everybody were in one level of each."""
    people, scores = data
    codes = [np.asarray(attribute.codes, dtype=np.int64) for attribute in people.values()]
    for size in range(1, len(codes) + 1):
        for subset in combinations(codes, size):
            key = np.zeros(len(scores), dtype=np.int64)
            for code in subset:
                key = key * 64 + code
            _, place = np.unique(key, return_inverse=True)
            np.bincount(place), np.bincount(place, weights=scores)


def verification(data: Any) -> Any:
    """All pairs of one group of the seventeen, written down and compared one by one."""
    vectors, identity, pronoun, age = data
    mine = (pronoun == 0) & (age == 0)
    return _validation(vectors[mine], identity[mine])


def stored_verification(data: Any) -> Any:
    """The same from stored embeddings."""
    import pandas as pd

    root, results = data
    frame = pd.read_csv(root / "data/processed/fhibe_face_crop_align/fhibe_face_crop_align.csv")
    stored = results / "face_verification/fhibe_face_crop_align/m/model_outputs.json"
    answers = json.loads(stored.read_text())
    frame = frame[(frame["pronoun"] == frame["pronoun"].iloc[0]) & (frame["age"] < 30)]
    vectors = np.array([answers[path]["detections"] for path in frame["filepath"]])
    return _validation(vectors, frame["subject_id"].to_numpy())


def _validation(vectors: Any, identity: Any) -> Any:
    same, other = [], []
    for first, second in combinations(range(len(vectors)), 2):
        distance = float(np.sum((vectors[first] - vectors[second]) ** 2))
        (same if identity[first] == identity[second] else other).append(distance)
    limit = np.quantile(other, 1e-3)
    return np.mean(np.array(same) <= limit)


def verification_bound(data: Any) -> Any:
    """The products of every group with itself."""
    vectors, _, pronoun, age = data
    for groups_ in (pronoun, age, 5 * pronoun + age):
        for group in range(int(groups_.max()) + 1):
            inside = vectors[groups_ == group]
            inside @ inside.T


def noise_maps(data: Any) -> Any:
    """Label maps to run lengths and back, and F1 label by label, with the calls that the published code makes."""
    import tempfile

    import cv2
    from pycocotools import mask as coco

    _, paths, noise = data
    stored: dict[str, Any] = {}
    for path, labels in zip(paths, noise, strict=True):
        labels = np.where(np.isin(labels, (8, 9)), 1, labels)
        entry = {}
        for label in np.unique(labels).tolist():
            runs = coco.encode(np.asfortranarray(np.array(labels == label, dtype=np.uint8)))
            entry[label] = {"size": runs["size"], "counts": runs["counts"].decode()}
        stored[str(path)] = {"detections_rle": entry}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model_outputs.json"
        file.write_text(json.dumps(stored, indent=4))
        answers = json.loads(file.read_text())
    scores = {}
    for name, answer in answers.items():
        total = None
        for label, runs in answer["detections_rle"].items():
            layer = int(label) * coco.decode(runs)
            total = layer.copy() if total is None else total + layer
        predicted = np.array(total.tolist())
        truth = np.asarray(cv2.imread(name, cv2.IMREAD_GRAYSCALE), dtype=np.int32)
        for label in np.unique(truth):
            inside, there = predicted == label, truth == label
            hits = np.sum(inside & there)
            scores[name, int(label)] = 2 * hits / (2 * hits + np.sum(inside & ~there) + np.sum(~inside & there))
    return scores


def files_of(*names: str) -> Any:
    """Reading tables and JSON of a folder, without looking at anything."""

    def read(data: Any) -> Any:
        import polars as pl

        folders = [data] if isinstance(data, Path) else list(data)
        for name in names:
            path = next(folder / name for folder in folders if (folder / name).exists())
            if path.suffix == ".csv":
                pl.read_csv(path, infer_schema=False)
            elif path.suffix == ".jsonl":
                [json.loads(line) for line in path.read_text().splitlines()]
            else:
                json.loads(path.read_bytes())

    return read


def faces(attribute: str) -> Any:
    """Accuracy and macro-F1 of every group and pair of attributes: values, no uncertainty."""

    def run(folder: Path) -> Any:
        import pandas as pd
        from sklearn.metrics import accuracy_score, f1_score

        labels = pd.read_csv(folder / "fairface_label_val.csv").set_index("file")
        said = {}
        for line in (folder / "answers.jsonl").read_text().splitlines():
            record = json.loads(line)
            found = re.search(rf'"{attribute}": "([^"]+)"', record["raw_output"])
            said[record["image_path"]] = found.group(1) if found else "unknown"
        labels["said"] = labels.index.map(said)
        values = []
        names = ["gender", "race", "age"]
        for size in (1, 2):
            for split in combinations(names, size):
                for _, group in labels.groupby(list(split)):
                    known = group[attribute], group["said"]
                    values.append((accuracy_score(*known), f1_score(*known, average="macro", zero_division=0)))
        return values

    return run
