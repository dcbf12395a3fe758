"""Which detection belongs to which face.

A face or a detection is used at most once. Two procedures are in use:

- *by overlap*: the best remaining pair is taken until none reaches the threshold; scores play
  no part. Ties go to the earlier face, then to the earlier detection.
- *by score*: detections choose in descending order of their score (ties: the earlier one);
  each takes the face that it overlaps most (ties: the earlier face).

Both work on the pairs of `boxes.overlaps_by_image`, for all images at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.records import Array
from evenhand.geometry.boxes import Overlaps

NOBODY = -1  # in `face_of` and `detection_of`: no partner


class Assignment(NamedTuple):
    """Matched faces and detections. The pairs are in the order in which they were accepted, per image."""

    faces: Array  # (pairs,)
    detections: Array  # (pairs,)
    overlap: Array  # (pairs,)
    detection_of: Array  # (all faces,): the detection of each face, or NOBODY
    face_of: Array  # (all detections,): the face of each detection, or NOBODY

    @property
    def missed(self) -> Array:
        """Faces without a detection, ascending."""
        return np.flatnonzero(self.detection_of == NOBODY)

    @property
    def spurious(self) -> Array:
        """Detections without a face, ascending."""
        return np.flatnonzero(self.face_of == NOBODY)


def assign_by_overlap(pairs: Overlaps, faces: int, detections: int, *, threshold: float) -> Assignment:
    """Pair faces (first) with detections (second), best overlap first.

    An overlap equal to the threshold counts; it is compared in the precision of the overlaps.
    Pairs come out by descending overlap; within one image that is the order of acceptance.

    >>> pairs = Overlaps(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0.9, 0.6, 0.8, 0.1]))
    >>> pairs = assign_by_overlap(pairs, 2, 2, threshold=0.5)
    >>> pairs.faces.tolist(), pairs.detections.tolist(), pairs.missed.tolist(), pairs.spurious.tolist()
    ([0], [0], [1], [1])
    """
    keep = np.flatnonzero(pairs.overlap >= pairs.overlap.dtype.type(threshold))
    order = keep[np.lexsort((pairs.second[keep], pairs.first[keep], -pairs.overlap[keep]))]
    face, detection = pairs.first[order], pairs.second[order]
    accepted: list[Array] = []
    open_ = np.arange(len(order))
    while len(open_):
        # The best open pair of its face that is also the best of its detection is what the
        # one-by-one procedure would take; all such pairs are taken at once.
        best_of_face = np.full(faces, len(order))
        best_of_detection = np.full(detections, len(order))
        np.minimum.at(best_of_face, face[open_], open_)
        np.minimum.at(best_of_detection, detection[open_], open_)
        taken = open_[(best_of_face[face[open_]] == open_) & (best_of_detection[detection[open_]] == open_)]
        accepted.append(taken)
        used_face, used_detection = np.zeros(faces, np.bool_), np.zeros(detections, np.bool_)
        used_face[face[taken]], used_detection[detection[taken]] = True, True
        open_ = open_[~used_face[face[open_]] & ~used_detection[detection[open_]]]
    chosen = np.sort(np.concatenate(accepted)) if accepted else open_
    return _assignment(face[chosen], detection[chosen], pairs.overlap[order][chosen], faces, detections)


def assign_by_score(
    pairs: Overlaps, faces: int, scores: Array, *, threshold: float, only_available: bool = True
) -> Assignment:
    """Let detections (second) choose faces (first) in descending order of their score.

    With `only_available` a detection takes the best face that nobody has; without, it wants the
    best of all faces and goes away empty-handed when that one is taken. `scores` has one entry
    per detection.

    >>> pairs = Overlaps(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0.9, 0.6, 0.5]))
    >>> assign_by_score(pairs, 2, np.array([0.1, 0.8]), threshold=0.5).detection_of.tolist()
    [1, -1]
    >>> assign_by_score(pairs, 2, np.array([0.8, 0.1]), threshold=0.5).detection_of.tolist()
    [0, 1]
    >>> assign_by_score(pairs, 2, np.array([0.8, 0.1]), threshold=0.5, only_available=False).detection_of.tolist()
    [0, -1]
    """
    scores = np.asarray(scores)
    keep = np.flatnonzero(pairs.overlap >= pairs.overlap.dtype.type(threshold))
    turn = np.empty(len(scores), dtype=np.intp)
    turn[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    order = keep[np.lexsort((pairs.first[keep], -pairs.overlap[keep], turn[pairs.second[keep]]))]
    taken_face: set[int] = set()
    served: set[int] = set()
    chosen: list[int] = []
    # Only pairs that reach the threshold come here, a few per face: a plain loop is quick.
    rows = zip(pairs.first[order].tolist(), pairs.second[order].tolist(), strict=True)
    for position, (face, detection) in enumerate(rows):
        if detection in served:
            continue
        if face in taken_face:
            if not only_available:
                served.add(detection)
            continue
        taken_face.add(face)
        served.add(detection)
        chosen.append(position)
    rows_of = order[np.array(chosen, dtype=np.intp)]
    return _assignment(pairs.first[rows_of], pairs.second[rows_of], pairs.overlap[rows_of], faces, len(scores))


def _assignment(face: Array, detection: Array, overlap: Array, faces: int, detections: int) -> Assignment:
    detection_of = np.full(faces, NOBODY, dtype=np.intp)
    face_of = np.full(detections, NOBODY, dtype=np.intp)
    detection_of[face], face_of[detection] = detection, face
    return Assignment(face, detection, overlap, detection_of, face_of)
