"""IJB in loops over templates, probes and images."""

from __future__ import annotations

from typing import Any

import numpy as np

FEW_PROBES = 400


def search(data: dict[str, Any]) -> Any:
    """Every probe against the gallery, everything sorted, the right subject looked up."""
    ranks = []
    for probe, subject in zip(data["probes"][:FEW_PROBES], data["subject"][:FEW_PROBES], strict=True):
        order = np.argsort(-(data["gallery"] @ probe))
        (place,) = np.where(order == subject)
        ranks.append(int(place[0]) if len(place) else -1)
    return ranks


def association(data: dict[str, Any]) -> Any:
    """Image after image, the largest overlap first."""
    mine: dict[int, list[int]] = {}
    for face, image in enumerate(data["image"].tolist()):
        mine.setdefault(image, []).append(face)
    theirs: dict[int, list[int]] = {}
    for number, image in enumerate(data["found_image"].tolist()):
        theirs.setdefault(image, []).append(number)
    matched = []
    for image, faces in mine.items():
        found = theirs.get(image, [])
        if not found:
            continue
        first, second = data["box"][faces], data["found_box"][found]
        left = np.maximum(first[:, None, :2], second[None, :, :2])
        right = np.minimum(first[:, None, :2] + first[:, None, 2:], second[None, :, :2] + second[None, :, 2:])
        inside = np.clip(right - left, 0, None).prod(axis=2)
        overlap = inside / (first[:, None, 2:].prod(axis=2) + second[None, :, 2:].prod(axis=2) - inside)
        while overlap.max() >= 0.5:
            face, detection = np.unravel_index(np.argmax(overlap), overlap.shape)
            matched.append((faces[face], found[detection]))
            overlap[face], overlap[:, detection] = 0, 0
    return matched


def identification(data: dict[str, Any]) -> Any:
    """Test 4 as the public open-set script does it: pool in a loop, all similarities, a sort for every probe."""
    import csv

    folder = data["folder"]
    vectors = np.load(folder / "embeddings.npy")
    with (folder / "faces.csv").open(newline="") as file:
        faces = list(csv.DictReader(file))
    row_of = {face["FILENAME"]: row for row, face in enumerate(faces)}
    weight = np.array([float(face["FACE_SCORE"]) for face in faces], dtype=np.float32)
    sets = {}
    for path in sorted((folder / "protocol").glob("*_1N_*.csv")):
        with path.open(newline="") as file:
            listed = list(csv.DictReader(file))
        template = np.array([int(face["TEMPLATE_ID"]) for face in listed])
        medium = np.array([int(face["SIGHTING_ID"]) for face in listed])
        subject = np.array([int(face["SUBJECT_ID"]) for face in listed])
        rows = np.array([row_of[face["FILENAME"]] for face in listed])
        names, first = np.unique(template, return_index=True)
        pooled = np.zeros((len(names), vectors.shape[1]))
        for place, name in enumerate(names):
            (inside,) = np.where(template == name)
            own = vectors[rows[inside]] * weight[rows[inside], None]
            media = medium[inside]
            pooled[place] = np.sum([own[media == one].mean(axis=0) for one in np.unique(media)], axis=0)
        pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
        sets[path.stem.partition("_1N_")[2]] = (pooled, subject[first])
    probes, who = sets.pop("probe_mixed")
    rates = []
    for gallery, people in sets.values():
        similarity = probes @ gallery.T
        order = np.argsort(similarity, axis=1)[:, ::-1]
        mated = np.isin(who, people)
        ranks = np.argmax(people[order] == who[:, None], axis=1)
        strangers = np.sort(similarity[~mated].max(axis=1))[::-1]
        mate = np.where(people[None, :] == who[mated][:, None], similarity[mated], -np.inf).max(axis=1)
        for rate in (0.01, 0.1):
            threshold = strangers[max(int(len(strangers) * rate), 1) - 1]
            rates.append(float(((mate > threshold) & (ranks[mated] == 0)).mean()))
        rates += [float((ranks[mated] < rank).mean()) for rank in (1, 5, 10)]
    return rates


def verification(data: dict[str, Any]) -> Any:
    """Test 1 as scripts do it: read, weigh, pool in a loop, gather the vectors of all pairs, `roc_curve`."""
    import pandas as pd
    from sklearn.metrics import roc_curve

    folder = data["folder"]
    protocol = folder / "protocol"
    listed = pd.concat([pd.read_csv(path) for path in sorted(protocol.glob("*_1N_*.csv"))])
    index = pd.read_csv(folder / "faces.csv")
    listed = listed.merge(index[["FACE_INDEX", "FILENAME"]], on="FILENAME")
    vectors = np.load(folder / "embeddings.npy")
    vectors = vectors * index["FACE_SCORE"].to_numpy(dtype=np.float32)[:, None]
    template, medium = listed["TEMPLATE_ID"].to_numpy(), listed["SIGHTING_ID"].to_numpy()
    faces = listed["FACE_INDEX"].to_numpy()
    names = np.unique(template)
    pooled = np.zeros((len(names), vectors.shape[1]))
    for place, name in enumerate(names):
        (rows,) = np.where(template == name)
        means = [vectors[faces[rows[medium[rows] == one]]].mean(axis=0) for one in np.unique(medium[rows])]
        pooled[place] = np.sum(means, axis=0)
    pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
    pairs = pd.read_csv(next(protocol.glob("*_11_*_matches.csv")), header=None).to_numpy()
    first, second = np.searchsorted(names, pairs[:, 0]), np.searchsorted(names, pairs[:, 1])
    scores = np.empty(len(pairs))
    for start in range(0, len(pairs), 100_000):
        part = slice(start, start + 100_000)
        scores[part] = np.sum(pooled[first[part]] * pooled[second[part]], axis=1)
    who = listed.groupby("TEMPLATE_ID")["SUBJECT_ID"].first().to_numpy()
    false, true, _ = roc_curve(who[first] == who[second], scores)
    return [true[np.argmin(np.abs(false - rate))] for rate in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)]


def reading(data: dict[str, Any]) -> Any:
    """The embeddings in memory and the pairs as bytes: nothing can start before that."""
    folder = data["folder"]
    np.load(folder / "embeddings.npy").sum(axis=0)
    return len((folder / "protocol/ijbb_11_S1_S2_matches.csv").read_bytes())
