"""Alignment and crops of faces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.transform import SimilarityTransform

from evenhand.core.errors import DataError
from evenhand.instruments.faces import TEMPLATE_112, Face, align, blue_green_red, crop, crop_box, similarity

turns = st.floats(-3.1, 3.1)
sizes = st.floats(0.2, 5.0)
shifts = st.floats(-100, 100)


@given(turns, sizes, shifts, shifts)
@settings(max_examples=50, deadline=None)
def test_a_similarity_is_found_again_from_five_points(turn: float, size: float, x: float, y: float) -> None:
    matrix = size * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    found = similarity(TEMPLATE_112, TEMPLATE_112 @ matrix.T + (x, y))
    assert np.allclose(found, np.column_stack([matrix, (x, y)]), atol=1e-9 * max(1.0, size * 100))


@given(st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_the_least_squares_similarity_is_umeyama_s_without_reflection(seed: int) -> None:
    points = np.random.default_rng(seed).normal(60, 20, (5, 2))
    expected = SimilarityTransform.from_estimate(points, TEMPLATE_112).params[:2]
    found = similarity(points, TEMPLATE_112)
    assert np.linalg.det(found[:, :2]) > 0
    # Umeyama's scale divides by the same spread; both minimise the same squared error among proper similarities.
    error = [((points @ one[:, :2].T + one[:, 2] - TEMPLATE_112) ** 2).sum() for one in (found, expected)]
    assert error[0] <= error[1] + 1e-9


def test_mirrored_points_are_turned_not_reflected() -> None:
    found = similarity(TEMPLATE_112 * (-1, 1), TEMPLATE_112)
    assert np.linalg.det(found[:, :2]) > 0


def test_landmarks_land_on_the_template() -> None:
    picture = np.zeros((300, 300, 3), np.uint8)
    landmarks = TEMPLATE_112 @ np.array([[1.6, 0.5], [-0.5, 1.6]]) + (70, 40)
    for x, y in landmarks:
        picture[round(y) - 3 : round(y) + 4, round(x) - 3 : round(x) + 4] = 255
    aligned = align(picture, landmarks)
    assert aligned.shape == (112, 112, 3)
    for x, y in TEMPLATE_112:
        assert aligned[round(y), round(x)].min() > 200


def test_alignment_is_black_where_the_picture_ends() -> None:
    white = np.full((60, 60, 3), 255, np.uint8)
    aligned = align(white, TEMPLATE_112 / 2 + (40, 40))
    assert aligned[0, 0].tolist() == [255, 255, 255]
    assert aligned[-1, -1].tolist() == [0, 0, 0]


def test_landmarks_in_one_spot_or_without_a_place_are_refused() -> None:
    with pytest.raises(DataError, match="in one spot"):
        similarity(np.ones((5, 2)), TEMPLATE_112)
    with pytest.raises(DataError, match="not finite"):
        similarity(np.full((5, 2), np.nan), TEMPLATE_112)
    with pytest.raises(DataError, match=r"\(4, 2\) and \(5, 2\)"):
        similarity(TEMPLATE_112[:4], TEMPLATE_112)


def test_a_box_inside_the_picture_is_cut_as_it_is() -> None:
    assert crop_box((50.0, 50.0, 130.0, 130.0), 500, 500) == (50, 50, 130, 130)


def test_a_crop_is_the_area_mean_of_its_box() -> None:
    picture = np.zeros((40, 40, 3), np.uint8)
    picture[10:30, 10:30] = 100
    found = crop(picture, Face((10.9, 10.2, 30.1, 30.9), 0.9), size=10)
    assert found.shape == (10, 10, 3)
    assert (found == 100).all()


def test_a_box_outside_the_picture_is_refused() -> None:
    with pytest.raises(DataError, match="no pixel inside the 40 × 30 picture"):
        crop(np.zeros((30, 40, 3), np.uint8), Face((50.0, 5.0, 60.0, 9.0), 0.9))


def test_colour_order_is_turned_around_and_back() -> None:
    picture = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert np.array_equal(blue_green_red(blue_green_red(picture)), picture)
