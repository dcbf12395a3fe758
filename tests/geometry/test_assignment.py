"""Assignments by overlap and by score, against the one-by-one procedure."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.geometry.assignment import assign_by_overlap, assign_by_score
from evenhand.geometry.boxes import Overlaps


def pairs_of(matrix: list[list[float]] | np.ndarray) -> tuple[Overlaps, int, int]:
    """All entries of an overlap matrix as pairs."""
    values = np.asarray(matrix, dtype=np.float64)
    first, second = np.indices(values.shape)
    return Overlaps(first.ravel(), second.ravel(), values.ravel()), *values.shape


def one_by_one(matrix: np.ndarray, threshold: float) -> list[tuple[int, int]]:
    """The procedure as a protocol tells it: take the largest, strike its row and column, repeat."""
    left = matrix.copy()
    found = []
    while left.size and left.max() >= threshold:
        face, detection = np.unravel_index(int(np.argmax(left)), left.shape)
        found.append((int(face), int(detection)))
        left[face, :] = -1
        left[:, detection] = -1
    return found


def test_a_better_overlap_beats_an_earlier_face() -> None:
    found = assign_by_overlap(*pairs_of([[0.6], [0.9]]), threshold=0.5)
    assert found.faces.tolist() == [1]
    assert found.missed.tolist() == [0]


def test_the_result_is_greedy_and_not_optimal() -> None:
    found = assign_by_overlap(*pairs_of([[0.9, 0.8], [0.85, 0.1]]), threshold=0.5)
    assert list(zip(found.faces, found.detections, strict=True)) == [(0, 0)]


def test_ties_go_to_the_earlier_face_and_then_to_the_earlier_detection() -> None:
    found = assign_by_overlap(*pairs_of([[0.7, 0.7], [0.7, 0.7]]), threshold=0.5)
    assert list(zip(found.faces.tolist(), found.detections.tolist(), strict=True)) == [(0, 0), (1, 1)]


def test_an_overlap_equal_to_the_threshold_counts() -> None:
    assert len(assign_by_overlap(*pairs_of([[0.5]]), threshold=0.5).faces) == 1


def test_the_threshold_is_compared_in_single_precision_when_overlaps_are() -> None:
    pairs = Overlaps(np.array([0]), np.array([0]), np.array([0.7], dtype=np.float32))
    assert len(assign_by_overlap(pairs, 1, 1, threshold=0.7).faces) == 1


def test_nothing_to_assign_leaves_everyone_alone() -> None:
    found = assign_by_overlap(*pairs_of(np.zeros((2, 3))), threshold=0.5)
    assert found.missed.tolist() == [0, 1]
    assert found.spurious.tolist() == [0, 1, 2]


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 7), st.integers(0, 7), st.integers(0, 2**32 - 1))
def test_taking_all_mutual_bests_at_once_is_the_one_by_one_procedure(faces: int, detections: int, seed: int) -> None:
    matrix = np.random.default_rng(seed).integers(0, 8, (faces, detections)) / 8  # many ties
    found = assign_by_overlap(*pairs_of(matrix), threshold=0.25)
    assert list(zip(found.faces.tolist(), found.detections.tolist(), strict=True)) == one_by_one(matrix, 0.25)


def test_detections_choose_in_the_order_of_their_scores() -> None:
    pairs, faces, _ = pairs_of([[0.9, 0.6]])
    assert assign_by_score(pairs, faces, np.array([0.1, 0.8]), threshold=0.5).detection_of.tolist() == [1]


def test_of_equal_scores_the_earlier_detection_chooses_first() -> None:
    pairs, faces, _ = pairs_of([[0.6, 0.9]])
    assert assign_by_score(pairs, faces, np.array([0.5, 0.5]), threshold=0.5).detection_of.tolist() == [0]


def test_a_detection_takes_the_next_best_face_only_when_available_ones_count() -> None:
    pairs, faces, _ = pairs_of([[0.9, 0.8], [0.0, 0.6]])
    scores = np.array([0.9, 0.5])
    assert assign_by_score(pairs, faces, scores, threshold=0.5).detection_of.tolist() == [0, 1]
    found = assign_by_score(pairs, faces, scores, threshold=0.5, only_available=False)
    assert found.detection_of.tolist() == [0, -1]
    assert found.spurious.tolist() == [1]


def test_equal_overlaps_choose_the_earlier_face() -> None:
    pairs, faces, _ = pairs_of([[0.7], [0.7]])
    assert assign_by_score(pairs, faces, np.array([1.0]), threshold=0.5).detection_of.tolist() == [0, -1]
