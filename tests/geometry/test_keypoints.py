"""Distances between poses."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.geometry import keypoints as kp

POSE = np.array([[0.0, 0.0, 2.0], [10.0, 0.0, 2.0], [5.0, 5.0, 0.0]])


def test_a_keypoint_exactly_at_the_limit_is_correct_and_not_strictly_so() -> None:
    distance = np.array([1.0, 0.0])
    seen = np.array([True, True])
    assert kp.share_correct(distance, seen, 10.0, np.array([0.1])).tolist() == [1.0]
    assert kp.share_correct(distance, seen, 10.0, np.array([0.1]), strict=True).tolist() == [0.5]


def test_without_visible_keypoints_there_is_no_share_and_no_similarity() -> None:
    nothing = np.zeros((2, 3))
    assert kp.share_correct(np.zeros(2), nothing[:, 2] == kp.VISIBLE, 1.0, np.array([0.5])) is None
    assert kp.similarity(nothing, np.zeros((2, 2)), 10.0, np.array([0.1, 0.1])) is None


def test_the_nearest_point_may_have_another_index() -> None:
    swapped = np.array([[10.0, 0.0], [0.0, 0.0], [50.0, 50.0]])
    assert kp.distances(POSE, swapped)[:2].tolist() == [10.0, 10.0]
    assert kp.closest_distances(POSE, swapped)[:2].tolist() == [0.0, 0.0]


def test_similarity_is_the_mean_over_labelled_keypoints() -> None:
    predicted = np.array([[0.0, 0.0], [12.0, 0.0], [99.0, 99.0]])
    sigma = 0.05
    expected = (1 + np.exp(-4 / (2 * 100 * (2 * sigma) ** 2))) / 2
    found = kp.similarity(POSE, predicted, 100.0, np.full(3, sigma))
    assert found == pytest.approx(expected, abs=1e-12)


def test_an_area_of_zero_divides_by_nothing() -> None:
    assert kp.similarity(POSE, POSE[:, :2], 0.0, np.full(3, 0.05)) == 1.0
